package install

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// rename is a changed name in a host's settings. If From is "", the name was added to a list.
type rename struct {
	List []string `json:"list,omitempty"` // the list to which it was added
	From string   `json:"from,omitempty"`
	To   string   `json:"to"`
}

// applyRenames applies renames, and returns those that found nothing. All other bytes stay.
func applyRenames(format string, text []byte, renames []rename) ([]byte, []rename, error) {
	if format == frontMatter {
		text, left := renameWords(text, renames)
		return text, left, nil
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read as JSON: %w", jsonx.Explain(err))
	}
	var left []rename
	for _, r := range renames {
		switch {
		case r.From != "" && r.To != "":
			n := 0
			for x := range v.All() {
				if l, ok := x.Value.(hujson.Literal); ok && l.Kind() == '"' && l.String() == r.From {
					x.Value, n = hujson.String(r.To), n+1
				}
			}
			if n == 0 {
				left = append(left, r)
			}
		case r.From == "":
			if !addTo(&v, r.List, r.To) {
				left = append(left, r)
			}
		default: // To is "": remove it from the list
			if !takeFrom(&v, r.List, r.From) {
				left = append(left, r)
			}
		}
	}
	return v.Pack(), left, nil
}

// inverse returns the renames that undo renames, last first.
func inverse(renames []rename) []rename {
	var out []rename
	for _, r := range slices.Backward(renames) {
		out = append(out, rename{List: r.List, From: r.To, To: r.From})
	}
	return out
}

func arrayAt(v *hujson.Value, list []string) *hujson.Array {
	at := v
	for _, name := range list {
		obj, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i := slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
		if i < 0 {
			return nil
		}
		at = &obj.Members[i].Value
	}
	array, _ := at.Value.(*hujson.Array)
	return array
}

func addTo(v *hujson.Value, list []string, name string) bool {
	array := arrayAt(v, list)
	if array == nil || slices.ContainsFunc(array.Elements, is(name)) {
		return false
	}
	element := hujson.Value{Value: hujson.String(name)}
	if n := len(array.Elements); n > 0 {
		last := array.Elements[n-1]
		element.BeforeExtra = last.BeforeExtra[len(strings.TrimRight(string(last.BeforeExtra), " \t\r\n")):]
		element.AfterExtra, array.Elements[n-1].AfterExtra = last.AfterExtra, nil
	}
	array.Elements = append(array.Elements, element)
	return true
}

func takeFrom(v *hujson.Value, list []string, name string) bool {
	array := arrayAt(v, list)
	if array == nil {
		return false
	}
	i := slices.IndexFunc(array.Elements, is(name))
	if i < 0 {
		return false
	}
	if i > 0 && i == len(array.Elements)-1 {
		array.Elements[i-1].AfterExtra = array.Elements[i].AfterExtra
	}
	array.Elements = slices.Delete(array.Elements, i, i+1)
	return true
}

func is(name string) func(hujson.Value) bool {
	return func(v hujson.Value) bool {
		l, ok := v.Value.(hujson.Literal)
		return ok && l.Kind() == '"' && l.String() == name
	}
}

// names calls add for each tool name in a host's settings.
func (s *Settings) names(v *hujson.Value, add func(name string)) {
	for _, list := range s.Lists {
		if array := arrayAt(v, list); array != nil {
			for _, e := range array.Elements {
				if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' {
					add(l.String())
				}
			}
		}
	}
	for _, place := range s.Keys {
		for _, obj := range objectsAt(v, place) {
			for _, m := range obj.Members {
				add(nameOf(m))
			}
		}
	}
	for _, name := range s.Matchers {
		below := v.Find("/" + name)
		if below == nil {
			continue
		}
		for x := range below.All() {
			if obj, ok := x.Value.(*hujson.Object); ok {
				matchers(obj, add)
			}
		}
	}
}

// matchers calls add for the text of each "matcher" member of an object.
func matchers(obj *hujson.Object, add func(text string)) {
	for _, m := range obj.Members {
		if l, ok := m.Value.Value.(hujson.Literal); ok && nameOf(m) == "matcher" && l.Kind() == '"' {
			add(l.String())
		}
	}
}

// renamesFor finds the names in a host's settings that change when servers move behind callgate's entries: tools in
// lists, as members, and in matchers of hooks, which are regular expressions. Lists of servers get callgate's entries.
func renamesFor(s *Settings, text []byte, moved []moving) (out []rename, err error) {
	longest := slices.Clone(moved)
	slices.SortStableFunc(longest, func(a, b moving) int { return len(b.called) - len(a.called) }) // one name may be a prefix of another
	add := func(name string) {
		if to := renamed(s, name, longest); to != name && !slices.ContainsFunc(out, func(r rename) bool { return r.From == name }) {
			out = append(out, rename{From: name, To: to})
		}
	}
	if s.Format == frontMatter {
		for _, word := range word.FindAllString(string(text[:frontEnd(text)]), -1) {
			add(word)
		}
		return out, nil
	}
	v, err := hujson.Parse(bytes.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return nil, fmt.Errorf("read as JSON: %w", jsonx.Explain(err))
	}
	s.names(&v, add)
	addAll := func(list []string, wanted func(m *moving, array *hujson.Array) string) {
		array := arrayAt(&v, list)
		for i := range moved {
			if array == nil || !moves(moved[i]) {
				continue
			}
			r := rename{List: list, To: wanted(&moved[i], array)}
			if r.To != "" && !slices.ContainsFunc(array.Elements, is(r.To)) && !slices.ContainsFunc(out, func(o rename) bool { return o.From == "" && o.To == r.To && slices.Equal(o.List, list) }) {
				out = append(out, r)
			}
		}
	}
	for _, list := range slices.Concat(s.Servers, s.Only) {
		addAll(list, func(m *moving, array *hujson.Array) string {
			if slices.ContainsFunc(array.Elements, is(m.called)) {
				return m.entry
			}
			return ""
		})
	}
	if len(s.Allow) > 0 {
		addAll(s.Allow, func(m *moving, _ *hujson.Array) string { return wholeServer(s.Tools[0], m.entry) })
	}
	return out, nil
}

// objectsAt returns the objects at a place; * stands for each member.
func objectsAt(v *hujson.Value, place []string) (list []*hujson.Object) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	if len(place) == 0 {
		return []*hujson.Object{obj}
	}
	for i := range obj.Members {
		if m := &obj.Members[i]; place[0] == "*" || place[0] == nameOf(*m) {
			list = append(list, objectsAt(&m.Value, place[1:])...)
		}
	}
	return list
}

// renamed returns the new name of a moved server's tool: mcp__files__read becomes mcp__callgate__files_read.
func renamed(s *Settings, name string, moved []moving) string {
	for _, form := range s.Tools {
		head, rest, _ := strings.Cut(form, "%s")
		between, _, _ := strings.Cut(rest, "%s")
		if head == "" { // not a regular expression: name starts with the server, or is another tool's
			for i := range moved {
				m := &moved[i]
				tool, begins := strings.CutPrefix(name, m.called+between)
				switch {
				case begins && moves(*m):
					return m.entry + between + m.alias + "_" + tool
				case name == m.called+"*" && moves(*m):
					return m.entry + between + m.alias + "_*"
				case begins:
					return name
				}
			}
			continue
		}
		var servers []string
		byName := map[string]*moving{}
		for i := range moved {
			m := &moved[i]
			if byName[m.called] == nil {
				servers, byName[m.called] = append(servers, regexp.QuoteMeta(m.called)), m
			}
			if name == head+m.called && moves(*m) && s.Wide {
				return head + m.entry
			}
			if name == head+m.called && moves(*m) {
				return head + m.entry + between + m.alias + "_*"
			}
		}
		part := regexp.MustCompile(regexp.QuoteMeta(head) + `(` + strings.Join(servers, "|") + `)(` + regexp.QuoteMeta(between) + `|[^A-Za-z0-9_-])`)
		name = part.ReplaceAllStringFunc(name, func(found string) string {
			parts := part.FindStringSubmatch(found)
			m := byName[parts[1]]
			if !moves(*m) {
				return found
			}
			return head + m.entry + between + m.alias + "_" + strings.TrimPrefix(parts[2], between)
		})
	}
	return name
}

// wholeServer returns the form for all tools of a server: "mcp__%s__%s" gives "mcp__files".
func wholeServer(form, server string) string {
	head, _, _ := strings.Cut(form, "%s")
	return head + server
}

// frontMatter is the format of texts that start with settings between two lines with ---.
const frontMatter = "front"

// word matches a tool's name in front matter.
var word = lazyregexp.New(`[A-Za-z0-9_*-]+`)

// frontEnd returns the end of a text's front matter; 0 if it has none.
func frontEnd(text []byte) int {
	if !bytes.HasPrefix(text, []byte("---")) {
		return 0
	}
	if i := bytes.Index(text[3:], []byte("\n---")); i >= 0 {
		return 3 + i
	}
	return 0
}

// renameWords renames in the front matter of a text.
func renameWords(text []byte, renames []rename) (out []byte, left []rename) {
	end := frontEnd(text)
	head := string(text[:end])
	for _, r := range renames {
		n := 0
		head = word.ReplaceAllStringFunc(head, func(w string) string {
			if w == r.From {
				n++
				return r.To
			}
			return w
		})
		if n == 0 {
			left = append(left, r)
		}
	}
	return append([]byte(head), text[end:]...), left
}
