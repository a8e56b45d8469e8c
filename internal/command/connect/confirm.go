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

// confirm asks once. Without a terminal it refuses.
func (o *connecting) confirm(cmd *cobra.Command, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false, errors.New("nobody can be asked here: add --yes to make these changes, or --dry-run to look only")
	}
	return agreed(cmd.Context(), in, cmd.OutOrStdout(), question)
}

// agreed asks and reports whether the answer is yes. It is no at Ctrl-C, and if ctx ends first.
func agreed(ctx context.Context, in *os.File, out io.Writer, question string) (bool, error) {
	fmt.Fprintf(out, "%s [y/N] ", question)
	answer, err := keyboard.Line(ctx, in, keyboard.Echo(out))
	if err != nil && !errors.Is(err, context.Canceled) {
		return false, err
	}
	if !strings.EqualFold(strings.TrimSpace(answer), "y") && !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		_, err := fmt.Fprintln(out, "Nothing was changed.")
		return false, err
	}
	return true, nil
}
