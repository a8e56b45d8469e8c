package provenance

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/flow"
	"callgate/internal/jsonx"
)

// parts holds the texts of a result by their label.
type parts map[flow.Label][]string

// split takes a result apart by its labelled fields. It also returns the result's documents in JSON. Only the
// structured content, and texts that are an object or a list in strict JSON, have fields. The rest has the label of the
// whole.
func split(result []byte, o origin) (p parts, documents []string) {
	p = parts{o.label: nil}
	rest := func(text []byte) { p[o.label] = slices.AppendSeq(p[o.label], jsonx.Strings(text)) }
	var all map[string]jsontext.Value
	if jsonx.Check(result) != nil || json.Unmarshal(result, &all) != nil {
		rest(result)
		return p, nil
	}
	for name, value := range all {
		p[o.label] = append(p[o.label], name)
		var blocks []map[string]jsontext.Value
		switch {
		case name == "structuredContent":
			if p.document(value, o) {
				documents = append(documents, string(value))
				continue
			}
		case name == "content" && json.Unmarshal(value, &blocks) == nil:
			for _, b := range blocks {
				var kind, text string
				if json.Unmarshal(b["type"], &kind) == nil && kind == "text" && json.Unmarshal(b["text"], &text) == nil && p.document([]byte(text), o) {
					documents = append(documents, text)
					delete(b, "text")
				}
				for member, other := range b {
					p[o.label] = append(p[o.label], member)
					rest(other)
				}
			}
			continue
		}
		rest(value)
	}
	return p, documents
}

// document takes apart a text that is an object or a list in strict JSON. It returns false for any other text.
func (p parts) document(text []byte, o origin) bool {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' || jsonx.Check(text) != nil {
		return false
	}
	labels := make(map[string]flow.Label, len(o.fields))
	for field, returns := range o.fields {
		f := origin{}
		f.ofLabels(returns)
		labels[field] = f.label
	}
	return p.value(jsontext.NewDecoder(bytes.NewReader(text)), labels, "", o.label) == nil
}

// value takes the next value of d, which stands at path. The value has the label unless labels has one for the path.
func (p parts) value(d *jsontext.Decoder, labels map[string]flow.Label, path string, label flow.Label) error {
	switch d.PeekKind() {
	case '{':
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for d.PeekKind() != '}' {
			t, err := d.ReadToken()
			if err != nil {
				return err
			}
			name := t.String()
			at, of := strings.ReplaceAll(name, ".", "\x00"), label // a name with a dot leads nowhere, and neither does an empty one
			at = cmp.Or(at, "\x00")
			if path != "" {
				at = path + "." + at
			}
			if own, ok := labels[at]; ok {
				of = own
			}
			p[of] = append(p[of], name)
			if err := p.value(d, labels, at, of); err != nil {
				return err
			}
		}
		_, err := d.ReadToken()
		return err
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for d.PeekKind() != ']' {
			if err := p.value(d, labels, path, label); err != nil {
				return err
			}
		}
		_, err := d.ReadToken()
		return err
	}
	t, err := d.ReadToken()
	if err == nil {
		p[label] = append(p[label], t.String())
	}
	return err
}
