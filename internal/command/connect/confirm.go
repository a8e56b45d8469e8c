package connect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
	fmt.Fprintf(cmd.OutOrStdout(), "%s [y/N] ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if !strings.EqualFold(strings.TrimSpace(answer), "y") && !strings.EqualFold(strings.TrimSpace(answer), "yes") {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "Nothing was changed.")
		return false, err
	}
	return true, nil
}
