// Package fingerprint identifies what an approval or a grant covers: what a call touches, and the content of the files
// that it runs.
package fingerprint

import (
	"crypto/sha256"
	"fmt"

	"callgate/gate/tools"
)

// Of returns a fingerprint of what a call touches, how risky that is, and what it executes. An approval holds for this
// fingerprint alone. Of also stores the content of what each subject executes in the analysis.
func Of(a *tools.Analysis) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q", a.Risk, a.Marks)
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if len(s.Runs) > 0 {
			s.Content = Files(s.Runs)
		}
		fmt.Fprintf(h, "\x00%s\x00%s\x00%s\x00%q\x00%s", s.Kind, s.Value, s.EffectText(), s.Decides, s.Content)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
