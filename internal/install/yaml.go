package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlDocument is YAML whose entries are members of a mapping or items of a list, each on lines of its own.
type yamlDocument struct {
	text string
	list bool
}

func openYAML(text []byte, list bool) (*yamlDocument, error) {
	d := &yamlDocument{text: string(text), list: list}
	_, err := d.root()
	return d, err
}

func (d *yamlDocument) bytes() []byte { return []byte(d.text) }

// root is the mapping at the top; nil when the document is empty.
func (d *yamlDocument) root() (*yaml.Node, error) {
	dec := yaml.NewDecoder(strings.NewReader(d.text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if strings.TrimSpace(d.text) == "" || len(doc.Content) == 0 && err.Error() == "EOF" {
			return nil, nil
		}
		return nil, fmt.Errorf("read as YAML: %w", err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, errors.New("read as YAML: it has several documents")
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("read as YAML: it is not a mapping")
	}
	return doc.Content[0], nil
}

func (d *yamlDocument) value() (any, error) {
	root, err := d.root()
	if err != nil || root == nil {
		return nil, err
	}
	var all any
	if err := root.Decode(&all); err != nil {
		return nil, fmt.Errorf("read as YAML: %w", err)
	}
	return all, nil
}

// yamlItem is an entry on its lines, counted from 0; to is the line behind the last.
type yamlItem struct {
	name     string
	from, to int // from includes the comment right above
	key      int // the line that its key or dash is on
	node     *yaml.Node
}

// block is the list or mapping of entries: its items, how far they are indented, and the line behind the last.
type yamlBlock struct {
	items  []yamlItem
	indent int
	end    int
}

// block finds the entries; ok is false when the place is not there or is empty.
func (d *yamlDocument) block(place []string) (b yamlBlock, ok bool, err error) {
	at, err := d.root()
	if err != nil || at == nil {
		return b, false, err
	}
	for _, name := range place {
		if at = valueOf(at, name); at == nil {
			return b, false, nil
		}
		if at.Kind == yaml.AliasNode {
			return b, false, fmt.Errorf("%s is an alias of another part of the file: write it out and try again", strings.Join(place, "."))
		}
	}
	if len(at.Content) == 0 {
		return b, false, nil
	}
	want := yaml.MappingNode
	if d.list {
		want = yaml.SequenceNode
	}
	if at.Kind != want || at.Style&yaml.FlowStyle != 0 {
		return b, false, fmt.Errorf("%s is not written as a block: write one line for each member and try again", strings.Join(place, "."))
	}
	lines := strings.SplitAfter(d.text, "\n")
	step := 2
	if d.list {
		step = 1
	}
	for i := 0; i < len(at.Content); i += step {
		item := yamlItem{from: at.Content[i].Line - 1, key: at.Content[i].Line - 1, node: at.Content[i+step-1]}
		line := lines[item.from]
		if d.list {
			dash := strings.IndexByte(line, '-')
			if dash < 0 || strings.TrimSpace(line[:dash]) != "" {
				return b, false, fmt.Errorf("line %d: an item of %s does not begin a line", item.from+1, strings.Join(place, "."))
			}
			b.indent = dash
			if n := valueOf(item.node, "name"); n != nil {
				item.name = n.Value
			}
		} else {
			item.name, b.indent = at.Content[i].Value, at.Content[i].Column-1
			if strings.TrimSpace(line[:b.indent]) != "" {
				return b, false, fmt.Errorf("line %d: %s does not begin a line", item.from+1, item.name)
			}
		}
		for item.from > 0 && isComment(lines[item.from-1], b.indent) {
			item.from--
		}
		b.items = append(b.items, item)
	}
	b.close(lines)
	return b, true, nil
}

// close says where each item and the block itself end: before the blank lines behind them.
func (b *yamlBlock) close(lines []string) {
	for i := range b.items {
		item := &b.items[i]
		item.to = len(lines)
		if i+1 < len(b.items) {
			item.to = b.items[i+1].from
			continue
		}
		for n := max(item.key+1, lastLine(item.node)); n < len(lines); n++ {
			line := strings.TrimRight(lines[n], " \t\r\n")
			if line != "" && len(line)-len(strings.TrimLeft(line, " ")) <= b.indent {
				item.to = n
				break
			}
		}
		for item.to > item.key+1 && strings.TrimSpace(lines[item.to-1]) == "" {
			item.to--
		}
	}
	b.end = b.items[len(b.items)-1].to
}

// lastLine is the line that the last part of a node begins on, counted from 1.
func lastLine(n *yaml.Node) int {
	line := n.Line
	for _, part := range n.Content {
		line = max(line, lastLine(part))
	}
	return line
}

// isComment reports whether the line holds nothing but a comment at that depth.
func isComment(line string, indent int) bool {
	rest := strings.TrimLeft(line, " ")
	return strings.HasPrefix(rest, "#") && len(line)-len(rest) == indent
}

func valueOf(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func (d *yamlDocument) entries(place []string) ([]entry, error) {
	b, ok, err := d.block(place)
	if err != nil || !ok {
		return nil, err
	}
	lines := strings.SplitAfter(d.text, "\n")
	var list []entry
	for _, item := range b.items {
		e := entry{name: item.name, raw: strings.Join(lines[item.from:item.to], "")}
		var value any
		if err := item.node.Decode(&value); err != nil {
			return nil, fmt.Errorf("read %s: %w", item.name, err)
		}
		if text, err := json.Marshal(value); err == nil {
			_ = json.Unmarshal(text, &e.value) // no mapping: nothing that could be a server
		}
		list = append(list, e)
	}
	return list, nil
}

func (d *yamlDocument) remove(place []string, name string) error {
	b, _, err := d.block(place)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(b.items, func(x yamlItem) bool { return x.name == name })
	if i < 0 {
		return missing(name)
	}
	lines := strings.SplitAfter(d.text, "\n")
	d.text = strings.Join(slices.Delete(lines, b.items[i].from, b.items[i].to), "")
	return nil
}

func (d *yamlDocument) insert(place []string, e entry, next string) error {
	b, ok, err := d.block(place)
	if err != nil {
		return err
	}
	if !ok {
		return d.begin(place, e)
	}
	at := b.end
	for i := len(b.items) - 1; i >= 0; i-- {
		switch b.items[i].name {
		case e.name:
			return taken(e.name)
		case next:
			at = b.items[i].from
		}
	}
	raw := e.raw
	if raw == "" {
		if raw, err = d.marshal(e, b.indent); err != nil {
			return err
		}
	}
	lines := strings.SplitAfter(d.text, "\n")
	if at > 0 && at <= len(lines) && lines[at-1] != "" && !strings.HasSuffix(lines[at-1], "\n") {
		lines[at-1] += "\n"
	}
	d.text = strings.Join(slices.Insert(lines, min(at, len(lines)), raw), "")
	return nil
}

// begin writes the place with its first entry, at the end of the file or where the place stands empty.
func (d *yamlDocument) begin(place []string, e entry) error {
	if len(place) != 1 {
		return fmt.Errorf("%s is not there", strings.Join(place, "."))
	}
	indent := 2
	raw := e.raw
	if raw == "" {
		var err error
		if raw, err = d.marshal(e, indent); err != nil {
			return err
		}
	}
	lines := strings.SplitAfter(d.text, "\n")
	root, err := d.root()
	if err != nil {
		return err
	}
	for i := 0; root != nil && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == place[0] {
			n := root.Content[i].Line - 1
			lines[n] = place[0] + ":\n" + raw
			d.text = strings.Join(lines, "")
			return nil
		}
	}
	if d.text != "" && !strings.HasSuffix(d.text, "\n") {
		d.text += "\n"
	}
	d.text += place[0] + ":\n" + raw
	return nil
}

// marshal writes callgate's entry as lines with that indentation.
func (d *yamlDocument) marshal(e entry, indent int) (string, error) {
	value := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range e.own {
		var n yaml.Node
		if err := n.Encode(m.value); err != nil {
			return "", err
		}
		if n.Kind == yaml.SequenceNode {
			n.Style = yaml.FlowStyle
		}
		value.Content = append(value.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: m.name}, &n)
	}
	var whole any = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: e.name}, value}}
	if d.list {
		value.Content = slices.Concat([]*yaml.Node{{Kind: yaml.ScalarNode, Value: "name"}, {Kind: yaml.ScalarNode, Value: e.name}}, value.Content)
		whole = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(whole); err != nil {
		return "", err
	}
	pad := strings.Repeat(" ", indent)
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(pad + line)
	}
	return out.String(), nil
}
