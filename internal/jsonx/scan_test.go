package jsonx

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// scanCases holds texts on which a scanner and jsontext could differ.
var scanCases = []string{
	`{}`, ` [ ] `, `"a`, `{"a":1,}`, `[1,]`, `{"a":1}{`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `nul`, `nulll`, `truefalse`, `[true,false,null]`,
	`0`, `-`, `-0`, `01`, `1.`, `.5`, `1e`, `1E+5`, `-0.0e-1`, `[1.0,1,100000000000000000000,1e999]`, `--1`, `+1`,
	`"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`, `"\ud83d\u0041"`, `"\ud83dx"`, `"\u12"`, `"\x"`, `"\/"`, `"\b\f\n\r\t\"\\"`, "\"\x01\"", "\"\x7f\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"é\u2028\U0001F600\"", "\"\ufffd\"",
	`{"b":1,"a":2}`, `{"a":1,"b":2}`, `{"a":1,"a!":2}`, `{"a!":1,"a":2}`, `{"a":1,"A":2}`, `{"a":1,"\u0061":2}`, `{"é":1,"z":2}`, `{"":1,"a":2}`, `{"a":{"b":{"c":[1,{"d":"x"}]}},"e":"y"}`,
	`{"a":[{"x":1},[2],"z"],"":{"k":"v"},"n":-1.5e3}`, `{"text":"12345678 \" 12345678"}`, `"1234567\\"`, `"12345678"`, `"123456789 é 123456789"`,
	strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat("[", 256) + strings.Repeat("]", 256), strings.Repeat(`{"a":`, 257) + `1` + strings.Repeat("}", 257),
	`{"text":"` + strings.Repeat("0123456789abcdef", 200) + `","more":"` + strings.Repeat(`\n`, 2000) + `"}`, "", " ", "\ufeff{}", "{\"a\":\"\\u0000\"}", `{"jsonrpc":"2.0","id":7,"method":"x"}`,
}

func FuzzScanner(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c))
	}
	f.Add(typical)
	f.Fuzz(scansAlike)
}

// TestScannerGoesDeep checks that the scanner accepts the same depth as jsontext.
func TestScannerGoesDeep(t *testing.T) {
	for _, n := range []int{maxNesting, maxNesting + 1} {
		scansAlike(t, []byte(`{"a":`+strings.Repeat("[", n-1)+`"x"`+strings.Repeat("]", n-1)+`}`))
	}
}

// A deep message leaves no memory that every later message would have to clear.
func TestDeepLeavesNoMemory(t *testing.T) {
	text := []byte(`{"a":` + strings.Repeat(`{"b":`, maxNesting-10) + "1" + strings.Repeat("}", maxNesting-9))
	seen := new(nameStack)
	s := scanner{text: text, lenient: true, names: seen}
	if ok := s.members(seen, []string{"a"}, make([]Member, 1)); !ok || !s.refused {
		t.Fatal(ok, s.refused)
	}
	if cap(seen.frames) > 4*MaxDepth || cap(seen.names) > 4*MaxDepth {
		t.Errorf("%d objects and %d names", cap(seen.frames), cap(seen.names))
	}
}

func sameMember(a, b Member) bool {
	return bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil) && a.Start == b.Start && a.name == b.name
}

// scansAlike compares everything that uses a scanner with jsontext.
func scansAlike(t *testing.T, text []byte) {
	if fast, slow := Check(text), check(text); (fast == nil) != (slow == nil) {
		t.Fatalf("Check: %v, jsontext: %v", fast, slow)
	}
	if fast, slow := Valid(text), jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)); fast != slow {
		t.Fatalf("Valid: %v, jsontext: %v", fast, slow)
	}
	names := &nameStack{}
	if s := (scanner{text: text, names: names}); s.document(MaxDepth) != (check(text) == nil) {
		t.Fatalf("a scanner does not take what jsontext takes, or more: %v", check(text))
	}

	wanted := []string{"jsonrpc", "id", "a", "text", "é"}
	var fast, slow [5]Member
	if a, b := Members(text, wanted, fast[:]), members(text, wanted, slow[:]); (a == nil) != (b == nil) {
		t.Fatalf("Members: %v, jsontext: %v", a, b)
	} else if a == nil {
		for i := range fast {
			if !sameMember(fast[i], slow[i]) {
				t.Fatalf("member %q: %+v, jsontext: %+v", wanted[i], fast[i], slow[i])
			}
		}
	}

	for _, checked := range []bool{false, true} {
		var read [5]Member
		known, err := Read(text, wanted, read[:], checked)
		if wrong := members(text, wanted, slow[:]); (err == nil) != (wrong == nil) || err == nil && !slices.EqualFunc(read[:], slow[:], sameMember) {
			t.Fatalf("Read: %v, jsontext: %v", err, wrong)
		}
		if want := check(text) == nil; err == nil && checked && known == Checked != want {
			t.Fatalf("it is known to be %d, and Check says %v", known, check(text))
		}
		if known != Loose && (err != nil || !utf8.Valid(text) || !checked && known == Checked) {
			t.Fatalf("%v, and it is known to be %d", err, known)
		}
	}
	for _, word := range []string{"a/b", "task", "_", "x\\"} {
		if holds(text, word) != bytes.Contains(text, []byte(word)) {
			t.Fatalf("whether it holds %s", word)
		}
	}

	if a, b := slices.Collect(Strings(text)), slices.Collect(stringsIn(text)); !slices.Equal(a, b) {
		t.Fatalf("Strings: %q, jsontext: %q", a, b)
	}

	digest, err := Digest(text, "salt")
	canonical := jsontext.Value(bytes.Clone(text))
	wrong := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if len(text) == 0 && text != nil {
		return
	}
	if text != nil && (err == nil) != (wrong == nil) {
		t.Fatalf("Digest: %v, jsontext: %v", err, wrong)
	}
	if sum := sha256.Sum256(append(append(canonical, 0), "salt"...)); err == nil && text != nil && digest != hex.EncodeToString(sum[:]) {
		t.Fatalf("the digest is not that of %s", canonical)
	}
	if check(text) == nil {
		leavesAlike(t, text)
	}
}

// leavesAlike compares Leaves with the tokens of the text.
func leavesAlike(t *testing.T, text []byte) {
	var want []string
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		in, n := dec.StackIndex(dec.StackDepth())
		if kind := token.Kind(); kind == '0' || kind == '"' && !(in == '{' && n%2 == 1) {
			want = append(want, token.String())
		}
	}
	var got []string
	for _, l := range Leaves(text) {
		got = append(got, l.Text)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("leaves: %q, jsontext: %q", got, want)
	}
}

func TestLeaves(t *testing.T) {
	got := Leaves([]byte(`{"to":"a@b","body":{"text":"x","list":[{"n":1.50},["y"]],"":"z"},"flag":true,"none":null}`))
	want := []Leaf{{"to", "a@b", false}, {"body.text", "x", false}, {"body.list.n", "1.50", true}, {"body.list", "y", false}, {"body", "z", false}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestLeavesOfLongNames checks that a long name around many members needs no more memory than a few times the text.
func TestLeavesOfLongNames(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	text := []byte(`{"` + long + `":{` + strings.Repeat(`"a":1,`, 20_000) + `"b":2}}`)
	list := Leaves(text)
	if len(list) != 20_001 || list[0].Name != long || unsafe.StringData(list[0].Name) != unsafe.StringData(list[20_000].Name) {
		t.Errorf("%d leaves, of which each has a name of its own", len(list))
	}
}

var long = []byte(`{"text":"` + strings.Repeat("0123456789abcdef", 6400) + `"}`)

func BenchmarkLong(b *testing.B) {
	var dst [1]Member
	for _, c := range []struct {
		name string
		of   func() error
	}{
		{"check", func() error { return Check(long) }},
		{"members", func() error { return Members(long, []string{"text"}, dst[:]) }},
		{"digest", func() error { _, err := Digest(long, ""); return err }},
		{"strings", func() error {
			for range Strings(long) {
			}
			return nil
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(long)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.of(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestScannerByChance compares it with jsontext on texts made of pieces of others.
func TestScannerByChance(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{3}))
	from := append(scanCases[:len(scanCases):len(scanCases)], string(typical))
	piece := func() string {
		text := from[r.IntN(len(from))]
		start := r.IntN(len(text) + 1)
		return text[start : start+r.IntN(min(40, len(text)-start)+1)]
	}
	for range 3000 {
		text := from[r.IntN(len(from))]
		text = text[:min(len(text), 600)]
		for range 1 + r.IntN(3) {
			at := r.IntN(len(text) + 1)
			text = text[:at] + piece() + text[min(len(text), at+r.IntN(4)):]
		}
		scansAlike(t, []byte(text))
	}
}
