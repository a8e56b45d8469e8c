// Package translate turns rules of callgate into those of other programs, and back.
//
// It lists what the other side cannot express, and guesses nothing. If two readings are possible, the result is the
// narrower one.
package translate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
	"callgate/internal/visible"
	"callgate/permissions"
)

// Left is something that the other side cannot express, or expresses differently.
type Left struct {
	What string `json:"what"` // the rule as it stands
	Why  string `json:"why"`
}

// Print lists what is left.
func Print(w io.Writer, left []Left) error {
	var b strings.Builder
	if len(left) > 0 {
		fmt.Fprintf(&b, "%s did not translate:\n", visible.Count(len(left), "rule"))
	}
	for _, l := range left {
		fmt.Fprintf(&b, "  %s: %s\n", visible.Text(l.What), visible.Text(l.Why))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Import is what was read: rules in the order in which the last one that matches wins.
type Import struct {
	Rules []Rule
	Left  []Left
}

// Rule is one rule to write.
type Rule struct {
	Tool, Pattern string
	Action        permissions.Action
	From          string // as it stood
	// Before says that the rule comes before those for kinds, which it must not lift.
	Before bool
}

func (im *Import) leave(what, why string, args ...any) {
	im.Left = append(im.Left, Left{what, fmt.Sprintf(why, args...)})
}

// lose lists a rule that does not translate. Where it is no allow, see withdraw.
func (im *Import) lose(tool, pattern string, action permissions.Action, from, why string, args ...any) {
	im.leave(from, why, args...)
	if action != permissions.Allow {
		im.withdraw(tool, pattern, from)
	}
}

// withdraw takes out the allows so far that hold for something a rule is for which does not translate: here they would run
// what is asked about or denied there.
func (im *Import) withdraw(tool, pattern, from string) {
	im.Rules = append(im.Rules, Rule{Tool: tool, Pattern: pattern, From: from})
	im.WithdrawFor([]int{len(im.Rules) - 1}, "does not translate")
	im.Rules = im.Rules[:len(im.Rules)-1]
}

// WithdrawFor takes out and lists the allows that stand before one of the lost rules, which are indexes, and hold for
// something that it is for.
func (im *Import) WithdrawFor(lost []int, why string) {
	rules := im.Rules[:0:0]
	for i, r := range im.Rules {
		k := slices.IndexFunc(lost, func(k int) bool {
			l := &im.Rules[k]
			return i < k && overlap(&permissions.Rule{Tool: r.Tool, Pattern: r.Pattern}, &permissions.Rule{Tool: l.Tool, Pattern: l.Pattern})
		})
		if k < 0 || r.Action != permissions.Allow {
			rules = append(rules, r)
			continue
		}
		if l := (Left{r.From, im.Rules[lost[k]].From + " takes a part of it away and " + why}); !slices.Contains(im.Left, l) {
			im.Left = append(im.Left, l)
		}
	}
	im.Rules = rules
}

func (im *Import) add(tool, pattern string, action permissions.Action, from string) {
	before := action == permissions.Allow && !slices.Contains(kinds, tool)
	im.Rules = append(im.Rules, Rule{tool, pattern, action, from, before})
}

// Importers read the files of other programs.
var Importers = map[string]func(text []byte) (*Import, error){
	"claude": importClaude, "codex": importCodex, "opencode": importOpencode, "gemini": importGemini,
}

// exporters write rules for other programs.
var exporters = map[string]func(*Export) ([]byte, error){
	"claude": exportClaude, "codex": exportCodex, "opencode": exportOpencode, "gemini": exportGemini, "cedar": exportCedar,
}

// From and To list the programs that rules come from, and go to.
func From() []string { return slices.Sorted(maps.Keys(Importers)) }
func To() []string   { return slices.Sorted(maps.Keys(exporters)) }

// Write writes the rules for another program; ok is false for one that is not known. Where a deny or an ask does not
// translate, neither do the allows before it that it takes a part of.
func (e *Export) Write(to string) (text []byte, ok bool, err error) {
	write := exporters[to]
	if write == nil {
		return nil, false, nil
	}
	if text, err = write(e); err != nil {
		return nil, true, err
	}
	kept := e.Rules[:0:0]
	left := e.Left
	for i := range e.Rules {
		r := &e.Rules[i]
		lost := -1
		for k := i + 1; k < len(e.Rules) && lost < 0 && r.Action == permissions.Allow; k++ {
			if slices.Contains(e.lost, &e.Rules[k]) && overlap(r, &e.Rules[k]) {
				lost = k
			}
		}
		if lost < 0 {
			kept = append(kept, *r)
			continue
		}
		left = append(left, Left{r.String(), fmt.Sprintf("%s takes a part of it away and does not translate", &e.Rules[lost])})
	}
	if len(kept) == len(e.Rules) {
		return text, true, nil
	}
	e.Rules, e.lost = kept, nil
	text, err = write(e)
	e.Left = left
	return text, true, err
}

// File is the text of a permissions.jsonc with the rules.
func (im *Import) File() ([]byte, error) {
	type member struct {
		tool  string
		rules []Rule
	}
	var members []*member
	for _, r := range im.Ordered() {
		i := slices.IndexFunc(members, func(m *member) bool { return m.tool == r.Tool })
		if i < 0 {
			members = append(members, &member{tool: r.Tool})
			i = len(members) - 1
		} else if m := members[i]; !slices.Contains(kinds, r.Tool) { // the place of the last one counts
			members = append(slices.Delete(members, i, i+1), m)
			i = len(members) - 1
		}
		m := members[i]
		m.rules = append(slices.DeleteFunc(m.rules, func(old Rule) bool { return old.Pattern == r.Pattern }), r)
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	for i, m := range members {
		fmt.Fprintf(&b, "  %s: {\n", jsonx.Quote(m.tool))
		for j, r := range m.rules {
			fmt.Fprintf(&b, "    %s: %s%s\n", jsonx.Quote(r.Pattern), jsonx.Quote(r.Action.String()), comma(j < len(m.rules)-1))
		}
		fmt.Fprintf(&b, "  }%s\n", comma(i < len(members)-1))
	}
	b.WriteString("}\n")
	if !jsontext.Value(b.Bytes()).IsValid() {
		return nil, errors.New("the rules cannot be written as JSON")
	}
	return b.Bytes(), nil
}

// Ordered is the rules without those that a later one for everything leaves nothing to decide, and with the allows of whole
// tools before the rules for kinds, whose denies they must not lift.
func (im *Import) Ordered() []Rule {
	rules := im.Rules
	for i := len(rules) - 1; i > 0; i-- {
		if rules[i].Tool == "*" && rules[i].Pattern == "*" {
			rules = rules[i:]
			break
		}
	}
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.rank(), b.rank()) })
	return rules
}

func (r *Rule) rank() int {
	switch {
	case r.Tool == "*":
		return 0
	case r.Before:
		return 1
	}
	return 2
}

func comma(more bool) string {
	if more {
		return ","
	}
	return ""
}

// Summary names the rules for the audit trail.
func (im *Import) Summary(from string) string {
	list := make([]string, len(im.Rules))
	for i, r := range im.Rules {
		list[i] = fmt.Sprintf("%s %q %s", r.Tool, r.Pattern, r.Action)
	}
	return fmt.Sprintf("Imported %s from %s: %s.", visible.Count(len(list), "rule"), from, strings.Join(list, "; "))
}

// Export is what is to be written.
type Export struct {
	Rules   []permissions.Rule // compiled, in file order
	Servers []string           // names of the configured servers
	Home    string
	Left    []Left

	lost []*permissions.Rule // of Rules: what tightens and is among Left
}

func (e *Export) leave(r *permissions.Rule, why string, args ...any) {
	e.Left = append(e.Left, Left{r.String(), fmt.Sprintf(why, args...)})
	if r.Action != permissions.Allow {
		e.lost = append(e.lost, r)
	}
}

// kinds are those that other programs have tools for.
var kinds = []string{"shell_exec", "read_file", "write_file", "edit_file", "delete_file", "move_file", "glob", "grep", "web_fetch", "skill"}

const reasonCondition = "it has a condition or a ceiling, which cannot be said there"

// plain reports whether the rule says no more than action, tool and pattern; if not, that is listed.
func (e *Export) plain(r *permissions.Rule) bool {
	if r.Capped || r.When != (permissions.When{}) {
		e.leave(r, reasonCondition)
		return false
	}
	return true
}

// groups turns @(a|b) into {a,b}, which Texts takes apart.
var groups = lazyregexp.New(`@\(([^()\\]*)\)`)

// texts are the patterns of a rule with `*` as the only wildcard.
func texts(r *permissions.Rule) ([]string, bool) {
	return permissions.Texts(groups.ReplaceAllStringFunc(r.Pattern, func(g string) string {
		return "{" + strings.ReplaceAll(g[2:len(g)-1], "|", ",") + "}"
	}))
}

// covers lists the kinds that the rule's tool names, and the tool itself where that is a tool's own name.
func covers(r *permissions.Rule) (kind []string, own bool) {
	glob, err := permissions.CompileGlob(r.Tool)
	if err != nil {
		return nil, false
	}
	for _, k := range kinds {
		if glob.Match(k) {
			kind = append(kind, k)
		}
	}
	return kind, len(kind) == 0
}

// strictest picks the rules for a program in which a deny beats an ask and an ask beats an allow, in whatever order they
// stand: those for which emit is called. What is unlike callgate there is listed. Asks are what happens anyway, but where
// they take a part of an allow away.
func (e *Export) strictest(emit func(*permissions.Rule)) {
	var asks []*permissions.Rule // that were emitted
	for i := range e.Rules {
		r := &e.Rules[i]
		if !e.plain(r) {
			continue
		}
		allowed := func(list []permissions.Rule) *permissions.Rule {
			for k := range list {
				if list[k].Action == permissions.Allow && overlap(r, &list[k]) {
					return &list[k]
				}
			}
			return nil
		}
		switch r.Action {
		case permissions.Deny:
			if later := allowed(e.Rules[i+1:]); later != nil {
				e.leave(later, "it is an exception to %s: there the deny wins", r)
			}
		case permissions.Allow:
			if k := slices.IndexFunc(asks, func(ask *permissions.Rule) bool { return overlap(ask, r) }); k >= 0 {
				e.leave(r, "where %s matches too, it asks there", asks[k])
			}
		default:
			if allowed(e.Rules[:i]) == nil {
				continue
			}
			asks = append(asks, r)
		}
		emit(r)
	}
}

// mcpTool takes the name of a tool, or a pattern over names, apart: only the configured servers say where.
func (e *Export) mcpTool(name string) (server, tool string, ok bool) {
	for _, s := range e.Servers {
		if rest, found := strings.CutPrefix(name, s+"_"); found && len(s) > len(server) {
			server, tool, ok = s, rest, true
		}
	}
	if !ok {
		if before, found := strings.CutSuffix(name, "_*"); found && !strings.ContainsAny(before, "*?[{(!_") {
			return before, "*", true
		}
	}
	return server, tool, ok
}

// shortened writes a path below the home folder with ~.
func (e *Export) shortened(path string) string {
	home := filepath.ToSlash(e.Home)
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return path
}

// words takes a text that is a command apart; open says that any arguments may follow. ok is false where a wildcard
// stands elsewhere.
func words(text string) (list []string, open, ok bool) {
	text, open = strings.CutSuffix(text, " *")
	list = strings.Fields(text)
	return list, open, len(list) > 0 && !strings.Contains(text, "*")
}
