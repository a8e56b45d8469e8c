package pattern

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Arguments is the arguments object of one subject, decoded when the first rule needs it. The caller MUST have checked
// Raw: no keys that are equal or fold to equal, no lone surrogates. It is not safe for concurrent use.
type Arguments struct {
	Raw  []byte
	done bool
	root map[string]any // nil if Raw is not one JSON object

	exact string // the result of exactly; "" if not read yet or unreadable

	signed bool
	holds  signature // valid if signed
}

func (a *Arguments) present() bool { return a.Raw != nil }

// decoded returns the object. ok is false if the bytes are not one JSON object.
func (a *Arguments) decoded() (root map[string]any, ok bool) {
	if !a.done {
		a.done, a.root = true, decodeObject(a.Raw)
	}
	return a.root, a.root != nil
}

// exactly returns Exactly of the arguments. It computes the text only once.
func (a *Arguments) exactly() (text string, ok bool) {
	if a.exact == "" {
		a.exact, ok = encoded(a.decoded())
		return a.exact, ok
	}
	return a.exact, true
}

// Exactly returns the canonical spelling of a JSON object: no spaces, names sorted, numbers as written. ok is false if
// the text is not a JSON object.
func Exactly(object []byte) (text string, ok bool) {
	root := decodeObject(object)
	return encoded(root, root != nil)
}

func encoded(root map[string]any, ok bool) (string, bool) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if !ok || e.Encode(root) != nil {
		return "", false
	}
	return strings.TrimSuffix(text.String(), "\n"), true
}

// signature returns the signature of everything that patterns can see. Unreadable arguments may hold anything.
func (a *Arguments) signature() (s signature) {
	if !a.present() {
		return s
	}
	if !a.signed {
		a.signed, a.holds = true, everything
		if root, ok := a.decoded(); ok {
			a.holds = signature{}
			eachScalar(root, a.holds.addWhole)
		}
	}
	return a.holds
}

func decodeObject(raw []byte) (root map[string]any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers are compared as written
	if d.Decode(&root) != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return root
}

// scalarText returns the text that patterns see of a decoded string, number, boolean or null.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	default:
		return "null"
	}
}
