package jsonx

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var checkCases = []struct{ name, text, want string }{
	{"object", `{"a":1,"b":[{"a":1},{"a":2}],"c":{"a":{}}}`, ""},
	{"scalar", ` "x" `, ""},
	{"number spellings", `[1.0,1e400,-0,9007199254740993]`, ""},
	{"duplicate", `{"a":1,"a":2}`, "named like"},
	{"duplicate after escape", `{"a":1,"\u0061":2}`, "named like"},
	{"case variant", `{"name":1,"Name":2}`, "named like"},
	{"long s folds to s", `{"task":1,"ta\u017fk":2}`, "named like"},
	{"Kelvin sign folds to k", "{\"k\":1,\"\u212a\":2}", "named like"},
	{"deep", `{"a":[{"b":{"x":1,"X":2}}]}`, "named like"},
	{"sibling objects share names", `[{"x":1},{"X":2}]`, ""},
	{"after a nested object", `{"a":{"b":1},"B":1,"b":2}`, "named like"},
	{"lone surrogate", `{"a":"\ud800"}`, "surrogate"},
	{"not UTF-8", "{\"a\":\"\xff\"}", "UTF-8"},
	{"trailing text", `{} {}`, "text follows"},
	{"empty", ``, "ends too early"},
	{"cut", `{"a":`, "ends too early"},
	{"not JSON", `{a:1}`, "invalid JSON"},
	{"too deep", strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "deeper"},
	{"deep enough", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), ""},
	{"many names", manyMembers(3000), ""},
	{"many names, the last twice", manyMembers(3000)[:len(manyMembers(3000))-1] + `,"KEY7":1}`, "named like"},
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"key%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestCheck(t *testing.T) {
	for _, c := range checkCases {
		t.Run(c.name, func(t *testing.T) {
			err := Check([]byte(c.text))
			if c.want == "" && err != nil {
				t.Fatalf("Check = %v, want nil", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("Check = %v, want an error that says %q", err, c.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	names := []string{"id", "method", "params"}
	for _, c := range []struct{ name, text, want, err string }{
		{"found", `{"x":{"id":9}, "method" : "m","params": {"a":[1, 2]} ,"id":"7"}`, `"7"|"m"|{"a":[1, 2]}`, ""},
		{"absent", `{}`, `||`, ""},
		{"escaped name", `{"\u0069d":1}`, `1||`, ""},
		{"case variant alone", `{"Method":"tools/call"}`, "", "spelled unlike"},
		{"folded variant alone", `{"param\u017f":{}}`, "", "spelled unlike"},
		{"twice", `{"id":1,"id":2}`, "", "named like"},
		{"unknown member twice", `{"x":1,"X":2}`, "", "named like"},
		{"duplicates below are not judged", `{"params":{"a":1,"a":2}}`, `||{"a":1,"a":2}`, ""},
		{"array", `[1]`, "", "not a JSON object"},
		{"trailing", `{"id":1}x`, "", "text follows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got [3]Member
			err := Members([]byte(c.text), names, got[:])
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error = %v, want one that says %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := fmt.Sprintf("%s|%s|%s", got[0].Value, got[1].Value, got[2].Value); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			for _, m := range got {
				if m.Value != nil && !bytes.Equal([]byte(c.text)[m.Start:m.End()], m.Value) {
					t.Errorf("offsets %d:%d do not hold %s", m.Start, m.End(), m.Value)
				}
			}
		})
	}
}

func TestStrings(t *testing.T) {
	var got []string
	for s := range Strings([]byte(`{"a":["b",1,{"\u0063":"d\n"}],"e":null}`)) {
		if got = append(got, s); s == "d\n" {
			break
		}
	}
	if want := "[\"a\" \"b\" \"c\" \"d\\n\"]"; fmt.Sprintf("%q", got) != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// Strings are the same when there are more than the check remembers.
func TestManyStrings(t *testing.T) {
	for n := range 200 {
		text := []byte(`{"a":[` + strings.Repeat(`"b\n" , {"c":"d"},`, n) + `"e"]}`)
		if got, want := slices.Collect(Strings(text)), slices.Collect(stringsIn(text)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, and not %q", text, got, want)
		}
	}
}

func TestMayHold(t *testing.T) {
	for text, want := range map[string]bool{
		`{"task":1}`: true, `{"\u0074ask":1}`: true, `{"tas\u006B":1}`: true, `{"a":"\n\t\\ \"x\" \u20ac"}`: false, `{"a":"ta sk"}`: false, ``: false,
	} {
		if got := MayHold([]byte(text), "task"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !MayHold([]byte(`"related\u002dtask"`), "related-task") {
		t.Error("what is no letter can be spelled like one")
	}
	if !MayHold([]byte(`"callgate\/x"`), "callgate/") {
		t.Error("a slash has an escape of its own")
	}
}

func TestSplice(t *testing.T) {
	text := []byte(`{"id": 1.0, "name":"a"}`)
	got := Splice(text, Edit{Start: 19, End: 22, With: []byte(`"long name"`)}, Edit{Start: 7, End: 10, With: []byte(`"x"`)})
	if want := `{"id": "x", "name":"long name"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDelete(t *testing.T) {
	for text, want := range map[string]string{
		`{"x":1,"b":2}`:              `{"b":2}`,
		`{"b":2 , "x" : [1] }`:       `{"b":2  }`,
		`{"x":1}`:                    `{}`,
		`{"a":1,"x":{"y":2} ,"b":2}`: `{"a":1,"b":2}`,
	} {
		var m [1]Member
		if err := Members([]byte(text), []string{"x"}, m[:]); err != nil {
			t.Fatal(err)
		}
		if got := string(Splice([]byte(text), Delete([]byte(text), m[0]))); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestLength(t *testing.T) {
	for text, want := range map[string]int{`[]`: 0, `[1,[2,3],{"a":[]}]`: 3, `{}`: -1, `[1,`: -1} {
		if got := Length([]byte(text)); got != want {
			t.Errorf("Length(%s) = %d, want %d", text, got, want)
		}
	}
}

func TestDigest(t *testing.T) {
	digest := func(s, salt string) string {
		d, err := Digest([]byte(s), salt)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	base := digest(`{"a":1,"b":"A"}`, "agent")
	if base != digest(`{ "b":"\u0041", "a":1 }`, "agent") {
		t.Error("order, spaces or escapes changed the digest")
	}
	for _, other := range []string{`{"a":1.0,"b":"A"}`, `{"a":2,"b":"A"}`, `{"a":"1","b":"A"}`} {
		if digest(other, "agent") == base {
			t.Errorf("%s has the digest of another value", other)
		}
	}
	if digest(`{"a":1,"b":"A"}`, "explore") == base {
		t.Error("the agent is not part of the digest")
	}
	if digest(`{"n":9007199254740993}`, "") == digest(`{"n":9007199254740992}`, "") {
		t.Error("large numbers collide")
	}
	for n := range 2 << 10 { // short ones are joined first
		text := `{"a":"` + strings.Repeat("x", n) + `"}`
		sum := sha256.Sum256([]byte(text + "\x00agent"))
		if digest(text, "agent") != hex.EncodeToString(sum[:]) {
			t.Fatalf("the digest of %d bytes", len(text))
		}
	}
	none, err := Digest(nil, "")
	if err != nil || none != digest(`{}`, "") {
		t.Error("no arguments and {} differ")
	}
	if _, err := Digest([]byte(`{"a":1,"a":2}`), ""); err == nil {
		t.Error("a duplicate name was digested")
	}
}

func FuzzCheck(f *testing.F) {
	for _, c := range checkCases {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if Check(text) != nil {
			return
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") {
			t.Fatalf("Check accepts what encoding/json refuses: %v", err)
		}
		if _, err := Digest(text, ""); err != nil {
			t.Fatalf("Check accepts what Digest refuses: %v", err)
		}
	})
}

var typical = []byte(`{"jsonrpc":"2.0","id":123,"method":"tools/call","params":{"name":"filesystem_read_text_file","arguments":{"path":"/home/user/project/README.md","head":10},"_meta":{"progressToken":12}}}`)

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(typical); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	b.ReportAllocs()
	var dst [3]Member
	names := []string{"id", "method", "params"}
	for b.Loop() {
		if err := Members(typical, names, dst[:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Digest([]byte(`{"path":"/home/user/project/README.md","head":10}`), ""); err != nil {
			b.Fatal(err)
		}
	}
}
