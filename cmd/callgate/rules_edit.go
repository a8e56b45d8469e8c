package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"mvdan.cc/sh/v3/shell"

	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/permissions"
)

func newRulesEditCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "edit",
		Short: "Edit the rules in your editor; they are checked before they apply",
		Long: `Edit opens a copy of the file in $VISUAL or $EDITOR. If your copy is valid, it replaces the file. Otherwise edit shows
the error with line and column and leaves the file as it is; on a terminal you can go on editing. Grants that are
given or revoked meanwhile are kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			e := editing{ruleFile: b, answers: bufio.NewReader(cmd.InOrStdin()), launch: launchEditor(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())}
			if f, ok := cmd.InOrStdin().(*os.File); ok {
				e.interactive = term.IsTerminal(int(f.Fd()))
			}
			return e.run(cmd.Context())
		},
	}
}

// editing is one run of the editor on a copy.
type editing struct {
	*ruleFile
	answers     *bufio.Reader
	interactive bool // somebody can be asked
	launch      func(ctx context.Context, path string) error
}

// run edits until the text is valid or the user gives up. After an error the file is as before, and the copy
// stays if there is work in it.
func (e *editing) run(ctx context.Context) error {
	base, err := e.store.Text()
	if err != nil {
		return err
	}
	// The copy lies beside the file, where no tool may read or change it.
	dir, err := os.MkdirTemp(filepath.Dir(e.store.Path()), "edit-")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.Base(e.store.Path()))
	if err := os.WriteFile(path, base, 0o600); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	for {
		if err := e.launch(ctx, path); err != nil {
			return e.keep(dir, path, base, fmt.Errorf("editor: %w", err))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return e.keep(dir, path, base, err)
		}
		if bytes.Equal(text, base) {
			return errors.Join(os.RemoveAll(dir), e.say("nothing changed"))
		}
		if err = e.save(base, text); err == nil {
			return errors.Join(os.RemoveAll(dir), e.say("saved %s", e.store.Path()))
		}
		var fault *permissions.FileError
		if !errors.As(err, &fault) || !e.again(fault) {
			return e.keep(dir, path, base, err)
		}
	}
}

// save replaces the file by the text, if it is valid.
func (e *editing) save(base, text []byte) error {
	if _, err := permissions.ParseFile(e.store.Path(), text, xdg.Home); err != nil {
		return err
	}
	return e.change(func() (string, error) {
		if err := e.store.Replace(base, text); err != nil {
			return "", err
		}
		return "Edited the rules.", nil
	})
}

// again shows what is wrong and asks whether to go on.
func (e *editing) again(fault *permissions.FileError) bool {
	if !e.interactive {
		return false
	}
	if _, err := fmt.Fprintf(e.out, "%s\nEdit again? [Y/n] ", tools.Visible(fault.Error())); err != nil {
		return false
	}
	answer, err := e.answers.ReadString('\n')
	if err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "y", "yes":
		return true
	}
	return false
}

// keep says where the copy is, unless there is nothing in it.
func (e *editing) keep(dir, path string, base []byte, err error) error {
	if text, readErr := os.ReadFile(path); readErr == nil && !bytes.Equal(text, base) {
		return fmt.Errorf("%w\nThe rules are as before; your text is in %s", err, path)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// launchEditor runs the user's editor and waits for it.
func launchEditor(in io.Reader, out, errOut io.Writer) func(context.Context, string) error {
	return func(ctx context.Context, path string) error {
		argv, err := editorCommand(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")))
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], path)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", argv[0], err)
		}
		return nil
	}
}

// editorCommand reads $VISUAL or $EDITOR, which is a program or a command line.
func editorCommand(text string) ([]string, error) {
	if text == "" {
		if runtime.GOOS == "windows" {
			return []string{"notepad"}, nil
		}
		return []string{"vi"}, nil
	}
	if _, err := exec.LookPath(text); err == nil {
		return []string{text}, nil
	}
	argv, err := shell.Fields(text, os.Getenv)
	if err != nil || len(argv) == 0 {
		return nil, fmt.Errorf("%q is no command line: set VISUAL or EDITOR to a program and its options", text)
	}
	return argv, nil
}
