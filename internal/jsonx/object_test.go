package jsonx

import "testing"

func TestAt(t *testing.T) {
	const object = `{"a":{"b":"c","n":null},"list":[1],"twice":{"x":1,"x":2}}`
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"a", "b"}, `"c"`},
		{[]string{"a"}, `{"b":"c","n":null}`},
		{[]string{"a", "n"}, "null"},
		{[]string{"a", "x"}, ""},
		{[]string{"x", "b"}, ""},
		{[]string{"a", "b", "c"}, ""},
		{[]string{"list", "0"}, ""},
		{[]string{"twice", "x"}, ""}, // decoders disagree
		{nil, object},
	} {
		got := At([]byte(object), c.path...)
		if string(got) != c.want || (got != nil) != Has([]byte(object), c.path...) {
			t.Errorf("%q leads to %q, want %q", c.path, got, c.want)
		}
	}
	if got := At(nil, "a"); got != nil {
		t.Errorf("nothing leads to %q", got)
	}
}
