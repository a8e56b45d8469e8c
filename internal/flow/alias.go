package flow

import "strings"

// Results that list things show what their IDs stand for: {"id": "C024BE91L", "name": "general"}. A user who says
// "general" means that ID, so the ID counts as named too. This applies only to JSON results, object by object.

const maxAliases = 4096

// idNames and naming are members that identify an object, and that name it.
var (
	idNames = nameSet("id", "uid", "uuid", "gid", "key", "number", "iid", "ts", "url", "uri", "html_url", "web_url", "ref", "sha", "slug", "pageid", "channel_id", "email", "address")
	naming  = nameSet("name", "title", "full_name", "fullname", "display_name", "displayname", "real_name", "subject", "summary", "identifier", "key", "number", "slug", "username", "login", "label", "path", "filename", "handle", "email")
)

func nameSet(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

// relate reads the objects in a JSON text. The caller holds mu.
func (m *Memory) relate(text string, untrusted bool) {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' && text[0] != '[' || len(text) > 1<<18 {
		return
	}
	var open []object
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open = append(open, object{})
			if len(open) > 32 {
				return
			}
		case '}':
			if len(open) == 0 {
				return
			}
			m.alias(&open[len(open)-1], untrusted)
			open = open[:len(open)-1]
		case '"':
			end := closing(text, i+1)
			if end < 0 {
				return
			}
			name := text[i+1 : end]
			i = end
			value, after, ok := scalarAt(text, end+1)
			if !ok {
				continue
			}
			i = after - 1
			if len(open) == 0 {
				continue
			}
			o, name := &open[len(open)-1], strings.ToLower(name)
			if idNames[name] || strings.HasSuffix(name, "_id") {
				o.ids = append(o.ids, value)
			}
			if naming[name] && len(value) <= 120 {
				o.names = append(o.names, value)
			}
		}
	}
}

// object is the IDs and names in one object of a result.
type object struct{ ids, names []string }

func (m *Memory) alias(o *object, untrusted bool) {
	for _, id := range o.ids {
		if untrusted && strings.ContainsAny(id, "@:") { // an address says where it leads, whatever the name
			continue
		}
		for _, name := range o.names {
			if name == id || len(m.aliases) >= maxAliases {
				continue
			}
			ids, words := m.hashes(id), m.hashes(name)
			if len(ids) == 0 || len(words) == 0 || len(words) > 12 || m.aliases[ids[len(ids)-1]] != nil {
				continue
			}
			if m.aliases == nil {
				m.aliases = map[uint64][]uint64{}
			}
			m.aliases[ids[len(ids)-1]] = words
		}
	}
}

// hashes returns the hashes of the words of a text. The hash of the whole comes last.
func (m *Memory) hashes(text string) (list []uint64) {
	s := scanner{seed: m.seed}
	s.scan(text, 0)
	for _, p := range s.prints {
		if !p.span {
			list = append(list, p.hash)
		}
	}
	return list
}

// closing returns the end of the string whose text begins at i, or -1.
func closing(text string, i int) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// scalarAt returns the string or number after a colon at i, and where it ends.
func scalarAt(text string, i int) (value string, end int, ok bool) {
	i = skip(text, i)
	if i >= len(text) || text[i] != ':' {
		return "", i, false
	}
	if i = skip(text, i+1); i >= len(text) {
		return "", i, false
	}
	if text[i] == '"' {
		end = closing(text, i+1)
		if end < 0 {
			return "", i, false
		}
		return text[i+1 : end], end + 1, true
	}
	for end = i; end < len(text) && (isDigit(text[end]) || text[end] == '.' || text[end] == '-'); end++ {
	}
	return text[i:end], end, end > i
}

func skip(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}
