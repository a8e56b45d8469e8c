package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlDocument is a TOML file. An entry is a table with a header, as Codex writes it, or a key with a value: a.b = {…}.
type tomlDocument struct{ text string }

func openTOML(text []byte) (*tomlDocument, error) {
	d := &tomlDocument{text: string(text)}
	_, err := d.decode()
	return d, err
}

func (d *tomlDocument) bytes() []byte { return []byte(d.text) }

func (d *tomlDocument) value() (any, error) { return d.decode() }

func (d *tomlDocument) decode() (map[string]any, error) {
	var all map[string]any
	if err := toml.Unmarshal([]byte(d.text), &all); err != nil {
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := e.Position()
			return nil, fmt.Errorf("read as TOML: line %d, column %d: %w", line, column, err)
		}
		return nil, fmt.Errorf("read as TOML: %w", err)
	}
	return all, nil
}

// tomlPart is a header with everything below it, or a key with its value, and the comment right above.
type tomlPart struct {
	key      []string // the full key
	table    int      // how many names of the key come from its table's header; for a header, all
	from, to int
	value    int      // the start of a key's value, or the end of a header's name
	members  []string // the members, if the place is an inline table
}

func (t *tomlPart) header() bool { return t.table == len(t.key) }

// under reports whether a part is the entry at the place or inside it.
func (t *tomlPart) under(place []string, name string) bool {
	return t.within(place) && len(t.key) > len(place) && t.key[len(place)] == name
}

// within reports whether a part belongs to the place: a header, or a key of a table that is not itself an entry.
func (t *tomlPart) within(place []string) bool {
	return len(t.key) >= len(place) && slices.Equal(t.key[:len(place)], place) && (t.header() || t.table <= len(place))
}

// parts returns the document's headers and the keys outside entries.
func (d *tomlDocument) parts(place []string) (list []tomlPart, err error) {
	var p unstable.Parser
	p.Reset([]byte(d.text))
	header := -1 // the last one in the list
	for p.NextExpression() {
		e := p.Expression()
		t := tomlPart{from: -1, to: len(d.text)}
		isKey := e.Kind == unstable.KeyValue
		if !isKey && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		if isKey && header >= 0 {
			t.key = slices.Clone(list[header].key)
		}
		if t.table = len(t.key); t.table > len(place) {
			continue // inside an entry
		}
		for it := e.Key(); it.Next(); {
			n := it.Node()
			if t.from < 0 {
				t.from = d.above(strings.LastIndexByte(d.text[:n.Raw.Offset], '\n') + 1)
			}
			t.key = append(t.key, string(n.Data))
			t.value = int(n.Raw.Offset + n.Raw.Length)
		}
		if isKey {
			t.value += strings.IndexByte(d.text[t.value:], '=') + 1
			t.to = tomlEnd(d.text, t.value)
			if v := e.Value(); v.Kind == unstable.InlineTable && slices.Equal(t.key, place) {
				for it := v.Children(); it.Next(); {
					for key := it.Node().Key(); key.Next(); {
						t.members = append(t.members, string(key.Node().Data))
						break
					}
				}
			}
		} else {
			t.table = len(t.key)
			if header >= 0 {
				list[header].to = t.from
			}
			header = len(list)
		}
		list = append(list, t)
	}
	return list, p.Error()
}

// above returns the start of the comment lines right above a line.
func (d *tomlDocument) above(line int) int {
	for line > 0 {
		before := strings.LastIndexByte(d.text[:line-1], '\n') + 1
		if !strings.HasPrefix(strings.TrimSpace(d.text[before:line]), "#") {
			break
		}
		line = before
	}
	return line
}

// tomlStep steps over strings and comments.
func tomlStep(text string, i int, _ byte) int {
	switch rest := text[i:]; {
	case strings.HasPrefix(rest, `"""`):
		return longEnd(text, quoted(text, i, `"""`, '\\'), '"')
	case strings.HasPrefix(rest, "'''"):
		return longEnd(text, quoted(text, i, "'''", 0), '\'')
	case rest[0] == '"':
		return quoted(text, i, `"`, '\\')
	case rest[0] == '\'':
		return quoted(text, i, "'", 0)
	case rest[0] == '#':
		return endOfLine(text, i)
	}
	return i + 1
}

// longEnd skips up to two quotes at the end of a triple-quoted string.
func longEnd(text string, i int, quote byte) int {
	for n := 0; n < 2 && i < len(text) && text[i] == quote; n++ {
		i++
	}
	return i
}

// tomlEnd returns the index after the line on which a value ends.
func tomlEnd(text string, i int) int {
	for depth := 0; i < len(text); {
		c := text[i]
		end := tomlStep(text, i, 0)
		switch {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth == 0 && (c == '\n' || c == '#'):
			return end
		}
		i = end
	}
	return i
}

// inline returns the place if it is one inline table.
func (d *tomlDocument) inline(parts []tomlPart, place []string) (*tomlPart, flow, error) {
	for i := range parts {
		t := &parts[i]
		if t.header() || !t.within(place) || len(t.key) > len(place) {
			continue
		}
		at := t.value + len(d.text[t.value:]) - len(strings.TrimLeft(d.text[t.value:], " \t"))
		f, err := openFlow(d.text, at, "#", tomlStep)
		if err == nil && (d.text[at] != '{' || len(f.chunks) != len(t.members)) {
			err = errors.New("it is not a table")
		}
		if err != nil {
			return nil, flow{}, fmt.Errorf("%s: %w", strings.Join(place, "."), err)
		}
		return t, f, nil
	}
	return nil, flow{}, nil
}

func (d *tomlDocument) entries(place []string) ([]entry, error) {
	parts, err := d.parts(place)
	if err != nil {
		return nil, err
	}
	at, err := d.decode()
	if err != nil {
		return nil, err
	}
	for _, name := range place {
		at, _ = at[name].(map[string]any)
	}
	var list []entry
	add := func(name string) *entry {
		i := slices.IndexFunc(list, func(e entry) bool { return e.name == name })
		if i < 0 {
			i = len(list)
			e := entry{name: name}
			if text, err := json.Marshal(at[name]); err == nil {
				_ = json.Unmarshal(text, &e.value) // otherwise it is not an object, so not a server
			}
			list = append(list, e)
		}
		return &list[i]
	}
	whole, f, err := d.inline(parts, place)
	if err != nil {
		return nil, err
	}
	if whole != nil {
		for i, name := range whole.members {
			e := add(name)
			if e.raw != "" {
				e.stays = "it is written in several parts"
			}
			e.raw, e.flow = f.member(i), true
		}
		return list, nil
	}
	keys := map[string]bool{}
	for _, t := range parts {
		if t.within(place) && len(t.key) > len(place) {
			e := add(t.key[len(place)])
			if e.raw != "" && keys[e.name] == t.header() {
				e.stays = "it is written in several parts"
			}
			e.raw += d.text[t.from:t.to]
			keys[e.name] = !t.header()
		}
	}
	return list, nil
}

func (d *tomlDocument) remove(place []string, name string) error {
	parts, err := d.parts(place)
	if err != nil {
		return err
	}
	whole, f, err := d.inline(parts, place)
	if err != nil {
		return err
	}
	if whole != nil {
		i := slices.Index(whole.members, name)
		if i < 0 {
			return missing(name)
		}
		f.cut(i)
		d.text = f.in(d.text)
		return nil
	}
	var b strings.Builder
	kept, found := 0, false
	for _, t := range parts {
		if t.under(place, name) {
			b.WriteString(d.text[kept:t.from])
			kept, found = t.to, true
		}
	}
	if !found {
		return missing(name)
	}
	b.WriteString(d.text[kept:])
	d.text = b.String()
	return nil
}

func (d *tomlDocument) insert(place []string, e entry, next string) error {
	return fitting(&d.text, &e, func() error { return d.put(place, e, next) }, func() error { _, err := d.decode(); return err })
}

func (d *tomlDocument) put(place []string, e entry, next string) error {
	parts, err := d.parts(place)
	if err != nil {
		return err
	}
	whole, f, err := d.inline(parts, place)
	if err != nil {
		return err
	}
	if whole != nil {
		if slices.Contains(whole.members, e.name) {
			return taken(e.name)
		}
		if e.raw == "" || !e.flow {
			e.raw = tomlKey(e.name) + " = " + tomlTable(e.members())
		}
		i := slices.Index(whole.members, next)
		if i < 0 {
			i = len(whole.members)
		}
		f.put(i, " "+e.raw)
		d.text = f.in(d.text)
		return nil
	}
	for i := range parts {
		if parts[i].under(place, e.name) {
			return taken(e.name)
		}
	}
	if table := keysOf(e.raw, place, e.name); !e.flow && table >= 0 {
		d.insertKeys(parts, place, e.raw, table, next)
	} else {
		d.insertTables(parts, place, &e, next)
	}
	return nil
}

// keysOf returns how many of the place's names an entry of keys takes from a header; -1 if the entry has headers.
func keysOf(raw string, place []string, name string) int {
	parts, err := (&tomlDocument{text: raw}).parts(nil)
	if err != nil || len(parts) == 0 || slices.ContainsFunc(parts, func(t tomlPart) bool { return t.header() }) {
		return -1
	}
	full := append(slices.Clone(place), name)
	for i := range full {
		if key := full[i:]; len(parts[0].key) >= len(key) && slices.Equal(parts[0].key[:len(key)], key) {
			return i
		}
	}
	return -1
}

// insertKeys inserts the text of keys into the table whose header has the first table names of the place: before the
// next entry, or after the last key.
func (d *tomlDocument) insertKeys(parts []tomlPart, place []string, raw string, table int, next string) {
	at := -1
	if table == 0 {
		at = 0 // the top has no header
	}
	for i := len(parts) - 1; i >= 0; i-- {
		t := &parts[i]
		switch {
		case t.header() && len(t.key) == table && slices.Equal(t.key, place[:table]) && at < 0:
			at = endOfLine(d.text, t.value)
		case t.header() || t.table != table || !slices.Equal(t.key[:table], place[:table]):
		case next != "" && t.under(place, next):
			at = t.from
		case at <= 0:
			at = t.to
		}
	}
	if at < 0 {
		raw, at = "\n["+tomlKeys(place[:table])+"]\n"+raw, len(d.text)
	}
	before := d.text[:at]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	if d.text[at:] != "" && !strings.HasSuffix(raw, "\n") {
		raw += "\n"
	}
	d.text = before + raw + d.text[at:]
}

// insertTables inserts an entry with headers before the next entry's header, or at the end.
func (d *tomlDocument) insertTables(parts []tomlPart, place []string, e *entry, next string) {
	at := len(d.text)
	for i := len(parts) - 1; i >= 0; i-- {
		if next != "" && parts[i].header() && parts[i].under(place, next) {
			at = parts[i].from
		}
	}
	raw := e.raw
	if raw == "" || e.flow {
		raw = "[" + tomlKeys(append(slices.Clone(place), e.name)) + "]\n"
		for _, m := range e.members() {
			raw += tomlKey(m.name) + " = " + tomlValue(m.value) + "\n"
		}
		if at < len(d.text) {
			raw += "\n"
		}
	}
	before := d.text[:at]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	if (e.raw == "" || e.flow) && before != "" && !strings.HasSuffix(before, "\n\n") {
		before += "\n"
	}
	d.text = before + raw + d.text[at:]
}

// tomlTable writes an inline table.
func tomlTable(list []member) string {
	var text []string
	for _, m := range list {
		text = append(text, tomlKey(m.name)+" = "+tomlValue(m.value))
	}
	return "{ " + strings.Join(text, ", ") + " }"
}

// tomlValue writes a value on one line. A whole number from JSON becomes an integer.
func tomlValue(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return tomlTable(members(v))
	case []any:
		var text []string
		for _, item := range v {
			text = append(text, tomlValue(item))
		}
		return "[" + strings.Join(text, ", ") + "]"
	case []string:
		var list []any
		for _, item := range v {
			list = append(list, item)
		}
		return tomlValue(list)
	case float64:
		if v == float64(int64(v)) {
			value = int64(v)
		}
	}
	text, err := toml.Marshal(map[string]any{"v": value})
	if err != nil {
		return "''" // null, which TOML does not have
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), "v = "), "\n")
}

func tomlKeys(names []string) string {
	var keys []string
	for _, name := range names {
		keys = append(keys, tomlKey(name))
	}
	return strings.Join(keys, ".")
}

// tomlKey quotes a key if it has to be quoted.
func tomlKey(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return name
	}
	return quote(name)
}
