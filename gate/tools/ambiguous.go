package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/internal/lazyregexp"
)

// readsPacked reports whether servers are known to parse a text as JSON where they expect an argument of the role: a
// list of paths that came as one text, for example.
func readsPacked(r Role) bool {
	switch r {
	case kinds.ReadPath, kinds.ReadFolder, kinds.WritePath, kinds.DeletePath, kinds.ListFolder, kinds.PatternPath, kinds.Command, kinds.URL, kinds.URLText, kinds.URI, kinds.Name, kinds.Revision:
		return true
	}
	return false
}

// packed looks at the texts inside a text of an argument, in the argument's own role. Some servers parse such a text
// and others take it as it is, so it must be harmless either way.
func (b *builder) packed(a arguments.Argument, role Role, s string) {
	if !readsPacked(role) || !arguments.LooksPacked(s) {
		return
	}
	inner := arguments.Unpacked(s)
	if len(inner) == 0 && (role == kinds.Command || !strings.ContainsAny(s, `"'`)) {
		return // a word in brackets is a name like any other, and shells have braces and quotes of their own
	}
	b.record.mark("ambiguous", fmt.Sprintf("The argument %s is a text that contains others: some servers read it as a list.", wording.Quote(a.Name)))
	for _, text := range inner {
		if !b.record.count() {
			return
		}
		b.value(role, text)
	}
}

// idWords lists words at the end of the names of arguments that identify a thing and carry no text.
var idWords = wording.Set(`id uid uuid udid gid key slug name namespace owner repo repository org organization project workspace branch ref sha
	revision tag path file filename filepath dirpath folder container pod node cluster region zone bucket table collection database schema app
	application service host hostname device channel user username board queue topic stream index version resource kind type`)

// behindSeparator finds the words of a text that a shell would take for programs, after the end of a command.
var behindSeparator = lazyregexp.New(`(?:[;|\n]|&&)\s*(?:/[\w./-]*/)?([a-z][a-z0-9_.-]*)`)

// escapes marks an argument that names a thing and would mean more to a shell, or leads up in a path: servers have put
// such names into commands and addresses as they came.
func (b *builder) escapes(name string, raw []byte, depth int) {
	if kind := kindOf(raw); kind == '{' || kind == '[' {
		inner, ok := arguments.Members(raw)
		for i := 0; ok && depth < arguments.MaxDepth && i < len(inner); i++ {
			inner[i].Name = cmp.Or(inner[i].Name, name)
			b.escapes(inner[i].Name, inner[i].Value, depth+1)
		}
		return
	}
	words := wordsOf(name)
	s, ok := arguments.Text(raw)
	if !ok || len(words) == 0 {
		return
	}
	if last := words[len(words)-1]; !idWords[last] && !idWords[strings.TrimSuffix(last, "s")] {
		return
	}
	switch s = workspace.PercentDecoded(s); {
	case strings.Contains(s, "$(") || strings.Count(s, "`") > 1 || runsBehind(s):
		b.record.mark("ambiguous", fmt.Sprintf("The argument %s names something, and contains what a shell would run.", wording.Quote(name)))
	case leadsUp(s):
		b.record.mark("ambiguous", fmt.Sprintf("The argument %s names something, and leads up in a path.", wording.Quote(name)))
	}
}

// runsBehind reports whether a known program stands where a shell would begin a second command of the text.
func runsBehind(s string) bool {
	return strings.ContainsAny(s, ";|\n&") &&
		slices.ContainsFunc(behindSeparator.FindAllStringSubmatch(s, 16), func(m []string) bool { return commands.Known(m[1]).Name != "" })
}

// leadsUp reports whether a text has ".." as a part of a path.
func leadsUp(s string) bool {
	return slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}
