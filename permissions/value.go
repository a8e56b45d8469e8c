package permissions

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// valuePattern is a compiled Rule.Pattern or Grant.Pattern: a glob over a value, and where its text has the
// form "arg=glob", a glob over an argument as well.
type valuePattern struct {
	value    *Glob
	argument *argumentPattern // nil when the text has another form
	all      bool             // matches every value whatever it is
	needs    signature        // of every form, with the arguments, that the pattern matches
	parts    []*valuePattern  // the alternatives, where braces are all that keeps the pattern from being text and `*`
	glued    string           // what stands before a final star that no blank sets apart, "" for other patterns
	spelled  []starPattern    // what the value pattern spells out, see spells
	tail     bool             // it ends in " *", so that it means any arguments where there are none, too
	bare     string           // the text of a pattern without wildcards, "" for other patterns
	bareHead signature        // of every text that begins with it
}

// argumentPattern is the reading "a.b=glob": the argument at that path.
type argumentPattern struct {
	path []string
	glob *Glob
}

var argumentSyntax = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*=`)

func compileValue(text string) (*valuePattern, error) {
	value, err := CompileGlob(text)
	if err != nil {
		return nil, err
	}
	p := newValue(text, value)
	p.parts = partsOf(text)
	if name := argumentSyntax.FindString(text); name != "" {
		glob, err := CompileGlob(text[len(name):])
		if err != nil {
			return nil, err
		}
		p.needs = p.needs.and(glob.needs) // it can match an argument, whatever the form is
		p.argument = &argumentPattern{strings.Split(strings.TrimSuffix(name, "="), "."), glob}
	}
	return p, nil
}

// newValue is the compiled pattern without what its form means.
func newValue(text string, value *Glob) *valuePattern {
	p := &valuePattern{value: value, all: value.matchesAll(), needs: value.needs, glued: gluedStar(text),
		spelled: value.spelling(), tail: strings.HasSuffix(text, " *")}
	if value.isLiteral() {
		p.bare = value.simple[0].parts[0]
		p.bareHead.addText(p.bare)
		p.bareHead.addPair(edge, p.bare[0])
	}
	return p
}

// alternatives returns patterns that together match what p does.
func (p *valuePattern) alternatives() []*valuePattern {
	if len(p.parts) > 0 {
		return p.parts
	}
	return []*valuePattern{p}
}

// literals returns what every text that matches holds, for each thing that the pattern may be about.
func (p *valuePattern) literals() [][]string {
	if p.argument != nil {
		return [][]string{p.argument.glob.literals(), p.value.literals()}
	}
	return [][]string{p.value.literals()}
}

// maxParts bounds how many alternatives of a pattern are looked at one by one.
const maxParts = 200

// partsOf returns the patterns that text means when its braces are written out, nil where that would not be the same.
func partsOf(text string) (parts []*valuePattern) {
	if !strings.Contains(text, "{") || strings.ContainsAny(text, `\([|"`) || text[0] == '!' || argumentSyntax.MatchString(text) {
		return nil
	}
	for _, t := range bracesOut(text) {
		glob, err := CompileGlob(t)
		if err != nil || glob.simple == nil {
			return nil
		}
		parts = append(parts, newValue(t, glob))
	}
	return parts
}

// bracesOut writes the braces of text out, nil where an alternative could read differently outside of them or there are
// too many.
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

// matches reports whether the pattern covers a form. With no value at all, only a pattern that matches every
// value does. Where the subject has arguments, "arg=glob" speaks of the argument; a rule that tightens
// matches by either reading then, one that loosens by the argument alone.
func (p *valuePattern) matches(form Form, args *arguments, tightens bool) bool {
	if p.argument != nil && args.present() {
		if p.argument.matches(args, tightens) {
			return true
		}
		if !tightens {
			return false
		}
	}
	if len(form) == 0 {
		return p.all
	}
	return slices.ContainsFunc(form, p.value.Match)
}

// gluedStar returns the literal text before a final star that continues its last word.
func gluedStar(pattern string) string {
	text, ok := strings.CutSuffix(pattern, "*")
	if !ok || text == "" || strings.ContainsAny(text, `*?[]{}()\!+@`) {
		return ""
	}
	if last := text[len(text)-1]; last == '/' || last == ':' || last == '=' || last == ' ' {
		return "" // the word ends where the person ended it: ./scripts/* and test:*
	}
	return text
}

// overreaches reports whether the pattern matches the command, whose first head words name it, only by
// continuing one of these words: "ls*" is then about ls and whatever follows it, not about lsof.
func (p *valuePattern) overreaches(form Form, head int) bool {
	if p.glued == "" || head == 0 || strings.Count(p.glued, " ")+1 > head {
		return false
	}
	for _, v := range form {
		rest, ok := strings.CutPrefix(v, p.glued)
		if ok && (rest == "" || rest[0] == ' ') {
			return false
		}
	}
	return true
}

// begins reports whether the pattern is the bare name of the command, whose first head words name it: a deny on
// "yarn" or "git push" means that with any arguments.
func (p *valuePattern) begins(form Form, head int) bool {
	if p.bare == "" || p.argument != nil || strings.Count(p.bare, " ") >= max(head, 1) {
		return false
	}
	for _, v := range form {
		if rest, ok := strings.CutPrefix(v, p.bare); ok && rest != "" && rest[0] == ' ' {
			return true
		}
	}
	return false
}

func (p *argumentPattern) matches(args *arguments, tightens bool) bool {
	root, ok := args.decoded()
	if !ok {
		return tightens // arguments that cannot be read hold what the rule forbids, not what it allows
	}
	return p.matchesNode(root, p.path, tightens)
}

// matchesNode judges what lies at path below node. Text compares decoded, numbers, true, false and null by
// how they are written. A rule that tightens matches when any element of an array does, and any member of
// an object; a rule that loosens needs every element, and never matches an object or an empty array. An
// argument that is absent matches nothing.
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
		child, ok := object[path[0]] // a nil map, when node is no object, has no members
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
