package tools

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
)

// sentences holds the summaries of the kinds that one argument describes.
var sentences = map[string]struct {
	before string
	roles  []Role
	after  string
}{
	KindReadFile:     {"Read ", []Role{kinds.ReadPath}, "."},
	KindEditFile:     {"Edit ", []Role{kinds.WritePath, kinds.DeletePath}, "."},
	KindDeleteFile:   {"Delete ", []Role{kinds.DeletePath}, "."},
	KindGrep:         {"Search the files in ", []Role{kinds.ReadFolder}, "."},
	KindFetch:        {"Fetch ", []Role{kinds.URL}, "."},
	KindSkill:        {"Use the skill ", []Role{kinds.Name}, "."},
	KindProcessInput: {"Send ", []Role{kinds.Input}, " to a running process."},
	KindSampling:     {"Let the server ", []Role{kinds.Name}, " ask the host's model."},
}

// summary returns one or two sentences that say what the call does. Every word from the call or the server is escaped,
// quoted and bounded, so that it cannot change what the summary says.
func (b *record) summary() string {
	var s string
	switch b.tool.Kind {
	case KindWriteFile:
		s = "Write " + b.quoted(kinds.WritePath) + b.size("content") + "."
	case KindMoveFile:
		s = "Move " + b.quoted(kinds.DeletePath) + " to " + b.quoted(kinds.WritePath) + "."
	case KindGlob:
		s = "List files"
		if b.has(kinds.PatternPath) {
			s += " that match " + b.quoted(kinds.PatternPath)
		}
		if b.has(kinds.ListFolder) || b.has(kinds.ReadFolder) {
			s += " in " + b.quoted(kinds.ListFolder, kinds.ReadFolder)
		}
		s += "."
	case KindShell:
		s = b.shellSummary()
	case KindResource:
		s = "Read the resource " + b.quoted(kinds.URI) + b.ofServer() + "."
	case KindPrompt:
		s = "Get the prompt " + b.quoted(kinds.Name) + b.ofServer() + "."
	case KindConnect:
		s = "Let the server " + wording.Quote(b.tool.Server) + " connect to " + b.quoted(kinds.Name) + "."
	case kinds.KindSandboxRead:
		s = "Let the server " + wording.Quote(b.tool.Server) + ", whose sandbox refused it, read " + b.quoted(kinds.Name) + " from its next start on."
	case kinds.KindSandboxWrite:
		s = "Let the server " + wording.Quote(b.tool.Server) + ", whose sandbox refused it, change " + b.quoted(kinds.Name) + " from its next start on."
	default:
		if line, ok := sentences[b.tool.Kind]; ok {
			s = line.before + b.quoted(line.roles...) + line.after
			break
		}
		s = "Call " + wording.Quote(b.tool.Name) + b.ofServer() + b.given() + "."
	}
	if b.tool.remote {
		s = "On another machine: " + s
	}
	return truncated(s, wording.MaxSummary)
}

// shellSummary names the commands and the files that they write.
func (b *record) shellSummary() string {
	var s string
	switch {
	case b.has(kinds.Input) && !b.has(kinds.Command):
		return "Send " + b.quoted(kinds.Input) + " to a running process."
	case b.has(kinds.Code) && !b.has(kinds.Command):
		s = "Run the program text " + b.quoted(kinds.Code)
	case len(b.out.Commands) > 1:
		s = fmt.Sprintf("Run %d commands: %s", len(b.out.Commands), b.quoted(kinds.Command))
	default:
		s = "Run " + b.quoted(kinds.Command)
	}
	if b.has(kinds.Dir) {
		s += " in " + b.quoted(kinds.Dir)
	}
	s += "."
	var written []string
	for _, c := range b.out.Commands {
		written = append(written, c.Writes...)
	}
	if len(written) > 0 {
		s += " It writes " + enumerated(written) + "."
	}
	for _, why := range b.why {
		s += " It " + why + "."
	}
	return s
}

// given lists the values that were noted, for a tool without kind.
func (b *record) given() string {
	list := make([]string, 0, len(b.noted))
	for _, n := range b.noted {
		list = append(list, n.text)
	}
	if len(list) == 0 {
		return ""
	}
	return " with " + enumerated(list)
}

func (b *record) ofServer() string {
	if b.tool.Server == "" {
		return ""
	}
	return " of the server " + wording.Quote(b.tool.Server)
}

// size returns how long a text argument is, for a sentence, or "".
func (b *record) size(name string) string {
	for _, a := range b.list {
		if a.Name == name && len(a.Value) > 1 && a.Value[0] == '"' {
			if n := textSize(a.Value[1 : len(a.Value)-1]); n != 1 {
				return fmt.Sprintf(" (%d bytes)", n)
			}
			return " (1 byte)"
		}
	}
	return ""
}

// textSize returns how many bytes of UTF-8 a JSON string without its quotes stands for.
func textSize(text []byte) int {
	n := len(text)
	for {
		i := bytes.IndexByte(text, '\\')
		switch {
		case i < 0:
			return n
		case text[i+1] != 'u':
			n, text = n-1, text[i+2:]
			continue
		}
		code, _ := strconv.ParseUint(string(text[i+2:i+6]), 16, 16) // valid JSON
		size := 2                                                   // half of a surrogate pair
		if r := rune(code); !utf16.IsSurrogate(r) {
			size = utf8.RuneLen(r)
		}
		n, text = n-len(`\u0000`)+size, text[i+6:]
	}
}

func (b *record) has(role Role) bool {
	return slices.ContainsFunc(b.noted, func(n note) bool { return n.role == role })
}

// quoted returns the noted values of the roles, or says that there are none.
func (b *record) quoted(roles ...Role) string {
	var list []string
	for _, n := range b.noted {
		for _, r := range roles {
			if n.role == r {
				list = append(list, n.text)
			}
		}
	}
	if len(list) == 0 {
		return "something that the call does not name"
	}
	return enumerated(list)
}

// enumerated quotes up to three values and counts the rest.
func enumerated(list []string) string {
	const shown = 3
	var b strings.Builder
	for i, s := range list {
		switch {
		case i == shown:
			fmt.Fprintf(&b, " and %d more", len(list)-shown)
			return b.String()
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(wording.Quote(s))
	}
	return b.String()
}

// truncated cuts a sentence that is already escaped.
func truncated(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
