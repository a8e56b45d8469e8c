// Package translate translates callgate's rules into those of other programs, and back.
//
// It does not guess: it lists what the other language cannot express. If a rule has two readings, it takes the narrower
// one.
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

// Left is a rule that the other language cannot express exactly.
type Left struct {
	What string `json:"what"` // the original rule
	Why  string `json:"why"`
}

// Print lists the rules that did not translate.
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

// Import holds the translated rules. The last rule that matches wins.
type Import struct {
	Rules []Rule
	Left  []Left
	Lost  int // how many rules in Left ask or deny, so that calls may run that the other program stops
}

// Rule is one rule to write.
type Rule struct {
	Tool, Pattern string
	Action        permissions.Action
	From          string // the original rule
	// Before means that the rule MUST come before the rules for kinds, because it must not lift their denies.
	Before bool
}

func (im *Import) leave(what, why string, args ...any) {
	im.Left = append(im.Left, Left{what, fmt.Sprintf(why, args...)})
}

// lose lists a rule that does not translate. If it is not an allow, it also calls withdraw.
func (im *Import) lose(tool, pattern string, action permissions.Action, from, why string, args ...any) {
	im.leave(from, why, args...)
	if action != permissions.Allow {
		im.Lost++
		im.withdraw(tool, pattern, from)
	}
}

// loseServers lists a rule for servers that does not translate. If it is not an allow, it also withdraws all earlier
// allows of servers' tools.
func (im *Import) loseServers(action permissions.Action, from, why string) {
	im.leave(from, "%s", why)
	if action == permissions.Allow {
		return
	}
	im.Lost++
	for _, r := range slices.Clone(im.Rules) {
		if !slices.Contains(kinds, r.Tool) {
			im.withdraw(r.Tool, "*", from)
		}
	}
}

// withdraw removes the earlier allows that overlap a rule that does not translate. Otherwise callgate would run calls
// that the other program asks about or denies.
func (im *Import) withdraw(tool, pattern, from string) {
	im.Rules = append(im.Rules, Rule{Tool: tool, Pattern: pattern, From: from})
	im.WithdrawFor([]int{len(im.Rules) - 1}, "does not translate")
	im.Rules = im.Rules[:len(im.Rules)-1]
}

// WithdrawFor removes and lists the allows that come before a lost rule and overlap it. lost has the indexes of the
// lost rules.
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
		if l := (Left{r.From, im.Rules[lost[k]].From + " overlaps it and " + why}); !slices.Contains(im.Left, l) {
			im.Left = append(im.Left, l)
		}
	}
	im.Rules = rules
}

// behindCallgate matches a host's name for the tool of a server that "callgate connect" has moved behind callgate.
var behindCallgate = lazyregexp.New(`^callgate(?:-[A-Za-z0-9-]+)?_(.+)$`)

// add adds a rule. It only lists a rule for all servers behind callgate: connect writes such a rule, so that the host
// leaves the question to callgate.
func (im *Import) add(tool, pattern string, action permissions.Action, from string) {
	if m := behindCallgate.FindStringSubmatch(tool); m != nil {
		if tool = m[1]; tool == "*" {
			im.loseServers(action, from, "it is about every server behind callgate")
			return
		}
	}
	before := action == permissions.Allow && !slices.Contains(kinds, tool)
	im.Rules = append(im.Rules, Rule{tool, pattern, action, from, before})
}

// Importers maps programs to functions that parse their files.
var Importers = map[string]func(text []byte) (*Import, error){
	"claude": importClaude, "codex": importCodex, "opencode": importOpencode, "gemini": importGemini,
}

// exporters maps programs to functions that write rules for them.
var exporters = map[string]func(*Export) ([]byte, error){
	"claude": exportClaude, "codex": exportCodex, "opencode": exportOpencode, "gemini": exportGemini, "cedar": exportCedar,
}

// From lists the programs from which rules can be imported.
func From() []string { return slices.Sorted(maps.Keys(Importers)) }

// To lists the programs to which rules can be exported.
func To() []string { return slices.Sorted(maps.Keys(exporters)) }

// Write returns the rules in the form of another program. ok is false for an unknown program. If a deny or an ask does
// not translate, Write leaves out the earlier allows that overlap it.
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
		if !slices.ContainsFunc(left, func(l Left) bool { return l.What == r.String() }) {
			left = append(left, Left{r.String(), fmt.Sprintf("%s overlaps it and does not translate", &e.Rules[lost])})
		}
	}
	if len(kept) == len(e.Rules) {
		return text, true, nil
	}
	e.Rules, e.lost, e.Left = kept, nil, nil
	text, err = write(e)
	e.Left = left
	return text, true, err
}

// File returns the text of a permissions.jsonc with the rules.
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
		} else if m := members[i]; !slices.Contains(kinds, r.Tool) { // the last position counts
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

// Ordered returns the rules without those that a later rule for everything makes ineffective. Allows for whole tools
// come before the rules for kinds, whose denies they must not lift.
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

// Export holds the rules to write.
type Export struct {
	Rules   []permissions.Rule // compiled, in file order
	Servers []string           // names of the configured servers
	Home    string
	Left    []Left

	lost []*permissions.Rule // the denies and asks in Left
}

func (e *Export) leave(r *permissions.Rule, why string, args ...any) {
	if l := (Left{r.String(), fmt.Sprintf(why, args...)}); !slices.Contains(e.Left, l) { // one for several kinds
		e.Left = append(e.Left, l)
	}
	if r.Action != permissions.Allow {
		e.lost = append(e.lost, r)
	}
}

// kinds lists the kinds for which other programs have tools.
var kinds = []string{"shell_exec", "read_file", "write_file", "edit_file", "delete_file", "move_file", "glob", "grep", "web_fetch", "skill"}

const reasonCondition = "it has a condition or a highest risk, which the program cannot express"

// plain reports whether the rule has only an action, a tool and a pattern. Otherwise it lists the rule.
func (e *Export) plain(r *permissions.Rule) bool {
	if r.Capped || r.When != (permissions.When{}) {
		e.leave(r, reasonCondition)
		return false
	}
	return true
}

// groups finds @(a|b), which becomes {a,b}, because Texts can expand that.
var groups = lazyregexp.New(`@\(([^()\\]*)\)`)

// texts expands a rule's pattern into patterns whose only wildcard is `*`.
func texts(r *permissions.Rule) ([]string, bool) {
	return permissions.Texts(groups.ReplaceAllStringFunc(r.Effective(), func(g string) string {
		return "{" + strings.ReplaceAll(g[2:len(g)-1], "|", ",") + "}"
	}))
}

// texts expands a rule's pattern for a program without wildcards other than `*`. If that fails, it lists the rule.
func (e *Export) texts(r *permissions.Rule) []string {
	list, ok := texts(r)
	if !ok {
		e.leave(r, "the program does not know the pattern's wildcards")
	}
	return list
}

// commands calls emit with the first words of each command that the rule is for, for programs that have only such
// rules.
func (e *Export) commands(r *permissions.Rule, emit func(list []string)) {
	for _, value := range e.texts(r) {
		list, open, ok := words(value)
		switch {
		case !ok:
			e.leave(r, "the program's rules are the first words of a command")
		case !open && r.Action == permissions.Allow:
			e.leave(r, "in the program it would cover any further arguments: write %q", value+" *")
		default:
			emit(list)
		}
	}
}

// covers returns the kinds that the rule's tool matches. own means that it matches none, and so names tools of servers.
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

// strictest calls emit for the rules to write for a program without an order, in which a deny beats an ask and an ask
// beats an allow. It lists rules that would mean something else there. It emits an ask only if it overlaps an allow,
// because the program asks by default.
func (e *Export) strictest(emit func(*permissions.Rule)) {
	var asks []*permissions.Rule // emitted
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
				e.leave(later, "it is an exception to %s, but in the program the deny wins", r)
			}
		case permissions.Allow:
			if k := slices.IndexFunc(asks, func(ask *permissions.Rule) bool { return overlap(ask, r) }); k >= 0 {
				e.leave(r, "the program asks if %s matches too", asks[k])
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

// mcpTool splits a tool's name, or a pattern over names, after the name of a configured server.
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

// shortened replaces the home folder in a path by ~.
func (e *Export) shortened(path string) string {
	home := filepath.ToSlash(e.Home)
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return path
}

// words splits a command. open means that any arguments may follow. ok is false if a wildcard is elsewhere.
func words(text string) (list []string, open, ok bool) {
	text, open = strings.CutSuffix(text, " *")
	list = strings.Fields(text)
	return list, open, len(list) > 0 && !strings.Contains(text, "*")
}
