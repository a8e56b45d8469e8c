package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlDocument is a YAML file whose entries are members of a mapping or items of a list, each on lines of its own.
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

// root returns the top mapping; nil if the document is empty.
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

// yamlItem is an entry and its lines, counted from 0; to is the line after the last.
type yamlItem struct {
	name     string
	from, to int // from includes the comment right above
	key      int // the line of its key or dash
	node     *yaml.Node
}

// yamlBlock is the list or mapping of entries: its items, their indentation, and the line after the last. In flow
// style, items have only names and nodes, and the brackets have the text.
type yamlBlock struct {
	items  []yamlItem
	indent int
	end    int
	flow   *flow
	root   *yaml.Node
}

// block finds the entries; ok is false if the place is missing or empty.
func (d *yamlDocument) block(place []string) (b yamlBlock, ok bool, err error) {
	at, err := d.root()
	if err != nil || at == nil {
		return b, false, err
	}
	b.root = at
	for _, name := range place {
		if at = valueOf(at, name); at == nil {
			return b, false, nil
		}
		if at.Kind == yaml.AliasNode {
			return b, false, fmt.Errorf("%s is an alias for another part of the file: write it out and try again", strings.Join(place, "."))
		}
	}
	want, step := yaml.MappingNode, 2
	if d.list {
		want, step = yaml.SequenceNode, 1
	}
	if at.Kind == want && at.Style&yaml.FlowStyle != 0 {
		ok, err := d.brackets(&b, at, step, place)
		return b, ok, err
	}
	if len(at.Content) == 0 {
		return b, false, nil
	}
	if at.Kind != want {
		return b, false, fmt.Errorf("%s does not have the form that the host expects", strings.Join(place, "."))
	}
	lines := yamlLines(d.text)
	for i := 0; i < len(at.Content); i += step {
		item := yamlItem{from: at.Content[i].Line - 1, key: at.Content[i].Line - 1, node: at.Content[i+step-1]}
		line := lines[item.from]
		if d.list {
			dash := strings.IndexByte(line, '-')
			if dash < 0 || strings.TrimSpace(line[:dash]) != "" {
				return b, false, fmt.Errorf("line %d: an item of %s is not on a line of its own", item.from+1, strings.Join(place, "."))
			}
			b.indent = dash
			item.name = listName(item.node)
		} else {
			item.name, b.indent = at.Content[i].Value, at.Content[i].Column-1
			if strings.TrimSpace(line[:b.indent]) != "" {
				return b, false, fmt.Errorf("line %d: %s is not on a line of its own", item.from+1, item.name)
			}
		}
		for item.from > 0 && isComment(lines[item.from-1], b.indent) {
			item.from--
		}
		b.items = append(b.items, item)
	}
	b.close(d.text, lines)
	return b, true, nil
}

// brackets reads entries in flow style.
func (d *yamlDocument) brackets(b *yamlBlock, at *yaml.Node, step int, place []string) (ok bool, err error) {
	f, err := openFlow(d.text, yamlOpen(d.text, at), "#", yamlStep)
	if err == nil && len(f.chunks)*step != len(at.Content) {
		err = errors.New("its members are not separable: write each on lines of its own and try again")
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", strings.Join(place, "."), err)
	}
	for i := 0; i < len(at.Content); i += step {
		item := yamlItem{name: at.Content[i].Value, node: at.Content[i+step-1]}
		if d.list {
			item.name = listName(item.node)
		}
		b.items = append(b.items, item)
	}
	b.flow = &f
	return true, nil
}

// yamlOpen returns the index of the opening bracket of a node in flow style, after its anchor and tag.
func yamlOpen(text string, n *yaml.Node) int {
	i := 0
	for _, line := range yamlLines(text)[:n.Line-1] {
		i += len(line)
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return i + max(strings.IndexAny(text[i:], "[{"), 0)
}

// yamlStep steps over quoted text, which starts where a value can, and comments, which start after a space.
func yamlStep(text string, i int, prev byte) int {
	switch c := text[i]; {
	case c == '#' && strings.IndexByte(" \t\r\n", text[i-1]) >= 0:
		return endOfLine(text, i)
	case strings.IndexByte("[{,:?", prev) < 0:
	case c == '\'':
		return quoted(text, i, "'", 0)
	case c == '"':
		return quoted(text, i, `"`, '\\')
	}
	return i + 1
}

// yamlLines splits a text at YAML's line breaks.
func yamlLines(text string) (lines []string) {
	from := 0
	for i := 0; i < len(text); i++ {
		for _, end := range [...]string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
			if strings.HasPrefix(text[i:], end) {
				lines = append(lines, text[from:i+len(end)])
				from = i + len(end)
				i = from - 1
				break
			}
		}
	}
	return append(lines, text[from:])
}

func listName(item *yaml.Node) string {
	if n := valueOf(item, "name"); n != nil {
		return n.Value
	}
	return ""
}

// close sets where each item and the block end: before the blank lines that follow.
func (b *yamlBlock) close(text string, lines []string) {
	for i := range b.items {
		item := &b.items[i]
		item.to = len(lines)
		if i+1 < len(b.items) {
			item.to = b.items[i+1].from
			continue
		}
		for n := max(item.key+1, lastLine(text, item.node)); n < len(lines); n++ {
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

// lastLine returns the line on which the last part of a node starts, or in flow style ends, counted from 1.
func lastLine(text string, n *yaml.Node) int {
	line := n.Line
	if n.Style&yaml.FlowStyle != 0 {
		if f, err := openFlow(text, yamlOpen(text, n), "#", yamlStep); err == nil {
			return len(yamlLines(text[:f.close]))
		}
	}
	for _, part := range n.Content {
		line = max(line, lastLine(text, part))
	}
	return line
}

// isComment reports whether the line has only a comment, with this indentation.
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
	lines := yamlLines(d.text)
	var list []entry
	for i, item := range b.items {
		e := entry{name: item.name, flow: b.flow != nil}
		if e.flow {
			e.raw = b.flow.member(i)
		} else {
			e.raw = strings.Join(lines[item.from:item.to], "")
		}
		switch {
		case e.name == "":
			e.stays = "it has no name"
		case refersTo(b.root, item.node):
			e.stays = "another part of the file refers to it"
		}
		var value any
		if err := item.node.Decode(&value); err != nil {
			return nil, fmt.Errorf("read %s: %w", item.name, err)
		}
		if text, err := json.Marshal(value); err == nil {
			_ = json.Unmarshal(text, &e.value) // otherwise it is not a mapping, so not a server
		}
		list = append(list, e)
	}
	return list, nil
}

// refersTo reports whether an alias outside a node refers to it or to a part of it.
func refersTo(root, node *yaml.Node) bool {
	parts := map[*yaml.Node]bool{}
	var walk func(n *yaml.Node, visit func(*yaml.Node) bool) bool
	walk = func(n *yaml.Node, visit func(*yaml.Node) bool) bool {
		return visit(n) || slices.ContainsFunc(n.Content, func(part *yaml.Node) bool { return walk(part, visit) })
	}
	walk(node, func(n *yaml.Node) bool { parts[n] = true; return false })
	return walk(root, func(n *yaml.Node) bool { return n.Kind == yaml.AliasNode && !parts[n] && parts[n.Alias] })
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
	if b.flow != nil {
		b.flow.cut(i)
		d.text = b.flow.in(d.text)
		return nil
	}
	lines := yamlLines(d.text)
	d.text = strings.Join(slices.Delete(lines, b.items[i].from, b.items[i].to), "")
	return nil
}

func (d *yamlDocument) insert(place []string, e entry, next string) error {
	return fitting(&d.text, &e, func() error { return d.put(place, &e, next) }, func() error { _, err := d.root(); return err })
}

func (d *yamlDocument) put(place []string, e *entry, next string) error {
	b, ok, err := d.block(place)
	if err != nil {
		return err
	}
	at, index := b.end, len(b.items)
	for i := len(b.items) - 1; i >= 0; i-- {
		switch b.items[i].name {
		case e.name:
			return taken(e.name)
		case next:
			at, index = b.items[i].from, i
		}
	}
	if !ok {
		b.indent = 2
	}
	raw, err := d.write(e, b.flow != nil, b.indent)
	switch {
	case err != nil:
		return err
	case !ok:
		return d.begin(place, raw)
	case b.flow != nil:
		b.flow.put(index, b.flow.lead(index)+raw)
		d.text = b.flow.in(d.text)
		return nil
	}
	lines := yamlLines(d.text)
	if at > 0 && at <= len(lines) && lines[at-1] != "" && !strings.HasSuffix(lines[at-1], "\n") {
		lines[at-1] += "\n"
	}
	d.text = strings.Join(slices.Insert(lines, min(at, len(lines)), raw), "")
	return nil
}

// write returns an entry's text for its place: the old text, or a new one.
func (d *yamlDocument) write(e *entry, flow bool, indent int) (string, error) {
	switch {
	case e.raw == "" || e.flow != flow:
		return d.marshal(e, flow, indent)
	case flow:
		return e.raw, nil
	}
	return shift(e.raw, indent), nil
}

// shift changes the indentation of lines, so that the first one that is not a comment is indented by indent.
func shift(raw string, indent int) string {
	by := indent
	for _, line := range yamlLines(raw) {
		if rest := strings.TrimLeft(line, " "); strings.TrimSpace(rest) != "" && rest[0] != '#' {
			by -= len(line) - len(rest)
			break
		}
	}
	if by == 0 {
		return raw
	}
	var b strings.Builder
	for _, line := range yamlLines(raw) {
		if rest := strings.TrimLeft(line, " "); strings.TrimSpace(rest) != "" {
			line = strings.Repeat(" ", max(len(line)-len(rest)+by, 0)) + rest
		}
		b.WriteString(line)
	}
	return b.String()
}

// begin writes the place with its first entry, at the end of the file or where the place is empty.
func (d *yamlDocument) begin(place []string, raw string) error {
	if len(place) != 1 {
		return fmt.Errorf("%s does not exist", strings.Join(place, "."))
	}
	lines := yamlLines(d.text)
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

// marshal writes an entry as lines with this indentation, or in flow style.
func (d *yamlDocument) marshal(e *entry, flow bool, indent int) (string, error) {
	value := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range e.members() {
		if d.list && m.name == "name" {
			continue
		}
		var n yaml.Node
		if err := n.Encode(m.value); err != nil {
			return "", err
		}
		if n.Kind == yaml.SequenceNode {
			n.Style = yaml.FlowStyle
		}
		value.Content = append(value.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: m.name}, &n)
	}
	whole := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: e.name}, value}}
	if d.list {
		value.Content = slices.Concat([]*yaml.Node{{Kind: yaml.ScalarNode, Value: "name"}, {Kind: yaml.ScalarNode, Value: e.name}}, value.Content)
		whole = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
	}
	if flow {
		whole.Style = yaml.FlowStyle
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(whole); err != nil {
		return "", err
	}
	if flow { // without the brackets around the member
		text := strings.TrimSpace(b.String())
		return text[1 : len(text)-1], nil
	}
	pad := strings.Repeat(" ", indent)
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(pad + line)
	}
	return out.String(), nil
}
