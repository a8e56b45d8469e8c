package rulebook

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/visible"
	"callgate/permissions"
	"callgate/permissions/lint"
	"callgate/permissions/store"
)

// Book is the worker's rules file, for the subcommands that change it.
type Book struct {
	Store  *store.Store
	Out    io.Writer
	Record func(apply func() (summary string, err error)) error // records a change; a change that cannot be recorded MUST NOT be applied
}

// Say prints one line.
func (b *Book) Say(format string, args ...any) error {
	_, err := fmt.Fprintln(b.Out, tools.Visible(fmt.Sprintf(format, args...)))
	return err
}

// oneLine joins rules for a sentence.
func oneLine(rules []permissions.Rule) string {
	texts := make([]string, len(rules))
	for i := range rules {
		texts[i] = rules[i].String()
	}
	return strings.Join(texts, "; ")
}

// Add adds a rule to the file and prints which others it overrides.
func (b *Book) Add(tool, pattern string, action permissions.Action, first bool) error {
	return b.Record(func() (string, error) { return b.addRule(tool, pattern, action, first) })
}

func (b *Book) addRule(tool, pattern string, action permissions.Action, first bool) (string, error) {
	placed, err := b.Store.AddRule(tool, pattern, action, first)
	if err != nil {
		return "", err
	}
	summary := fmt.Sprintf("Added the rule %s.", &placed.Rule)
	lines := []string{"added " + placed.Rule.String()}
	for _, o := range []struct {
		what  string
		rules []permissions.Rule
	}{
		{"makes ineffective", placed.Shadows},
		{"overrides, where both match,", placed.Limits},
		{"is overridden, where both match, by", placed.Yields},
	} {
		for i := range o.rules {
			lines = append(lines, fmt.Sprintf("  %s %s", o.what, &o.rules[i]))
		}
	}
	doubts, err := b.doubts(&placed.Rule)
	if err != nil {
		return summary, err
	}
	for _, line := range append(lines, doubts...) {
		if err := b.Say("%s", line); err != nil {
			return summary, err
		}
	}
	return summary, nil
}

// doubts returns what lint reports about one rule of the file as it is now.
func (b *Book) doubts(r *permissions.Rule) (lines []string, err error) {
	policy, err := b.Store.Policy()
	if err != nil {
		return nil, err
	}
	problems, err := lint.Rules(policy.File, lint.Options{Kinds: tools.Kinds()})
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		if p.Rule == r.String() {
			lines = append(lines, fmt.Sprintf("  %s: %s %s", p.Severity, p.Why, p.Cure))
		}
	}
	return lines, nil
}

// Remove removes the rule with this tool and pattern from the file, or all rules of the tool if pattern is "".
func (b *Book) Remove(tool, pattern string) error {
	return b.Record(func() (string, error) { return b.removeRules(tool, pattern) })
}

func (b *Book) removeRules(tool, pattern string) (string, error) {
	removed, err := b.Store.RemoveRules(tool, pattern)
	if err != nil {
		return "", err
	}
	summary := fmt.Sprintf("Removed %s: %s.", visible.Count(len(removed), "rule"), oneLine(removed))
	for i := range removed {
		if err := b.Say("removed %s", &removed[i]); err != nil {
			return summary, err
		}
	}
	return summary, nil
}

// Revoke removes the grants at the indices, or those whose tool matches, or all. Indices count from 1 and refer to the
// grants at the time of the call: if another process changes the file meanwhile, the same grants are removed.
func (b *Book) Revoke(indices []string, tool string) error {
	return b.Record(func() (string, error) { return b.revokeGrants(indices, tool) })
}

func (b *Book) revokeGrants(indices []string, tool string) (string, error) {
	policy, err := b.Store.Policy()
	if err != nil {
		return "", err
	}
	var chosen []permissions.Grant
	for _, text := range indices {
		i, err := strconv.Atoi(text)
		if err != nil || i < 1 || i > len(policy.Grants) {
			return "", fmt.Errorf("there is no grant %s: callgate rules list shows %s", text, visible.Count(len(policy.Grants), "grant"))
		}
		chosen = append(chosen, policy.Grants[i-1])
	}
	if len(indices) == 0 {
		glob, err := permissions.CompileGlob(cmp.Or(tool, "*"))
		if err != nil {
			return "", err
		}
		chosen = slices.DeleteFunc(slices.Clone(policy.Grants), func(g permissions.Grant) bool { return !glob.Match(g.Tool) })
	}
	var gone []string
	n, err := b.Store.RemoveGrants(func(g permissions.Grant) bool {
		if !slices.ContainsFunc(chosen, g.Same) {
			return false
		}
		gone = append(gone, g.String())
		return true
	})
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", b.Say("nothing to revoke")
	}
	gone = gone[len(gone)-n:] // a retry asks about each grant again
	slices.Reverse(gone)
	summary := fmt.Sprintf("Revoked %s: %s.", visible.Count(n, "grant"), strings.Join(gone, "; "))
	for _, g := range gone {
		if err := b.Say("revoked %s", g); err != nil {
			return summary, err
		}
	}
	return summary, nil
}
