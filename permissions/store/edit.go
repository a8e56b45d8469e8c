package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/permissions"
	"callgate/permissions/internal/jsonc"
)

// Placed says what an added rule changes.
type Placed struct {
	Rule    permissions.Rule   // the rule as it is in the file now
	Shadows []permissions.Rule // earlier rules that it leaves nothing to decide
	Limits  []permissions.Rule // earlier rules with another action that it overrides where both match; not those that it refines
	Yields  []permissions.Rule // later rules with another action that override it where both match
}

// AddRule inserts a rule and keeps comments and order. The rule becomes the last of its tool, so that it overrides
// those before it, or the first if first is true. AddRule refuses a rule that could decide nothing, or whose tool and
// pattern the file already has; the error says what to do instead. It has the guarantees of AddGrants.
func (s *Store) AddRule(tool, pattern string, action permissions.Action, first bool) (Placed, error) {
	var placed Placed
	_, err := s.edit(func(doc *document) (int, error) {
		at, err := doc.addRule(tool, pattern, action, first)
		if err != nil {
			return 0, err
		}
		text, err := doc.text()
		if err != nil {
			return 0, err
		}
		file, err := permissions.ParseFile(s.path, text, s.home)
		if err != nil {
			return 0, err
		}
		placed = place(file.Rules, at)
		if winner := permissions.CoveredBy(file.Rules, at); winner != nil {
			cure := "Remove that rule, or move it up with: callgate rules edit"
			if first {
				cure = "Leave --first out"
			}
			return 0, fmt.Errorf("%s %q would decide nothing: %s comes after it and matches all that it matches. %s", tool, pattern, winner, cure)
		}
		return 1, nil
	})
	return placed, err
}

// RemoveRules removes the rules of a tool, spelled as in the file: the rule with that pattern, or all if the pattern is
// "". It returns the removed rules. A comment on the line of a rule is removed too. It has the guarantees of AddGrants.
func (s *Store) RemoveRules(tool, pattern string) ([]permissions.Rule, error) {
	var removed []permissions.Rule
	_, err := s.edit(func(doc *document) (n int, err error) {
		removed, err = doc.removeRules(tool, pattern)
		return len(removed), err
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// Text returns the text as it is, even if it does not parse. It creates the file on first use.
func (s *Store) Text() (text []byte, err error) {
	err = s.update(func(data []byte) ([]byte, error) {
		text = data
		return nil, nil
	})
	return text, err
}

// ErrRulesChanged is returned by Store.Replace if somebody else has changed the rules.
var ErrRulesChanged = errors.New("the rules were changed by somebody else in the meantime")

// Replace replaces the text of the file. text was made from base, the text that the caller read. A text that does not
// parse is refused with a *FileError. Grants added or removed since base are added or removed in the new text too.
func (s *Store) Replace(base, text []byte) error {
	return s.update(func(data []byte) ([]byte, error) {
		doc, err := parseDocument(s.path, text, s.home)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(data, base) {
			return text, nil
		}
		before, err := permissions.ParseFile(s.path, base, s.home)
		if err != nil {
			return nil, ErrRulesChanged
		}
		now, err := permissions.ParseFile(s.path, data, s.home)
		if err != nil || !slices.EqualFunc(before.Rules, now.Rules, sameRule) {
			return nil, ErrRulesChanged
		}
		if _, err := doc.remove(func(g permissions.Grant) bool { return holds(before.Grants, g) && !holds(now.Grants, g) }); err != nil {
			return nil, err
		}
		came := slices.DeleteFunc(slices.Clone(now.Grants), func(g permissions.Grant) bool { return holds(before.Grants, g) })
		if _, err := doc.add(came); err != nil {
			return nil, err
		}
		return doc.text()
	})
}

func holds(grants []permissions.Grant, g permissions.Grant) bool {
	return slices.ContainsFunc(grants, g.Same)
}

// place reports what the rule at index at does to the others.
func place(rules []permissions.Rule, at int) Placed {
	p := Placed{Rule: rules[at]}
	for i := range rules {
		r := &rules[i]
		switch {
		case i < at && p.Rule.Covers(r):
			p.Shadows = append(p.Shadows, *r)
		case i < at && r.Action != p.Rule.Action && p.Rule.Meets(r) && (r.Action <= permissions.Confirm || !r.Covers(&p.Rule)):
			p.Limits = append(p.Limits, *r)
		case i > at && r.Action != p.Rule.Action && p.Rule.Meets(r):
			p.Yields = append(p.Yields, *r)
		}
	}
	return p
}

// addRule adds a rule and returns its index among the rules.
func (d *document) addRule(tool, pattern string, action permissions.Action, first bool) (int, error) {
	if strings.HasPrefix(tool, "$") {
		return 0, fmt.Errorf("%q is not a tool: keys that begin with $ are callgate's own", tool)
	}
	added := permissions.Rule{Tool: tool, Action: action, Source: "the new rule"}
	var err error
	if added.Pattern, err = permissions.ExpandHome(pattern, d.home); err != nil {
		return 0, err
	}
	compiled, err := permissions.NewPolicy(nil, []permissions.Rule{added}, nil)
	if err != nil {
		return 0, err
	}
	added = compiled.File[0]
	root := d.root.Value.(*hujson.Object)
	m, index := d.member(tool)
	if m == len(root.Members) {
		m, index = d.newMember(first)
		insertMember(root, m, tool, emptyIn(root), "  ")
		if pattern == "*" {
			root.Members[m].Value.Value = hujson.String(action.String())
			d.rules = slices.Insert(slices.Clone(d.rules), index, added)
			return index, nil
		}
	}
	object := patternsOf(root, &root.Members[m].Value)
	at := 0
	for i := range object.Members {
		if written := jsonc.Name(&object.Members[i]); d.samePattern(written, pattern) {
			return 0, fmt.Errorf("%s exists already: remove it first with: callgate rules remove %s %s", &d.rules[index+i], shellWord(tool), shellWord(written))
		}
		if !first {
			at++
		}
	}
	indent, _ := layout(root)
	insertMember(object, at, pattern, hujson.String(action.String()), indent+indent)
	d.rules = slices.Insert(slices.Clone(d.rules), index+at, added)
	return index + at, nil
}

// removeRules removes the rule of a tool with the pattern, or all if the pattern is "", and returns them.
func (d *document) removeRules(tool, pattern string) ([]permissions.Rule, error) {
	root := d.root.Value.(*hujson.Object)
	m, index := d.member(tool)
	if m == len(root.Members) || strings.HasPrefix(tool, "$") {
		return nil, fmt.Errorf("%s has no key %q: callgate rules list shows all", d.path, tool)
	}
	value := &root.Members[m].Value
	count := rulesIn(value)
	from, to := index, index+count
	if pattern != "" {
		i := slices.IndexFunc(patternsOf(root, value).Members, func(m hujson.ObjectMember) bool { return d.samePattern(jsonc.Name(&m), pattern) })
		if i < 0 {
			return nil, fmt.Errorf("%s has no pattern %q for %s: callgate rules list shows all", d.path, pattern, tool)
		}
		from, to = index+i, index+i+1
	}
	if to-from == count {
		removeMember(root, m)
	} else {
		removeMember(value.Value.(*hujson.Object), from-index)
	}
	removed := slices.Clone(d.rules[from:to])
	d.rules = slices.Delete(slices.Clone(d.rules), from, to)
	return removed, nil
}

// member returns the index of the root's member for a tool, and of its first rule; both are one past the last if there
// is none.
func (d *document) member(tool string) (m, index int) {
	members := d.root.Value.(*hujson.Object).Members
	for m = range members {
		if jsonc.Name(&members[m]) == tool {
			return m, index
		}
		index += rulesIn(&members[m].Value)
	}
	return len(members), index
}

// newMember returns the index for the member of a new tool, and the index of its first rule. "$always" stays last.
func (d *document) newMember(first bool) (m, index int) {
	members := d.root.Value.(*hujson.Object).Members
	if first {
		return 0, 0
	}
	if n := len(members); n > 0 && jsonc.Name(&members[n-1]) == permissions.AlwaysKey {
		return n - 1, len(d.rules)
	}
	return len(members), len(d.rules)
}

// rulesIn returns how many rules a member of the root holds.
func rulesIn(value *hujson.Value) int {
	switch v := value.Value.(type) {
	case *hujson.Object:
		return len(v.Members)
	case *hujson.Array:
		return 0 // grants
	}
	return 1
}

// patternsOf returns the patterns of a tool. One action for all values becomes an object with the pattern "*".
func patternsOf(root *hujson.Object, value *hujson.Value) *hujson.Object {
	if object, ok := value.Value.(*hujson.Object); ok {
		return object
	}
	object := emptyIn(root)
	indent, _ := layout(root)
	insertMember(object, 0, "*", value.Value, indent+indent)
	value.Value = object
	return object
}

// emptyIn returns an empty object for a member of the root, laid out on several lines if the root is.
func emptyIn(root *hujson.Object) *hujson.Object {
	object := new(hujson.Object)
	if indent, broken := layout(root); broken {
		object.AfterExtra = hujson.Extra("\n" + indent)
	}
	return object
}

// samePattern reports whether two patterns are equal after `~/` is expanded.
func (d *document) samePattern(a, b string) bool {
	if a == b {
		return true
	}
	expandedA, errA := permissions.ExpandHome(a, d.home)
	expandedB, errB := permissions.ExpandHome(b, d.home)
	return errA == nil && errB == nil && expandedA == expandedB
}

// shellWord quotes s for the command lines in messages.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
