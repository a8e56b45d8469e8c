package report

import (
	"fmt"
	"io"
	"strings"

	"callgate/internal/visible"
)

// Print shows the report to a person.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s\n", visible.Count(r.Calls, "call"), visible.Count(r.Sessions, "session"))
	fmt.Fprintf(&b, "  %d ran without a question, %d denied, %s (%d marked), %d failed\n", r.Unasked, r.Denied, visible.Count(r.Questions, "question"), r.Marked, r.Failed)
	if r.Questions > 0 {
		fmt.Fprintf(&b, "  %d approved (%d%%), %d rejected, %d not answered in time, %d withdrawn", r.Approved, 100*r.Approved/r.Questions, r.Rejected, r.Missed, r.Withdrawn)
		if r.Answer > 0 {
			fmt.Fprintf(&b, "; half of the answers took less than %s", seconds(r.Answer))
		}
		b.WriteByte('\n')
	}
	for _, part := range []struct {
		name string
		list []Share
	}{{"By project", r.ByProject}, {"By host", r.ByHost}, {"By rule", r.ByRule}, {"By command or tool", r.ByFamily}, {"Always the same answer", r.Constant}} {
		if len(part.list) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", part.name)
		for _, s := range part.list {
			fmt.Fprintf(&b, "  %5d  %3d%% approved, %6s  %s\n", s.Asked, 100*s.Approved/max(1, s.Asked), seconds(s.Answer), visible.Text(s.Name))
		}
	}
	if len(r.Denials) > 0 {
		fmt.Fprintln(&b, "\nDenied by")
		for _, s := range r.Denials {
			fmt.Fprintf(&b, "  %5d  %s\n", s.Asked, visible.Text(s.Name))
		}
	}
	if r.Suggested != nil && len(r.Suggested.Proposals) > 0 {
		fmt.Fprintf(&b, "\n%s would have answered %d of them: callgate rules suggest\n", visible.Count(len(r.Suggested.Proposals), "grant"), r.Suggested.Saved)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// seconds formats the time to an answer.
func seconds(s float64) string {
	switch {
	case s <= 0:
		return "–"
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.0f min", s/60)
}
