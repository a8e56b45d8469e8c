package tools

import (
	"fmt"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/internal/lazyregexp"
)

// idWords end the names of arguments that say which thing a call is about, and carry no text.
var idWords = wording.Set(`id uid uuid udid gid key slug name namespace owner repo repository org organization project workspace branch ref sha
	revision tag path file filename filepath dirpath folder container pod node cluster region zone bucket table collection database schema app
	application service host hostname device channel user username board queue topic stream index version resource kind type`)

// behindSeparator finds the words that a shell would run of a text whose beginning ends a command.
var behindSeparator = lazyregexp.New(`(?:[;|\n]|&&)\s*([a-z][a-z0-9_.-]*)`)

// escapes marks an argument that names a thing and would mean more to a shell, or leads up in a path: servers have put
// such names into commands and addresses as they came.
func (b *builder) escapes(name string, raw []byte, depth int) {
	if kind := kindOf(raw); kind == '{' || kind == '[' {
		inner, ok := arguments.Members(raw)
		for i := 0; ok && depth < arguments.MaxDepth && i < len(inner); i++ {
			if inner[i].Name == "" {
				inner[i].Name = name
			}
			b.escapes(inner[i].Name, inner[i].Value, depth+1)
		}
		return
	}
	words := wordsOf(name)
	if len(words) == 0 || !idWords[words[len(words)-1]] && !idWords[strings.TrimSuffix(words[len(words)-1], "s")] {
		return
	}
	s, ok := arguments.Text(raw)
	if !ok {
		return
	}
	switch s = workspace.PercentDecoded(s); {
	case strings.Contains(s, "$(") || strings.Count(s, "`") > 1 || runsBehind(s):
		b.record.mark("ambiguous", fmt.Sprintf("The argument %s names something, and holds what a shell would run.", wording.Quote(name)))
	case leadsUp(s):
		b.record.mark("ambiguous", fmt.Sprintf("The argument %s names something, and leads up in a path.", wording.Quote(name)))
	}
}

// runsBehind reports whether a known program stands where a shell would begin a command within the text.
func runsBehind(s string) bool {
	if !strings.ContainsAny(s, ";|\n&") {
		return false
	}
	for _, m := range behindSeparator.FindAllStringSubmatch(s, 16) {
		if commands.Known(m[1]).Name != "" {
			return true
		}
	}
	return false
}

// leadsUp reports whether a text has ".." as a part of a path.
func leadsUp(s string) bool {
	if !strings.Contains(s, "..") {
		return false
	}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." && len(s) > 2 {
			return true
		}
	}
	return false
}
