package pattern

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// arguments is the arguments object of one subject, decoded when the first rule asks for it. Its caller has
// checked it: no keys that are equal or fold to equal, no lone surrogates.
type Arguments struct {
	Raw  []byte
	done bool
	root map[string]any // nil when raw is not one JSON object

	exact string // once asked for; "" when it cannot be read

	signed bool
	holds  signature // once signed
}

func (a *Arguments) present() bool { return a.Raw != nil }

// decoded returns the object; ok is false when the bytes are not one JSON object.
func (a *Arguments) decoded() (root map[string]any, ok bool) {
	if !a.done {
		a.done, a.root = true, decodeObject(a.Raw)
	}
	return a.root, a.root != nil
}

// exactly is Exactly of the arguments, read once.
func (a *Arguments) exactly() (text string, ok bool) {
	if a.exact == "" {
		a.exact, ok = encoded(a.decoded())
		return a.exact, ok
	}
	return a.exact, true
}

// Exactly is the one spelling of a JSON object whose members have an order: no spaces, names sorted, numbers as they are
// written. ok is false when the text is no JSON object.
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

// signature covers everything that patterns can see of the arguments. Unreadable arguments may hold anything.
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
	d.UseNumber() // a number is compared as it is written
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
