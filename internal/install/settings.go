package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// rename is a name in a host's settings that has changed, or with From "" one that was added to a list.
type rename struct {
	List []string `json:"list,omitempty"` // where it was added
	From string   `json:"from,omitempty"`
	To   string   `json:"to"`
}

// apply makes the renames, and returns those that found nothing to change. Each other byte stays.
func applyRenames(text []byte, renames []rename) ([]byte, []rename, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read as JSON: %w", err)
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
		default: // To is "": taken off the list again
			if !takeFrom(&v, r.List, r.From) {
				left = append(left, r)
			}
		}
	}
	return v.Pack(), left, nil
}

// inverse takes renames back, the last first.
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

// renamesFor finds the names in a host's settings that change when servers move behind the entry: tools in lists, and in
// matchers of hooks, which are regular expressions.
func renamesFor(s *Settings, text []byte, entryName string, moved map[string]string) ([]rename, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read as JSON: %w", err)
	}
	var out []rename
	add := func(name string) {
		if to := renamed(s, name, entryName, moved); to != name && !slices.ContainsFunc(out, func(r rename) bool { return r.From == name }) {
			out = append(out, rename{From: name, To: to})
		}
	}
	for _, list := range s.Lists {
		if array := arrayAt(&v, list); array != nil {
			for _, e := range array.Elements {
				if l, ok := e.Value.(hujson.Literal); ok && l.Kind() == '"' {
					add(l.String())
				}
			}
		}
	}
	for _, name := range s.Matchers {
		if below := v.Find("/" + name); below != nil {
			for x := range below.All() {
				if obj, ok := x.Value.(*hujson.Object); ok {
					for _, m := range obj.Members {
						if l, ok := m.Value.Value.(hujson.Literal); ok && nameOf(m) == "matcher" && l.Kind() == '"' {
							add(l.String())
						}
					}
				}
			}
		}
	}
	if array := arrayAt(&v, s.Allow); len(s.Allow) > 0 && array != nil {
		if all := wholeServer(s.Tools[0], entryName); !slices.ContainsFunc(array.Elements, is(all)) {
			out = append(out, rename{List: s.Allow, To: all})
		}
	}
	return out, nil
}

// renamed is how a name of a moved server's tool reads afterwards: mcp__files__read is mcp__callgate__files_read.
func renamed(s *Settings, name, entryName string, moved map[string]string) string {
	for _, form := range s.Tools {
		for server, alias := range moved {
			if name == wholeServer(form, server) {
				return fmt.Sprintf(form, entryName, alias+"_*")
			}
			name = strings.ReplaceAll(name, fmt.Sprintf(form, server, ""), fmt.Sprintf(form, entryName, alias+"_"))
		}
	}
	return name
}

// wholeServer is how a form names all tools of a server: "mcp__%s__%s" is "mcp__files".
func wholeServer(form, server string) string {
	head, _, _ := strings.Cut(form, "%s")
	return head + server
}
