package output

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"callgate/internal/doctor"
	"callgate/internal/visible"
)

// Findings prints one line for each finding, with its cure below it.
func Findings(w io.Writer, findings []doctor.Finding) error {
	p := paletteOf(w)
	codes := map[doctor.State]string{doctor.Broken: red, doctor.Warning: yellow, doctor.OK: green}
	count := map[doctor.State]int{}
	var all error
	for i := range findings {
		f := &findings[i]
		count[f.State]++
		word := fmt.Sprintf("%-7s", f.State)
		if f.Fixed {
			word = "fixed  "
		}
		lines := strings.Split(f.Text, "\n")
		for i, line := range lines {
			lines[i] = visible.Text(line)
		}
		_, err := fmt.Fprintf(w, "%s  %-14s  %s\n", p.paint(codes[f.State], word), f.About, strings.Join(lines, "\n"+strings.Repeat(" ", 25)))
		if f.Cure != "" && f.State != doctor.OK {
			_, more := fmt.Fprintf(w, "%25s→ %s\n", "", f.Cure)
			err = errors.Join(err, more)
		}
		all = errors.Join(all, err)
	}
	_, err := fmt.Fprintf(w, "%d ok, %s, %d broken\n", count[doctor.OK], visible.Count(count[doctor.Warning], "warning"), count[doctor.Broken])
	return errors.Join(all, err)
}
