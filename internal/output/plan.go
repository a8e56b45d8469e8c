package output

import (
	"fmt"
	"io"

	"callgate/internal/install"
	"callgate/internal/visible"
)

// Plan prints what connect would change on each host.
func Plan(w io.Writer, plan *install.Plan) {
	for _, h := range plan.Hosts {
		if !h.Found && len(h.Changes) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\n", h.Name)
		if len(h.Changes) == 0 {
			fmt.Fprintln(w, "  nothing to do")
		}
		for _, c := range h.Changes {
			fmt.Fprintf(w, "  %s (%s)\n", visible.Text(c.Path), c.Scope)
			if c.Error != "" {
				fmt.Fprintf(w, "    NOT CHANGED: %s\n", visible.Text(c.Error))
			}
			for _, s := range c.Servers {
				switch {
				case s.Stays != "":
					fmt.Fprintf(w, "    stays  %s: %s\n", visible.Text(s.Name), visible.Text(s.Stays))
				case s.As != s.Name:
					fmt.Fprintf(w, "    moves  %s, as %s\n", visible.Text(s.Name), s.As)
				default:
					fmt.Fprintf(w, "    moves  %s\n", s.Name)
				}
			}
			if c.OfMachine() {
				fmt.Fprintln(w, "    note   the new entry names paths on this machine: do not commit it, or keep these servers in --scope user or local")
			}
			Diff(w, c.Before, c.After)
		}
	}
}
