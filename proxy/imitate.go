package proxy

import (
	"net/url"
	"strings"

	"golang.org/x/text/unicode/norm"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/proxy/internal/catalogue"
)

// namesCallgate reports whether a person may read callgate's name in a text: in other letters, split up or
// with characters in it that nobody sees.
func namesCallgate(text string) bool {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, catalogue.LookAlikes.Replace(strings.ToLower(norm.NFKD.String(text))))
	return strings.Contains(text, "callgate")
}

// posesAsCallgate reports whether a text begins with callgate's name, or has it as a label: "callgate: approve?",
// "[Callgate] approve?". A signed message may speak of callgate otherwise.
func posesAsCallgate(text string) bool {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r
		case strings.ContainsRune(":]>)}|", r):
			return ':'
		}
		return -1
	}, catalogue.LookAlikes.Replace(strings.ReplaceAll(strings.ToLower(norm.NFKD.String(text)), "|", ":")))
	return strings.HasPrefix(strings.TrimLeft(text, ":"), "callgate") || strings.Contains(text, "callgate:")
}

// imitates says why an elicitation of a server could pass for callgate's own; "" when it cannot. Its message is
// signed with the server's name and escaped, and may speak of callgate. What a form says elsewhere is not signed.
func imitates(params []byte) (why string) {
	var message [1]jsonx.Member
	if err := jsonx.Members(params, []string{"message"}, message[:]); err != nil {
		return "It cannot be read: " + err.Error() + "."
	}
	unsigned := params
	if message[0].Value != nil {
		unsigned = jsonx.Splice(params, jsonx.Edit{Start: message[0].Start, End: message[0].End(), With: []byte("null")})
		text, _ := jsonx.String(message[0].Value)
		if strings.ContainsAny(text, lineEnds) && namesCallgate(text) || posesAsCallgate(text) {
			return "Its message could pass for callgate's own."
		}
	}
	for text := range jsonx.Strings(unsigned) {
		if namesCallgate(text) {
			return "It names callgate outside of the message that is signed."
		}
		if tools.Visible(strings.Map(withoutLayout, text)) != strings.Map(withoutLayout, text) {
			return "It has characters that nobody sees, or that change how others look, outside of its message."
		}
	}
	return ""
}

const lineEnds = "\n\r\v\f\u0085\u2028\u2029"

// withoutLayout drops what longer descriptions are laid out with.
func withoutLayout(r rune) rune {
	if r == '\n' || r == '\r' || r == '\t' {
		return -1
	}
	return r
}

// oneVisibleLine is a server's text as a person may see it behind the server's name: on that line, and with nothing
// that moves, hides or clears it.
func oneVisibleLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(lineEnds, r) })
	return tools.Visible(strings.Join(lines, " ⏎ "))
}

// astray says why a host must not lead its person where an elicitation wants; "" when that is a page of the web, or there
// is no address. Other schemes start programs, run scripts or open files, and a name in front of the host is read as it.
func astray(params []byte) (why string) {
	var m [1]jsonx.Member
	if err := jsonx.Members(params, []string{"url"}, m[:]); err != nil {
		return "It cannot be read: " + err.Error() + "."
	}
	if m[0].Value == nil {
		return ""
	}
	text, ok := jsonx.String(m[0].Value)
	u, err := url.Parse(text)
	if !ok || err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return "It leads to an address that is no page of the web."
	}
	return ""
}
