// Package pattern compiles the patterns of rules and grants, reports what they match and cover, and finds the patterns
// of a long list that can match. A pattern that it leaves out MUST NOT match.
package pattern

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// Value is the compiled pattern of a rule or grant: a glob over a value and, if its text has the form "arg=glob", also
// a glob over an argument.
type Value struct {
	Glob     *Glob            // over the value
	argument *argumentPattern // nil if the text has another form
	whole    string           // the text as spelled by Exactly, if it is a JSON object; else ""
	All      bool             // it matches every value
	needs    signature        // the signature that every matching form has, including arguments
	parts    []*Value         // the alternatives, if without braces the pattern would be text and `*`
	Glued    string           // the text before a final star that continues a word; "" for other patterns
	spelled  []starPattern    // what the value pattern spells out, see Spells
	tail     bool             // it ends in " *": it matches with any arguments and without
	Bare     string           // the text of a pattern without wildcards; "" for other patterns
	bareHead signature        // the signature of every text that begins with Bare
}

// argumentPattern is the reading "a.b=glob": the argument at that path.
type argumentPattern struct {
	path []string
	glob *Glob
}

var argumentSyntax = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*=`)

// ArgumentName returns the head "a.b=" of a text of the form "arg=glob", or "" for other texts.
func ArgumentName(text string) string { return argumentSyntax.FindString(text) }

// CompileValue compiles the pattern of a rule or grant.
func CompileValue(text string) (*Value, error) {
	value, err := Compile(text)
	if err != nil {
		return nil, err
	}
	p := newValue(text, value)
	p.parts = partsOf(text)
	if strings.HasPrefix(p.Bare, "{") {
		if p.whole, _ = Exactly([]byte(p.Bare)); p.whole != "" {
			p.needs = signature{} // the arguments can spell the same object differently
		}
	}
	if name := ArgumentName(text); name != "" {
		glob, err := Compile(text[len(name):])
		if err != nil {
			return nil, err
		}
		p.needs = p.needs.and(glob.needs) // it can match by an argument, whatever the form is
		p.argument = &argumentPattern{strings.Split(strings.TrimSuffix(name, "="), "."), glob}
	}
	return p, nil
}

// newValue returns the compiled value pattern. It does not read arguments or a JSON object.
func newValue(text string, value *Glob) *Value {
	p := &Value{Glob: value, All: value.All(), needs: value.needs, Glued: gluedStar(text),
		spelled: value.spelling(), tail: strings.HasSuffix(text, " *")}
	if value.IsLiteral() {
		p.Bare = value.simple[0].parts[0]
		p.bareHead.addText(p.Bare)
		p.bareHead.addPair(edge, p.Bare[0])
	}
	return p
}

// Alternatives returns patterns that together match what p matches.
func (p *Value) Alternatives() []*Value {
	if len(p.parts) > 0 {
		return p.parts
	}
	return []*Value{p}
}

// maxParts limits how many alternatives of a pattern are kept as separate patterns.
const maxParts = 200

// partsOf returns the patterns that text means with its braces expanded, or nil if they would not mean the same.
func partsOf(text string) (parts []*Value) {
	if !strings.Contains(text, "{") || strings.ContainsAny(text, `\([|"`) || text[0] == '!' || argumentSyntax.MatchString(text) {
		return nil
	}
	for _, t := range bracesOut(text) {
		glob, err := Compile(t)
		if err != nil || glob.simple == nil {
			return nil
		}
		parts = append(parts, newValue(t, glob))
	}
	return parts
}

// bracesOut expands the braces of text. It returns nil if an alternative could mean something else outside the braces,
// or if there are too many.
func bracesOut(text string) []string {
	open := strings.IndexByte(text, '{')
	if open < 0 {
		return []string{text}
	}
	alternatives, end, ok := split(text, open, ',')
	if !ok || len(alternatives) < 2 || strings.HasSuffix(text[:open], "*") || strings.HasPrefix(text[end:], "**") {
		return nil
	}
	var list []string
	for _, a := range alternatives {
		if a == "" || strings.Contains(a, "**") || strings.HasPrefix(a, "!") || strings.HasPrefix(a, "*") || strings.HasSuffix(a, "*") || strings.HasSuffix(a, " ") || strings.ContainsAny(a, "?{}") {
			return nil
		}
		rest := bracesOut(a + text[end:])
		if rest == nil {
			return nil
		}
		for _, r := range rest {
			if r = text[:open] + r; r == "" || r[0] == ' ' {
				return nil
			}
			list = append(list, r)
		}
		if len(list) > maxParts {
			return nil
		}
	}
	return list
}

// HasArgument reports whether the text has the form "arg=glob".
func (p *Value) HasArgument() bool { return p.argument != nil }

// Matches reports whether the pattern matches a form, which is one value in all its spellings. If there is no value,
// only a pattern that matches every value matches. If the subject has arguments, "arg=glob" is about the argument: a
// rule that tightens then matches by either reading, a rule that loosens by the argument alone. A JSON object without
// wildcards is about all arguments, however they are spelled.
func (p *Value) Matches(form []string, args *Arguments, tightens bool) bool {
	if p.argument != nil && args.present() {
		if p.argument.matches(args, tightens) {
			return true
		}
		if !tightens {
			return false
		}
	}
	if p.whole != "" && args.present() {
		if exact, ok := args.exactly(); ok && exact == p.whole || !ok && tightens {
			return true
		}
	}
	if len(form) == 0 {
		return p.All
	}
	return slices.ContainsFunc(form, p.Glob.Match)
}

// gluedStar returns the literal text before a final star that continues its last word.
func gluedStar(pattern string) string {
	text, ok := strings.CutSuffix(pattern, "*")
	if !ok || text == "" || strings.ContainsAny(text, `*?[]{}()\!+@`) {
		return ""
	}
	if last := text[len(text)-1]; last == '/' || last == ':' || last == '=' || last == ' ' {
		return "" // here the author ended the word: ./scripts/* and test:*
	}
	return text
}

// Overreaches reports whether the pattern matches the command only by continuing one of the first head words, which
// name it: "ls*" is about ls and its arguments, not about lsof.
func (p *Value) Overreaches(form []string, head int) bool {
	if p.Glued == "" || head == 0 || strings.Count(p.Glued, " ")+1 > head {
		return false
	}
	for _, v := range form {
		rest, ok := strings.CutPrefix(v, p.Glued)
		if ok && (rest == "" || rest[0] == ' ') {
			return false
		}
	}
	return true
}

// Begins reports whether the pattern is the bare name of the command, which its first head words are: a deny on "yarn"
// or "git push" holds with any arguments.
func (p *Value) Begins(form []string, head int) bool {
	if p.Bare == "" || p.argument != nil || strings.Count(p.Bare, " ") >= max(head, 1) {
		return false
	}
	for _, v := range form {
		if rest, ok := strings.CutPrefix(v, p.Bare); ok && rest != "" && rest[0] == ' ' {
			return true
		}
	}
	return false
}

func (p *argumentPattern) matches(args *Arguments, tightens bool) bool {
	root, ok := args.decoded()
	if !ok {
		return tightens // treat unreadable arguments as holding what the rule forbids, and not what it allows
	}
	return p.matchesNode(root, p.path, tightens)
}

// matchesNode judges the value at path below node. Strings are compared decoded; numbers, true, false and null as
// written. A rule that tightens matches if any element of an array does, or any member of an object. A rule that
// loosens needs every element, and never matches an object or an empty array. An absent argument matches nothing.
func (p *argumentPattern) matchesNode(node any, path []string, tightens bool) bool {
	if list, ok := node.([]any); ok {
		for _, element := range list {
			if p.matchesNode(element, path, tightens) == tightens {
				return tightens
			}
		}
		return !tightens && len(list) > 0
	}
	object, isObject := node.(map[string]any)
	switch {
	case len(path) > 0:
		child, ok := object[path[0]] // if node is not an object, the map is nil and has no members
		return ok && p.matchesNode(child, path[1:], tightens)
	case isObject:
		if tightens {
			for _, member := range object {
				if p.matchesNode(member, nil, tightens) {
					return true
				}
			}
		}
		return false
	}
	return p.glob.Match(scalarText(node))
}
