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

// tomlDocument is TOML whose entries are tables with headers, as Codex writes them.
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
		if e := (*toml.DecodeError)(nil); errors.As(err, &e) {
			line, column := e.Position()
			return nil, fmt.Errorf("read as TOML: line %d, column %d: %w", line, column, err)
		}
		return nil, fmt.Errorf("read as TOML: %w", err)
	}
	return all, nil
}

// tomlTable is a header and what stands below it, up to the next header or the comment that belongs to that.
type tomlTable struct {
	key      []string
	from, to int
}

// tables returns the tables of the document. A table or an entry that is written without a header is an error.
func (d *tomlDocument) tables(place []string) ([]tomlTable, error) {
	var p unstable.Parser
	p.Reset([]byte(d.text))
	var list []tomlTable
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			t := tomlTable{to: len(d.text)}
			for it := e.Key(); it.Next(); {
				if n := it.Node(); len(t.key) == 0 {
					t.from = d.above(strings.LastIndexByte(d.text[:n.Raw.Offset], '\n') + 1)
				}
				t.key = append(t.key, string(it.Node().Data))
			}
			if len(list) > 0 {
				list[len(list)-1].to = t.from
			}
			list = append(list, t)
		case unstable.KeyValue:
			var key []string
			if len(list) > 0 {
				key = slices.Clone(list[len(list)-1].key)
			}
			depth := len(key)
			for it := e.Key(); it.Next(); {
				key = append(key, string(it.Node().Data))
			}
			if depth <= len(place) && len(key) > depth && slices.Equal(key[:min(len(key), len(place))], place[:min(len(key), len(place))]) {
				return nil, fmt.Errorf("%s is written without a table header: write [%s.NAME] for each server and try again", strings.Join(key, "."), strings.Join(place, "."))
			}
		}
	}
	return list, p.Error()
}

// above returns where the comment lines begin that stand right above a line.
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

// under reports whether a table is the entry at the place or within it.
func (t *tomlTable) under(place []string, name string) bool {
	return len(t.key) > len(place) && slices.Equal(t.key[:len(place)], place) && t.key[len(place)] == name
}

func (d *tomlDocument) entries(place []string) ([]entry, error) {
	tables, err := d.tables(place)
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
	for _, t := range tables {
		if len(t.key) <= len(place) || !slices.Equal(t.key[:len(place)], place) {
			continue
		}
		name := t.key[len(place)]
		i := slices.IndexFunc(list, func(e entry) bool { return e.name == name })
		if i < 0 {
			i = len(list)
			e := entry{name: name}
			if text, err := json.Marshal(at[name]); err == nil {
				_ = json.Unmarshal(text, &e.value) // no object: nothing that could be a server
			}
			list = append(list, e)
		}
		list[i].raw += d.text[t.from:t.to]
	}
	return list, nil
}

func (d *tomlDocument) remove(place []string, name string) error {
	tables, err := d.tables(place)
	if err != nil {
		return err
	}
	var b strings.Builder
	kept := 0
	for _, t := range tables {
		if t.under(place, name) {
			b.WriteString(d.text[kept:t.from])
			kept = t.to
		}
	}
	if kept == 0 {
		return missing(name)
	}
	b.WriteString(d.text[kept:])
	d.text = b.String()
	return nil
}

func (d *tomlDocument) insert(place []string, e entry, next string) error {
	tables, err := d.tables(place)
	if err != nil {
		return err
	}
	at := len(d.text)
	for i := len(tables) - 1; i >= 0; i-- {
		if tables[i].under(place, e.name) {
			return taken(e.name)
		}
		if next != "" && tables[i].under(place, next) {
			at = tables[i].from
		}
	}
	raw := e.raw
	if raw == "" {
		var keys []string
		for _, name := range append(slices.Clone(place), e.name) {
			keys = append(keys, tomlKey(name))
		}
		raw = "[" + strings.Join(keys, ".") + "]\n"
		for _, m := range e.own {
			text, err := toml.Marshal(map[string]any{m.name: m.value})
			if err != nil {
				return err
			}
			raw += string(text)
		}
		if at < len(d.text) {
			raw += "\n"
		}
	}
	before := d.text[:at]
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	if e.raw == "" && before != "" && !strings.HasSuffix(before, "\n\n") {
		before += "\n"
	}
	d.text = before + raw + d.text[at:]
	return nil
}

// tomlKey quotes a key that cannot stand bare.
func tomlKey(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return name
	}
	return quote(name)
}
