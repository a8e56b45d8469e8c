package rulebook

import (
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
	"golang.org/x/term"
	"mvdan.cc/sh/v3/shell"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Edit is one run of the editor on a copy of the rules.
type Edit struct {
	*Book
	Answer func(ctx context.Context) (string, error) // reads a line from a person; nil if nobody can be asked
	Launch func(ctx context.Context, path string) error
}

// Run lets the user edit until the text is valid or they give up. After an error the file is unchanged, and the copy is
// kept if the user changed it.
func (e *Edit) Run(ctx context.Context) error {
	base, err := e.Store.Text()
	if err != nil {
		return err
	}
	// The copy is beside the file, where no tool may read or change it.
	dir, err := os.MkdirTemp(filepath.Dir(e.Store.Path()), "edit-")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.Base(e.Store.Path()))
	if err := os.WriteFile(path, base, 0o600); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	for {
		if err := e.Launch(ctx, path); err != nil {
			return e.keep(dir, path, base, fmt.Errorf("editor: %w", err))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return e.keep(dir, path, base, err)
		}
		if bytes.Equal(text, base) {
			return errors.Join(os.RemoveAll(dir), e.Say("nothing changed"))
		}
		if err = e.save(base, text); err == nil {
			return errors.Join(os.RemoveAll(dir), e.Say("saved %s", e.Store.Path()))
		}
		var fault *permissions.FileError
		if !errors.As(err, &fault) || !e.again(ctx, fault) {
			return e.keep(dir, path, base, err)
		}
	}
}

// save replaces the file by the text, if it is valid.
func (e *Edit) save(base, text []byte) error {
	if _, err := permissions.ParseFile(e.Store.Path(), text, xdg.Home); err != nil {
		return err
	}
	return e.Record(func() (string, error) {
		if err := e.Store.Replace(base, text); err != nil {
			return "", err
		}
		return "Edited the rules.", nil
	})
}

// again shows the error and asks whether to edit again.
func (e *Edit) again(ctx context.Context, fault *permissions.FileError) bool {
	if e.Answer == nil {
		return false
	}
	if _, err := fmt.Fprintf(e.Out, "%s\nEdit again? [Y/n] ", tools.Visible(fault.Error())); err != nil {
		return false
	}
	answer, err := e.Answer(ctx)
	if err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "y", "yes":
		return true
	}
	return false
}

// keep adds the place of the copy to the error, or removes the copy if it has no changes.
func (e *Edit) keep(dir, path string, base []byte, err error) error {
	if text, readErr := os.ReadFile(path); readErr == nil && !bytes.Equal(text, base) {
		return fmt.Errorf("%w\nThe rules are as before; your text is in %s", err, path)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// Launcher returns a function that runs the user's editor on a file and waits for it.
func Launcher(in io.Reader, out, errOut io.Writer) func(context.Context, string) error {
	return func(ctx context.Context, path string) error {
		argv, err := EditorCommand(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")))
		if err != nil {
			return err
		}
		if f, ok := in.(*os.File); ok && needsTerminal(argv[0]) && !term.IsTerminal(int(f.Fd())) {
			return fmt.Errorf("%s needs a terminal: run this in one, set EDITOR to another program, or use callgate rules add", argv[0])
		}
		cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], path)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errOut
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", argv[0], err)
		}
		return nil
	}
}

// needsTerminal reports whether an editor draws on a terminal and reads keys from it.
func needsTerminal(program string) bool {
	switch filepath.Base(program) {
	case "vi", "vim", "nvim", "nano", "pico", "joe", "micro", "hx", "helix", "kak", "mcedit", "ne", "jed", "view", "editor":
		return true
	}
	return false
}

// EditorCommand parses $VISUAL or $EDITOR, a program or a command line. For "" it returns the system's editor.
func EditorCommand(text string) ([]string, error) {
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
		return nil, fmt.Errorf("%q is not a command line: set VISUAL or EDITOR to a program and its options", text)
	}
	return argv, nil
}
