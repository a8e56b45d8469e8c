package output

import (
	"fmt"
	"io"

	"callgate/internal/inventory"
	"callgate/internal/visible"
)

// Drifts prints how servers differ from callgate.lock.
func Drifts(w io.Writer, found []inventory.Drift) error {
	for _, d := range found {
		state := "as locked"
		if len(d.Changes) > 0 {
			state = "changed"
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", d.Server, state); err != nil {
			return err
		}
		for _, change := range d.Changes {
			if _, err := fmt.Fprintf(w, "  %s\n", visible.Text(change)); err != nil {
				return err
			}
		}
	}
	return nil
}
