// Package provenance keeps what a server says apart from what callgate says. It signs servers' questions, and stops
// those that could pass for callgate's own.
package provenance

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy/internal/catalogue"
)

// NamesCallgate reports whether a person may read callgate's name in a text: in other letters, split up, or with
// invisible characters in it.
func NamesCallgate(text string) bool {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, catalogue.LookAlikes.Replace(strings.ToLower(norm.NFKD.String(text))))
	return strings.Contains(text, "callgate")
}

// posesAsCallgate reports whether a text begins with callgate's name, or has it as a label: "callgate: approve?",
// "[Callgate] approve?". Otherwise a signed message may mention callgate.
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

// Imitates returns why a server's elicitation could pass for callgate's own, or "" if it cannot. The message is signed
// with the server's name and escaped, and may mention callgate. The rest of the form is not signed.
func Imitates(params []byte) (why string) {
	var message [1]jsonx.Member
	if err := jsonx.Members(params, []string{"message"}, message[:]); err != nil {
		return "It cannot be read: " + err.Error() + "."
	}
	unsigned := params
	if message[0].Value != nil {
		unsigned = jsonx.Splice(params, jsonx.Edit{Start: message[0].Start, End: message[0].End(), With: []byte("null")})
		text, _ := jsonx.String(message[0].Value)
		if strings.ContainsAny(text, lineEnds) && NamesCallgate(text) || posesAsCallgate(text) {
			return "Its message could pass for callgate's own."
		}
	}
	for text := range jsonx.Strings(unsigned) {
		if NamesCallgate(text) {
			return "It names callgate outside of the message that is signed."
		}
		if tools.Visible(strings.Map(withoutLayout, text)) != strings.Map(withoutLayout, text) {
			return "It has characters that nobody sees, or that change how others look, outside of its message."
		}
	}
	return ""
}

const lineEnds = "\n\r\v\f\u0085\u2028\u2029"

// withoutLayout drops the characters that lay out longer descriptions.
func withoutLayout(r rune) rune {
	if r == '\n' || r == '\r' || r == '\t' {
		return -1
	}
	return r
}

// oneVisibleLine returns a server's text as a person may see it after the server's name: on the same line, without
// anything that moves, hides or clears it.
func oneVisibleLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(lineEnds, r) })
	return tools.Visible(strings.Join(lines, " ⏎ "))
}

// UnsafeAddress returns why a host must not lead its person to the address of an elicitation, or "" if the address is a
// web page or there is none. Other schemes start programs, run scripts or open files. A user name before the host could
// be taken for the host.
func UnsafeAddress(params []byte) (why string) {
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
		return "It leads to an address that is not a web page."
	}
	return ""
}

// metaPrefix begins the names in "_meta" that only callgate may use.
const metaPrefix = "callgate/"

// Marked returns the message with such names marked as the server's; nothing else changes.
func Marked(m rpc.Message) (rpc.Message, error) {
	edits := jsonx.MetaNames(m.Raw, metaPrefix)
	if len(edits) == 0 {
		return m, nil
	}
	for i, e := range edits {
		name, _ := jsonx.String(m.Raw[e.Start:e.End])
		edits[i].With = jsonx.Quote("server:" + name)
	}
	return rpc.Parse(jsonx.Splice(m.Raw, edits...))
}

// codeElicitationRequired is the code of an error that asks a question (2025-11-25): hosts lead their person to the
// addresses in its data, and repeat the request.
const codeElicitationRequired = -32042

// Server is a server whose words reach hosts and people.
type Server struct {
	Alias string
	Asks  func(params []byte) (why string) // returns why a question could pass for one of the gate's, or ""
	Log   *slog.Logger
}

// Heard returns an answer of the server in the form that hosts may see.
func (s Server) Heard(answer rpc.Message) (rpc.Message, error) {
	answer, err := Marked(answer)
	if err != nil {
		return answer, err
	}
	return s.required(answer)
}

// required returns the answer with the questions of its error signed, as questions of the server are. An error that
// could pass for callgate's own, or that could be read in two ways, does not reach the host.
func (s Server) required(answer rpc.Message) (rpc.Message, error) {
	if answer.Error == nil {
		return answer, nil
	}
	var fault [1]jsonx.Member
	signed, err := s.signedError(answer.Error)
	if err == nil {
		err = jsonx.Members(answer.Raw, []string{"error"}, fault[:])
	}
	if err != nil {
		s.Log.Warn("an error of the server does not reach the host", "server", s.Alias, "reason", err)
		return rpc.Parse(rpc.Error(answer.ID, rpc.CodeInternal, "callgate does not pass the server's error on. "+err.Error()))
	}
	if bytes.Equal(signed, answer.Error) {
		return answer, nil
	}
	return rpc.Parse(jsonx.Splice(answer.Raw, jsonx.Edit{Start: fault[0].Start, End: fault[0].End(), With: signed}))
}

// signedError does the work of required on the error object.
func (s Server) signedError(fault []byte) ([]byte, error) {
	var m [2]jsonx.Member
	if err := jsonx.Members(fault, []string{"code", "data"}, m[:]); err != nil {
		return nil, err
	}
	code, err := strconv.ParseFloat(string(m[0].Value), 64) // hosts read -32042.0 and -3.2042e4 as the same code
	if err != nil || code != codeElicitationRequired || m[1].Value == nil || m[1].Value[0] != '{' {
		return fault, nil
	}
	if err := jsonx.Check(fault); err != nil {
		return nil, err
	}
	var asked [1]jsonx.Member
	if err := jsonx.Members(m[1].Value, []string{"elicitations"}, asked[:]); err != nil || asked[0].Value == nil {
		return fault, err
	}
	all, err := s.signedAll(asked[0].Value)
	if err != nil {
		return nil, err
	}
	at := m[1].Start + asked[0].Start
	return jsonx.Splice(fault, jsonx.Edit{Start: at, End: at + len(asked[0].Value), With: all}), nil
}

// signedAll signs each elicitation in an array. It returns an error if one is unsafe.
func (s Server) signedAll(array []byte) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(array))
	if dec.PeekKind() != '[' {
		return nil, errors.New("What it asks is not a list.")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var edits []jsonx.Edit
	for dec.PeekKind() == '{' {
		question, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if why := cmp.Or(s.Asks(question), Imitates(question), UnsafeAddress(question)); why != "" {
			return nil, errors.New(why)
		}
		signed, err := s.Signed(question)
		if err != nil {
			return nil, err
		}
		end := int(dec.InputOffset())
		edits = append(edits, jsonx.Edit{Start: end - len(question), End: end, With: signed})
	}
	if dec.PeekKind() != ']' {
		return nil, errors.New("What it asks cannot be read.")
	}
	return jsonx.Splice(array, edits...), nil
}

// Signed returns the params of an elicitation with the server's name before the message, which becomes one visible
// line. Otherwise a server could speak to the person as if it were callgate.
func (s Server) Signed(params []byte) ([]byte, error) {
	var message [1]jsonx.Member
	if err := jsonx.Members(params, []string{"message"}, message[:]); err != nil {
		return nil, err
	}
	text, _ := jsonx.String(message[0].Value)
	signature := jsonx.Quote("[" + s.Alias + "] " + oneVisibleLine(text))
	if message[0].Value == nil {
		return jsonx.Put(params, "message", signature), nil
	}
	return jsonx.Splice(params, jsonx.Edit{Start: message[0].Start, End: message[0].End(), With: signature}), nil
}
