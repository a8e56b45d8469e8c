package output

import (
	"bytes"
	"fmt"
	"io"

	"callgate/internal/install"
	"callgate/internal/visible"
)

// Plan prints what connect would change for each host.
func Plan(w io.Writer, plan *install.Plan) {
	for _, h := range plan.Hosts {
		if !h.Found && len(h.Changes) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\n", h.Name)
		if len(h.Changes) == 0 {
			fmt.Fprintln(w, "  nothing to do")
		}
		for i := 0; i < len(h.Changes); i++ {
			c := &h.Changes[i]
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
			after := c.After
			for i+1 < len(h.Changes) && goesOn(c.Path, after, &h.Changes[i+1]) {
				i++
				after = h.Changes[i].After
			}
			Diff(w, c.Before, after)
		}
	}
}

// goesOn reports whether c changes the same file again, from the state that the previous change left.
func goesOn(path string, after []byte, c *install.Change) bool {
	return c.Path == path && c.Error == "" && len(c.Servers) == 0 && after != nil && bytes.Equal(c.Before, after)
}
