package suggest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"callgate/internal/visible"
)

// Print shows the report to a person.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: people answered %s and rejected %d\n", visible.Count(r.Decisions, "decision"), visible.Count(r.Days, "day"), visible.Count(r.Questions, "question"), r.Rejected)
	if len(r.Proposals) == 0 {
		fmt.Fprintln(&b, "No grant is worth proposing.")
	} else {
		fmt.Fprintf(&b, "%s would have answered %s", visible.Count(len(r.Proposals), "grant"), visible.Count(r.Saved, "question"))
		if r.Gap > 0 {
			fmt.Fprintf(&b, "; another choice may be better by up to %.1f", r.Gap)
		}
		fmt.Fprintln(&b)
	}
	for i, p := range r.Proposals {
		p.print(&b, i+1)
	}
	if len(r.Left) > 0 {
		fmt.Fprintln(&b, "\nApproved questions that no proposal answers")
	}
	for _, why := range slices.Sorted(maps.Keys(r.Left)) {
		fmt.Fprintf(&b, "  %5d  %s\n", r.Left[why], why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxDays limits the days that a proposal lists.
const maxDays = 7

func (p *Proposal) print(b *strings.Builder, n int) {
	fmt.Fprintf(b, "\n%d  %s %q up to %s\n", n, visible.Text(p.Tool), visible.Text(p.Pattern), p.Ceiling)
	days := slices.Sorted(maps.Keys(p.ByDay))
	var list []string
	for _, day := range days[max(0, len(days)-maxDays):] {
		list = append(list, fmt.Sprintf("%s %d", day, p.ByDay[day]))
	}
	if n := len(days) - maxDays; n > 0 {
		list = append([]string{visible.Count(n, "earlier day")}, list...)
	}
	fmt.Fprintf(b, "   saves    %s: %s\n", visible.Count(p.Saves, "question"), strings.Join(list, ", "))
	fmt.Fprintf(b, "   rests on %s, such as %s\n", visible.Count(p.Calls, "different call"), visible.Text(strings.Join(p.Examples, " | ")))
	scope := "all projects"
	if p.Workspace != "" {
		scope = p.Workspace
	}
	if p.Server != "" {
		scope += ", server " + p.Server
	}
	fmt.Fprintf(b, "   scope    %s\n", visible.Text(scope))
	fmt.Fprintf(b, "   opens    %s of every day, %s of operands and %s that nobody approved\n",
		visible.Count(p.Opens.Everyday, "command"), visible.Count(p.Opens.Operands, "kind"), visible.Count(p.Opens.Hosts, "host"))
	if len(p.Opens.Examples) > 0 {
		fmt.Fprintf(b, "            such as %s\n", visible.Text(strings.Join(p.Opens.Examples, " | ")))
	}
	fmt.Fprintf(b, "   against  none of %s and %s would run\n", visible.Count(p.Against.Rejected, "rejected call"), visible.Count(p.Against.Bypasses, "bypass case"))
}

// Summary names the grants for the audit trail.
func (r *Report) Summary() string {
	list := make([]string, len(r.Proposals))
	for i, p := range r.Proposals {
		list[i] = p.grant.String()
	}
	return fmt.Sprintf("Suggested %s: %s.", visible.Count(len(list), "grant"), strings.Join(list, "; "))
}
