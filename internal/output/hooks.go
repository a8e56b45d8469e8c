package output

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"callgate/internal/hooks"
	"callgate/internal/visible"
)

// Hooks prints a table of hooks and their problems.
func Hooks(w io.Writer, list []hooks.Status) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, `No hooks are configured: write them under "hooks" in callgate.yaml.`)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tWHEN\tACTION\tMATCHER\tEVENTS")
	for _, h := range list {
		state := "on"
		if !h.Enabled {
			state = "off"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", h.Name, state, h.When, h.Action, visible.Text(h.Matcher), strings.Join(h.Event, " "))
	}
	err := table.Flush()
	for _, h := range list {
		if h.Problem != "" {
			_, failed := fmt.Fprintf(w, "Warning: %s: %s\n", h.Name, h.Problem)
			err = errors.Join(err, failed)
		}
	}
	return err
}
