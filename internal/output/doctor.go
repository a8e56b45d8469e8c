package output

import (
	"errors"
	"fmt"
	"io"

	"callgate/internal/doctor"
	"callgate/internal/visible"
)

// Findings prints one line for each finding, and its cure below.
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
		_, err := fmt.Fprintf(w, "%s  %-14s  %s\n", p.paint(codes[f.State], word), f.About, visible.Text(f.Text))
		if f.Cure != "" && f.State != doctor.OK {
			_, more := fmt.Fprintf(w, "%25s→ %s\n", "", f.Cure)
			err = errors.Join(err, more)
		}
		all = errors.Join(all, err)
	}
	_, err := fmt.Fprintf(w, "%d ok, %d warnings, %d broken\n", count[doctor.OK], count[doctor.Warning], count[doctor.Broken])
	return errors.Join(all, err)
}
