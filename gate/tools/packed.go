package tools

import (
	"fmt"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
)

// readsPacked reports whether servers are known to read a text where an argument of the role is expected as the
// JSON that it holds: a list of paths that came as one text, say.
func readsPacked(r Role) bool {
	switch r {
	case kinds.ReadPath, kinds.ReadFolder, kinds.WritePath, kinds.DeletePath, kinds.ListFolder, kinds.PatternPath, kinds.Command, kinds.URL, kinds.URLText, kinds.URI, kinds.Name, kinds.Revision:
		return true
	}
	return false
}

// packed looks at texts inside an argument's JSON text, in the argument's own role. Some servers parse such a text and
// others take it as it is, so it must be harmless either way.
func (b *builder) packed(a arguments.Argument, role Role, s string) {
	if !readsPacked(role) || !arguments.LooksPacked(s) {
		return
	}
	inner := arguments.Unpacked(s)
	if len(inner) == 0 && (role == kinds.Command || !strings.ContainsAny(s, `"'`)) {
		return // a word in brackets is a name like any other, and shells have braces and quotes of their own
	}
	b.record.mark("ambiguous", fmt.Sprintf("The argument %s is a text that holds others: some servers read it as a list.", wording.Quote(a.Name)))
	for _, text := range inner {
		if !b.record.count() {
			return
		}
		b.value(role, text)
	}
}
