package catalogue

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/upstream"
)

// listOf reads a raw list result as a server's is read.
func listOf(t *testing.T, k upstream.Kind, raw string, pages int) upstream.List {
	t.Helper()
	var members map[string]json.RawMessage
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(raw), &members); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(members[k.Member()], &items); err != nil {
		t.Fatal(err)
	}
	list := upstream.List{Envelope: []byte(raw), Pages: pages}
	for _, item := range items {
		var keys struct{ Name, URI string }
		if err := json.Unmarshal(item, &keys); err != nil {
			t.Fatal(err)
		}
		key := keys.Name
		if k == upstream.Resources {
			key = keys.URI
		}
		list.Items = append(list.Items, upstream.Item{Key: key, Raw: item})
	}
	return list
}

func TestMerge(t *testing.T) {
	const one = `{ "_meta" : {"n": 1.0}, "tools": [ {"name":"a", "x":1e2} ,{"description":"b", "name":"b"} ] }`
	listings := func(lists []upstream.List, rename func(string) string, hide string) (all []listing) {
		for _, list := range lists {
			for _, item := range list.Items {
				all = append(all, listing{name: item.Key, shown: rename(item.Key), raw: item.Raw, hidden: item.Key == hide})
			}
		}
		return all
	}
	same := func(name string) string { return name }
	prefixed := func(name string) string { return "s_" + name }
	for _, c := range []struct {
		name   string
		lists  []upstream.List
		rename func(string) string
		hide   string
		want   string
	}{
		{"nothing to change: byte for byte", []upstream.List{listOf(t, upstream.Tools, one, 1)}, same, "", one},
		{"renamed: the envelope and the rest of the items stay", []upstream.List{listOf(t, upstream.Tools, one, 1)}, prefixed, "",
			`{ "_meta" : {"n": 1.0}, "tools": [{"name":"s_a", "x":1e2},{"description":"b", "name":"s_b"}] }`},
		{"an item is hidden", []upstream.List{listOf(t, upstream.Tools, one, 1)}, same, "a",
			`{ "_meta" : {"n": 1.0}, "tools": [{"description":"b", "name":"b"}] }`},
		{"pages become one, without the cursor", []upstream.List{func() upstream.List {
			list := listOf(t, upstream.Tools, `{"tools":[{"name":"a"}],"nextCursor":"2"}`, 2)
			list.Items = append(list.Items, upstream.Item{Key: "b", Raw: []byte(`{"name":"b"}`)})
			return list
		}()}, same, "", `{"tools":[{"name":"a"},{"name":"b"}]}`},
		{"items that were left out stay out", []upstream.List{func() upstream.List {
			list := listOf(t, upstream.Tools, `{"tools":[{"name":"a"},{"name":"a"}]}`, 1)
			list.Items = list.Items[:1]
			return list
		}()}, same, "", `{"tools":[{"name":"a"}]}`},
		{"several servers", []upstream.List{listOf(t, upstream.Tools, one, 1), listOf(t, upstream.Tools, `{"tools":[{"name":"c"}],"_meta":{}}`, 1)}, same, "",
			`{"tools":[{"name":"a", "x":1e2},{"description":"b", "name":"b"},{"name":"c"}]}`},
		{"none", nil, same, "", `{"tools":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen snapshot
			for _, list := range c.lists {
				seen.sources = append(seen.sources, &Source{Lists: [len(upstream.Kinds)]upstream.List{upstream.Tools: list}})
			}
			if got := seen.merge(upstream.Tools, listings(c.lists, c.rename, c.hide)); string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTemplateFits(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"file:///a", "file:///a", true},
		{"file:///a", "file:///ab", false},
		{"file:///{path}", "file:///etc/passwd", true},
		{"file:///{path}", "file:///", true},
		{"file:///{path}", "http:///x", false},
		{"db://{table}/{id}/row", "db://users/7/row", true},
		{"db://{table}/{id}/row", "db://users/7/column", false},
		{"db://{table}/{id}/row", "db://users-row", false},
		{"x{a}x", "x", false}, // one x cannot be both
		{"x{a}x", "xx", true},
		{"{+all}", "anything at all", true},
		{"a{?q,r}", "a?q=1&r=2", true},
		{"a{b", "a{b", true},
		{"a{b", "ac", false},
		{"", "", true},
		{"", "a", false},
	} {
		if got := (template{uri: c.template}).fits(c.uri); got != c.want {
			t.Errorf("%q fits %q: %v", c.template, c.uri, got)
		}
	}
}

// No template of a server may make a look-up panic, and a URI that fits a template begins and ends like it.
func FuzzTemplateFits(f *testing.F) {
	f.Add("db://{table}/{id}/row", "db://users/7/row")
	f.Add("x{a}x", "xx")
	f.Add("}{", "{}")
	f.Fuzz(func(t *testing.T, text, uri string) {
		if !(template{uri: text}).fits(uri) {
			return
		}
		if before, _, found := strings.Cut(text, "{"); found && strings.Contains(text, "}") && !strings.HasPrefix(uri, before) && uri != text {
			t.Errorf("%q fits %q", text, uri)
		}
	})
}
