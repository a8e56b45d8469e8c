// Package lint finds rules of a permissions file that probably do not do what their author means.
package lint

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/spelling"
	"callgate/permissions"
	"callgate/permissions/internal/pattern"
)

// Severity says how certain it is that a finding is a mistake.
type Severity string

const (
	Warning Severity = "warning" // the rules probably do not say what their author means
	Note    Severity = "note"    // worth a look
)

// Problem is one finding.
type Problem struct {
	Check    string   `json:"check"` // stable, for programs: "shadowed", "lifted-deny", …
	Severity Severity `json:"severity"`
	Source   string   `json:"source"` // "path:line" of the rule
	Rule     string   `json:"rule"`
	Why      string   `json:"why"`
	Cure     string   `json:"cure"`
}

// Options tells Rules about kinds and tools. Rules skips checks that need missing members.
type Options struct {
	Kinds   []string // names of all kinds
	Servers []string // names of configured servers
	Tools   []Tool   // the tools of all servers; nil if unknown
}

// Tool is one tool that rules can be about.
type Tool struct {
	Name  string // qualified
	Kind  string // "" for none
	Bound bool   // the kind is certain; no rule can allow by a guessed kind
}

// Rules returns the problems of a file's rules, in file order. It is slow. The error names a rule that does not
// compile; rules from permissions.ParseFile always compile.
func Rules(rules []permissions.Rule, o Options) ([]Problem, error) {
	policy, err := permissions.NewPolicy(nil, rules, nil)
	if err != nil {
		return nil, err
	}
	l := &linter{options: o, policy: policy, rules: make([]rule, len(policy.File))}
	for i := range l.rules {
		if l.rules[i], err = compile(&policy.File[i]); err != nil {
			return nil, err
		}
	}
	for i := range l.rules {
		l.at = &l.rules[i]
		l.condition()
		if l.tool() && l.order(i) {
			l.values()
			l.shell()
		}
	}
	return l.found, nil
}

// rule is a rule of the policy with its compiled patterns.
type rule struct {
	*permissions.Rule
	tool    *pattern.Glob
	pattern *pattern.Value
}

func compile(r *permissions.Rule) (rule, error) {
	tool, err := pattern.Compile(r.Tool)
	if err != nil {
		return rule{}, err
	}
	value, err := pattern.CompileValue(r.Effective())
	return rule{r, tool, value}, err
}

// linter holds one run. at is the rule being checked.
type linter struct {
	options Options
	policy  *permissions.Policy
	rules   []rule
	at      *rule
	found   []Problem
}

func (l *linter) add(check string, severity Severity, why, cure string) {
	l.found = append(l.found, Problem{check, severity, l.at.Source, l.at.String(), why, cure})
}

// tool checks the rule's tool. It returns false if no other check makes sense.
func (l *linter) tool() bool {
	r := l.at
	if !l.canMatchTool(r.tool) {
		l.add("never-matches", Warning,
			fmt.Sprintf("%q is neither a kind nor the name of a tool, which is {server}_{tool}.", r.Tool),
			"Use one of the kinds ("+strings.Join(l.options.Kinds, ", ")+"), or a tool that callgate tools lists.")
		return false
	}
	for _, name := range namesIn(r.Tool) {
		meant := spelling.Tool(name, l.options.Kinds, l.options.Servers)
		if meant != "" && !slices.ContainsFunc(l.options.Tools, func(t Tool) bool { return t.Name == name }) {
			l.add("misspelled", Warning, fmt.Sprintf("%q is neither a kind nor a tool of a configured server: did you mean %q?", name, meant), "Correct the name. callgate tools lists tools.")
			return false
		}
	}
	if r.Action != permissions.Allow {
		return true
	}
	var guessed []string
	for _, t := range l.options.Tools {
		switch {
		case r.tool.Match(t.Name):
			return true
		case t.Kind == "" || !r.tool.Match(t.Kind):
		case t.Bound:
			return true
		default:
			guessed = append(guessed, t.Name)
		}
	}
	if len(guessed) > 0 {
		l.add("guessed-kind", Warning,
			fmt.Sprintf("callgate only guesses that these tools are of that kind (%s), and an allow by a guessed kind still asks.", list(guessed)),
			"Write a rule for the tools themselves below this one, or map them to the kind in callgate.yaml.")
	}
	return true
}

// namesIn returns the names in a rule's tool, including those of {read,write}_file; nil if it has other wildcards.
func namesIn(tool string) (names []string) {
	if strings.ContainsAny(tool, `*?[(\$`) {
		return nil
	}
	word, err := syntax.NewParser().Document(strings.NewReader(tool))
	if err != nil {
		return nil
	}
	syntax.SplitBraces(word)
	for w, err := range expand.BracesSeq(nil, word) {
		if err != nil {
			return nil
		}
		names = append(names, w.Lit())
	}
	return names
}

// condition looks for conditions on calls that no session can make.
func (l *linter) condition() {
	w := &l.at.When
	for _, p := range []struct {
		name    string
		past    permissions.Past
		outcome string
	}{{"after", w.After, "never holds"}, {"notAfter", w.NotAfter, "always holds"}, {"count", w.Count, "counts nothing"}} {
		if p.past == (permissions.Past{}) {
			continue
		}
		if tool, err := pattern.Compile(p.past.Tool); err == nil && !l.canMatchTool(tool) {
			l.add("condition", Warning, fmt.Sprintf("%q %s: %q is neither a kind nor the name of a tool, which is {server}_{tool}.", p.name, p.outcome, p.past.Tool),
				"Use one of the kinds ("+strings.Join(l.options.Kinds, ", ")+"), or a tool that callgate tools lists.")
		}
	}
}

// canMatchTool reports whether there is, or can be, a tool with a matching name or kind.
func (l *linter) canMatchTool(tool *pattern.Glob) bool {
	if slices.Contains(permissions.EffectKeys, tool.String()) {
		return true
	}
	if len(l.options.Kinds) == 0 || slices.ContainsFunc(l.options.Kinds, tool.Match) {
		return true
	}
	if l.options.Tools != nil {
		return slices.ContainsFunc(l.options.Tools, func(t Tool) bool { return tool.Match(t.Name) })
	}
	names := tool.Filled("_")
	return names == nil || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "_") })
}

// order checks the rules after this one. It returns false if they leave this rule nothing to decide.
func (l *linter) order(i int) bool {
	if winner := permissions.CoveredBy(l.policy.File, i); winner != nil {
		switch {
		case winner.Action == l.at.Action:
			l.add("shadowed", Note, fmt.Sprintf("It changes nothing: %s comes later, matches the same calls and says the same.", winner), "Remove it.")
		case l.at.Action == permissions.Deny:
			l.add("lifted-deny", Warning, fmt.Sprintf("It denies nothing: the last rule that matches wins, and %s comes later and matches the same calls.", winner), "Move it below that rule.")
		default:
			l.add("shadowed", Warning, fmt.Sprintf("It never decides: the last rule that matches wins, and %s comes later and matches the same calls.", winner), "Move it below that rule, or remove it.")
		}
		return false
	}
	if l.at.Action == permissions.Deny {
		l.lifted(i)
	}
	return true
}

// lifted looks for an allow that lifts a part of the deny at index i and is not meant as an exception to a deny.
func (l *linter) lifted(i int) {
	for k := i + 1; k < len(l.rules); k++ {
		r := &l.rules[k]
		if r.Action != permissions.Allow {
			continue
		}
		value, ok := l.at.pattern.Glob.Meets(r.pattern.Glob)
		if !ok || l.isException(k) || l.deniedAgain(k, value) ||
			r.tool.Match(permissions.ShellKind) && r.pattern.Overreaches(permissions.Form{value}, headWords(r.pattern.Glued)) {
			continue
		}
		tool, severity := l.sharedTool(l.at, r)
		if severity == "" {
			continue
		}
		l.add("lifted-deny", severity,
			fmt.Sprintf("The last rule that matches wins: %s comes later, and lets calls run that this rule denies, such as one of %s with the value %q.", r, tool, value),
			"Move it below that rule.")
		return
	}
}

// isException reports whether the allow at index k lies within a deny before it, as an exception does.
func (l *linter) isException(k int) bool {
	return slices.ContainsFunc(l.rules[:k], func(q rule) bool {
		return q.Action == permissions.Deny && q.pattern.Glob.String() != l.rules[k].pattern.Glob.String() && q.pattern.Covers(l.rules[k].pattern, true, false)
	})
}

// deniedAgain reports whether a rule after index k denies the value for everything that the rule at k is about.
func (l *linter) deniedAgain(k int, value string) bool {
	return slices.ContainsFunc(l.rules[k+1:], func(q rule) bool {
		return q.Action <= permissions.Confirm && q.tool.Covers(l.rules[k].tool) && q.pattern.Glob.Match(value)
	})
}

// sharedTool returns a tool that both rules are about, and how certain that is. Both are "" if they share none.
func (l *linter) sharedTool(r, q *rule) (string, Severity) {
	for _, kind := range l.options.Kinds {
		if r.tool.Match(kind) && q.tool.Match(kind) {
			return kind, Warning
		}
	}
	for _, t := range l.options.Tools {
		if appliesTo(r, t) && appliesTo(q, t) {
			return t.Name, Warning
		}
	}
	if l.options.Tools != nil {
		return "", ""
	}
	if name, ok := r.tool.Meets(q.tool); ok {
		return name, Warning
	}
	// One rule is about a kind, the other about names. Whether a named tool is of that kind depends on the servers.
	for _, kind := range l.options.Kinds {
		if r.tool.Match(kind) && isOpen(q.tool) {
			return fmt.Sprintf("a tool %s that is of the kind %s", q.Tool, kind), Note
		}
	}
	return "", ""
}

// isOpen reports whether the pattern, or the first of its alternatives, is more than one name.
func isOpen(tool *pattern.Glob) bool {
	names := tool.Filled("\x00")
	return names == nil || strings.Contains(names[0], "\x00")
}

func appliesTo(r *rule, t Tool) bool {
	return r.tool.Match(t.Name) || t.Kind != "" && r.tool.Match(t.Kind)
}

// values checks the pattern of a rule for kinds other than the shell.
func (l *linter) values() {
	r := l.at
	text := r.Pattern
	name := pattern.ArgumentName(text)
	isKind := slices.Contains(l.options.Kinds, r.Tool)
	if isKind && name != "" && r.Tool != permissions.ShellKind && r.Tool != permissions.FetchKind && r.Tool != "resource_read" {
		l.add("never-matches", Warning,
			fmt.Sprintf("It names the argument %q, but a rule for a kind looks at values, such as paths and names.", strings.TrimSuffix(name, "=")),
			"Write the rule for the tool itself, or leave out the argument's name.")
		return
	}
	if isKind {
		l.foreign(text)
	}
	anywhere := strings.HasPrefix(text, "*") && strings.HasSuffix(text, "*")
	if r.Tool == permissions.FetchKind && !strings.Contains(text, "://") && !r.pattern.All && !anywhere && text[0] != '!' {
		host := strings.TrimSuffix(strings.TrimLeft(text, "*."), "/*")
		l.add("never-matches", Warning, "An address begins with its scheme, and has a path after its host.",
			fmt.Sprintf("Write %q for the host, and %q for its subdomains.", "*://"+host+"/*", "*://*."+host+"/*"))
		return
	}
	if !slices.ContainsFunc(permissions.PathKinds, r.tool.Match) || r.tool.Match(permissions.ShellKind) {
		return
	}
	l.paths()
}

// paths checks a pattern of paths.
func (l *linter) paths() {
	r, text := l.at, l.at.Pattern
	plain := pattern.Path(text, false)
	switch {
	case strings.HasPrefix(plain, "../") || strings.Contains(plain, "/../"):
		l.add("never-matches", Warning, `A path that rules look at has no "..".`, "Write it from /, ~/ or $WORKSPACE/.")
	case strings.HasPrefix(text, "${") || strings.HasPrefix(text, "~") && !strings.HasPrefix(text, "~/"):
		l.add("never-matches", Warning, "Only ~/, $HOME/ and $WORKSPACE/ mean folders.", "Begin with one of these, or write the whole path.")
	case strings.HasSuffix(text, "/") && r.Action > permissions.Confirm:
		l.add("never-matches", Warning, "A path never ends in a slash.", fmt.Sprintf("Write %q for everything in the folder.", text+"**"))
	case r.Action <= permissions.Confirm && !strings.ContainsAny(text, `/\[]*?{}()!`) && text != permissions.WorkspaceVariable && text != ".":
		l.add("narrow", Warning,
			fmt.Sprintf("It covers %q only at the top of the workspace, and not in the folders below it.", text),
			fmt.Sprintf("Write %q to cover it in every folder.", "**/"+text))
	}
}

// foreign looks for patterns written as regular expressions, or with an unclosed bracket.
func (l *linter) foreign(text string) {
	_, open, _ := strings.Cut(text, "[")
	switch {
	case strings.HasPrefix(text, "^"), strings.HasSuffix(text, "$") && len(text) > 1, strings.HasSuffix(text, ".*") && l.at.tool.Match(permissions.ShellKind) && !strings.ContainsAny(strings.TrimSuffix(text, "*"), "/*?[{"):
		l.add("regular-expression", Warning, "It reads like a regular expression, but patterns are globs: ^, $ and . stand for themselves.", "Write * for any text, and leave ^ and $ out: a pattern matches the whole value.")
	case strings.Contains(text, "[") && !strings.Contains(open, "]") && !l.at.tool.Match(permissions.ShellKind):
		l.add("bracket", Warning, "The [ is not closed, so it stands for itself.", `Close it, or write \\[ for the sign.`)
	}
}

// list joins names for a sentence and shortens a long list.
func list(names []string) string {
	const limit = 4
	if n := len(names); n > limit {
		return strings.Join(names[:limit], ", ") + fmt.Sprintf(" and %d more", n-limit)
	}
	return strings.Join(names, ", ")
}
