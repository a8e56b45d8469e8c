package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/internal/keyboard"
)

// confirm asks once. Without a terminal it returns an error, unless --yes is given.
func (o *connecting) confirm(cmd *cobra.Command, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false, errors.New("nobody can be asked here: add --yes to make these changes, or --dry-run to look only")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s [y/N] ", question)
	answer, err := keyboard.Line(cmd.Context(), in, keyboard.Echo(cmd.OutOrStdout()))
	return agreed(cmd.OutOrStdout(), answer, err)
}

// agreed reports whether the answer is yes. No answer counts as no.
func agreed(out io.Writer, answer string, err error) (bool, error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		return false, err
	}
	if answer = strings.TrimSpace(answer); strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes") {
		return true, nil
	}
	_, err = fmt.Fprintln(out, "Nothing was changed.")
	return false, err
}
