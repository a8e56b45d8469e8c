package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/internal/jsonx"
)

// jsonDocument is JSON, with or without comments and trailing commas.
type jsonDocument struct {
	bom  bool
	text []byte
}

var byteOrderMark = []byte("\uFEFF")

func openJSON(text []byte) (*jsonDocument, error) {
	d := &jsonDocument{bom: bytes.HasPrefix(text, byteOrderMark)}
	d.text = bytes.TrimPrefix(text, byteOrderMark)
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.text = []byte("{}\n")
	}
	v, err := hujson.Parse(d.text)
	if err != nil {
		return nil, fmt.Errorf("read as JSON: %w", jsonx.Explain(err))
	}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return nil, errors.New("read as JSON: it is not an object")
	}
	return d, nil
}

func (d *jsonDocument) bytes() []byte {
	if d.bom {
		return slices.Concat(byteOrderMark, d.text)
	}
	return d.text
}

func (d *jsonDocument) value() (any, error) {
	plain, err := hujson.Standardize(bytes.Clone(d.text))
	if err != nil {
		return nil, err
	}
	var all any
	err = json.Unmarshal(plain, &all)
	return all, err
}

// jsonObject is an object within the text.
type jsonObject struct {
	flow
	members []hujson.ObjectMember
	depth   int
}

// object finds the object at a place; ok is false if there is none.
func (d *jsonDocument) object(place []string) (o jsonObject, ok bool, err error) {
	v, err := hujson.Parse(d.text)
	if err != nil {
		return o, false, err
	}
	for i, name := range append([]string{""}, place...) {
		if i > 0 {
			at := v.Value.(*hujson.Object).Members
			k := slices.IndexFunc(at, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
			if k < 0 {
				return o, false, nil
			}
			v = at[k].Value
		}
		if _, isObject := v.Value.(*hujson.Object); !isObject {
			return o, false, fmt.Errorf("%s is not an object", strings.Join(place[:i], "."))
		}
	}
	obj := v.Value.(*hujson.Object)
	o = jsonObject{flow: flow{open: v.StartOffset, close: v.EndOffset - 1, mark: "//"}, members: obj.Members, depth: len(place)}
	from := o.open + 1
	for i := range obj.Members {
		m := &obj.Members[i]
		end := m.Value.EndOffset + len(m.Value.AfterExtra)
		o.chunks = append(o.chunks, string(d.text[from:end]))
		from = end
		if from < o.close && d.text[from] == ',' {
			from++
			o.comma = i == len(obj.Members)-1
		}
	}
	o.tail = string(d.text[from:o.close])
	return o, true, nil
}

func nameOf(m hujson.ObjectMember) string {
	if l, ok := m.Name.Value.(hujson.Literal); ok {
		return l.String()
	}
	return ""
}

func (d *jsonDocument) entries(place []string) ([]entry, error) {
	o, ok, err := d.object(place)
	if err != nil || !ok {
		return nil, err
	}
	list := make([]entry, 0, len(o.members))
	for i, m := range o.members {
		e := entry{name: nameOf(m), raw: o.member(i)}
		value := m.Value.Clone()
		value.Standardize()
		if err := json.Unmarshal(value.Pack(), &e.value); err != nil {
			e.value = nil // not an object, so not a server
		}
		if slices.ContainsFunc(list, func(x entry) bool { return x.name == e.name }) {
			return nil, fmt.Errorf("%s has the member %q twice", strings.Join(place, "."), e.name)
		}
		list = append(list, e)
	}
	return list, nil
}

func (d *jsonDocument) remove(place []string, name string) error {
	o, ok, err := d.object(place)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(o.members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
	if !ok || i < 0 {
		return missing(name)
	}
	o.cut(i)
	d.text = []byte(o.in(string(d.text)))
	return nil
}

func (d *jsonDocument) insert(place []string, e entry, next string) error {
	o, ok, err := d.object(place)
	if err != nil {
		return err
	}
	if !ok {
		if len(place) == 0 {
			return errors.New("it is not an object")
		}
		last := len(place) - 1
		if err := d.insert(place[:last], entry{name: place[last], raw: quote(place[last]) + ": {}"}, ""); err != nil {
			return err
		}
		return d.insert(place, e, next)
	}
	at := len(o.members)
	for i, m := range o.members {
		switch nameOf(m) {
		case e.name:
			return taken(e.name)
		case next:
			at = i
		}
	}
	lead, unit := d.spacing(&o)
	raw := e.raw
	if raw == "" {
		value, err := marshal(e.own, lead, unit)
		if err != nil {
			return err
		}
		colon := ": "
		if unit == "" && lead == "" {
			colon = ":"
		}
		raw = quote(e.name) + colon + value
	}
	if len(o.chunks) == 0 && strings.TrimSpace(o.tail) == "" {
		o.tail = lead
		if unit != "" {
			o.tail = strings.TrimSuffix(lead, unit)
		}
	}
	o.put(at, lead+raw)
	d.text = []byte(o.in(string(d.text)))
	return nil
}

// spacing returns the file's text before a member of the object, and its step of indentation.
func (d *jsonDocument) spacing(o *jsonObject) (lead, unit string) {
	unit = "  "
	if i := bytes.IndexByte(d.text, '\n'); i < 0 {
		unit = ""
	} else if rest := d.text[i+1:]; len(rest) > 0 {
		if n := len(rest) - len(bytes.TrimLeft(rest, " \t")); n > 0 {
			unit = string(rest[:n])
		}
	}
	if len(o.members) > 0 {
		chunk := o.chunks[0]
		name := strings.Index(chunk, string(o.members[0].Name.Value.(hujson.Literal)))
		lead = chunk[:max(name, 0)]
		return lead[len(strings.TrimRight(lead, " \t\r\n")):], unit
	}
	if unit == "" {
		return "", ""
	}
	return "\n" + strings.Repeat(unit, o.depth+1), unit
}

// marshal writes callgate's entry in the style of the file: indented like its neighbours, or on one line.
func marshal(members []member, lead, unit string) (string, error) {
	var b bytes.Buffer
	for i, m := range members {
		value, err := json.Marshal(m.value)
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(m.name) + ":" + string(value))
	}
	text := "{" + b.String() + "}"
	at := strings.LastIndexByte(lead, '\n')
	if at < 0 || unit == "" {
		return text, nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), lead[at+1:], unit); err != nil {
		return "", err
	}
	return out.String(), nil
}

func quote(name string) string { return string(hujson.String(name)) }
