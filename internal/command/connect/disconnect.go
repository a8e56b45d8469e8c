package connect

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/install"
	"callgate/internal/output"
)

func NewDisconnectCommand(s *config.Settings) *cobra.Command {
	var o connecting
	cmd := &cobra.Command{
		Use:   "disconnect [HOST...]",
		Short: "Undo \"callgate connect\"",
		Long: `Disconnect undoes "callgate connect". It restores a file byte for byte if the file did not change
since. In a file that you or the host changed, it puts the servers back, removes callgate's entry and keeps the rest.
It shows what it could not put back and keeps a copy of the file.`,
		Example: `  callgate disconnect --dry-run
  callgate disconnect claude --yes`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.DataDir, err = s.DataDir(); err != nil {
				return err
			}
			return o.disconnect(cmd, append(args, o.hosts...))
		},
	}
	o.declare(cmd)
	cmd.Flags().Lookup("scope").DefValue = strings.Join(app.Scopes, ",")
	o.Scopes = app.Scopes
	return cmd
}

func (o *connecting) disconnect(cmd *cobra.Command, args []string) error {
	if _, err := install.Find(args); err != nil {
		return err
	}
	if err := o.CheckScopes(); err != nil {
		return err
	}
	for i := range args {
		args[i] = strings.ToLower(args[i])
	}
	list, err := install.Undo(o.Records(), args, o.Scopes)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.asJSON && !o.yes {
		return output.JSON(out, list)
	}
	if !o.asJSON {
		for i := range list {
			printUndo(out, &list[i])
		}
		if len(list) == 0 {
			return o.notHere(out, args)
		}
	}
	if o.dryRun || len(list) == 0 {
		return nil
	}
	if ok, err := o.confirm(cmd, "Make these changes?"); !ok || err != nil {
		return err
	}
	for i := range list {
		u := &list[i]
		if err := u.Write(); err != nil {
			return fmt.Errorf("disconnect %s: %s: %w", u.Host, u.Path, err)
		}
		if !o.asJSON {
			printUndone(out, u)
		}
	}
	if o.asJSON {
		return output.JSON(out, list)
	}
	_, err = fmt.Fprintln(out, "Restart the hosts.")
	return err
}

// printUndo prints what will happen to a file.
func printUndo(out io.Writer, u *install.Undone) {
	how := "has changed since; only callgate's part is undone"
	switch {
	case u.Removes():
		how = "is removed: connect made it"
	case u.Exact:
		how = "gets back its old content, byte for byte"
	}
	fmt.Fprintf(out, "%s  %s\n", tools.Visible(u.Path), how)
	for _, c := range u.Conflicts {
		fmt.Fprintf(out, "    CONFLICT: %s\n", tools.Visible(c))
	}
	output.Diff(out, u.Before, u.After)
}

// printUndone prints what happened to a file.
func printUndone(out io.Writer, u *install.Undone) {
	done := "changed"
	if u.Removes() {
		done = "removed"
	}
	fmt.Fprintf(out, "%s  %s\n", done, tools.Visible(u.Path))
	if len(u.Conflicts) > 0 {
		fmt.Fprintf(out, "         the file as it was is in the member \"before\" (base64) of %s\n", tools.Visible(u.Kept()))
	}
}

// notHere prints that this data directory has no record of a connect, with the hosts' files that start callgate all the
// same.
func (o *connecting) notHere(out io.Writer, args []string) error {
	list, err := o.Elsewhere(args)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is connected.")
		return err
	}
	fmt.Fprintf(out, "The data directory %s has no record of a connect, but these files start callgate:\n", tools.Visible(o.DataDir))
	for _, c := range list {
		cure := "remove callgate from it by hand"
		if c.DataDir != "" {
			cure = "callgate disconnect --data-dir " + tools.Visible(c.DataDir)
		}
		if _, err := fmt.Fprintf(out, "  %s → %s\n", tools.Visible(c.Path), cure); err != nil {
			return err
		}
	}
	return nil
}
