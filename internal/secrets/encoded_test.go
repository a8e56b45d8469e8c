package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allStretches returns the stretches of decoded bytes, by looking at each byte.
func allStretches(b []byte) (list []string) {
	for done, i := 0, shortestNamed-1; i < len(b); i++ {
		if slices.ContainsFunc(b[i-shortestNamed+1:i+1], func(c byte) bool { return c < ' ' || c > '~' }) {
			continue
		}
		start, end := i, i
		for start > done && (!control[b[start-1]] || start-1 > done && !control[b[start-2]]) {
			start--
		}
		for end < len(b) && (!control[b[end]] || end+1 < len(b) && !control[b[end+1]]) {
			end++
		}
		list = append(list, string(b[start:end]))
		done, i = end, end+shortestNamed-1
	}
	return list
}

// FuzzStretches checks that decoding in windows yields the same as decoding everything.
func FuzzStretches(f *testing.F) {
	for _, text := range []string{"", "0123456", "01234567", "\x0001234567\x00", "\x00\x0001234567\x00\x0089abcdef\x00", "\x7f~~~~~~~~\x7f", "\xff\xff01234567\xff\x00"} {
		f.Add([]byte(text))
	}
	r := rand.New(rand.NewPCG(7, 7))
	for n := range 60 { // noise with words, longer than windows
		b := make([]byte, 5000)
		for i := range b {
			b[i] = byte(r.Uint32())
			if n%3 > 0 && r.IntN(40*(n%3)) > 0 {
				b[i] = "printable"[r.IntN(9)]
			}
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := allStretches(b)
		for name, d := range map[string]*digits{"base64": inBase64(base64.RawStdEncoding.EncodeToString(b)), "URL": inBase64(base64.RawURLEncoding.EncodeToString(b)), "hex": inHex(hex.EncodeToString(b))} {
			var got []string
			for s := range d.stretches() {
				got = append(got, string(s))
			}
			if d.done(); !slices.Equal(got, want) {
				t.Errorf("%s of %q: %q, and not %q", name, b, got, want)
			}
		}
	})
}

var someEncoded, someHex = regexp.MustCompile(`[A-Za-z0-9+/_-]+`), regexp.MustCompile(`[0-9A-Fa-f]+`)

// long returns the matches that are long enough to be encoded.
func long(e *regexp.Regexp, text string) []string {
	return slices.DeleteFunc(e.FindAllString(text, -1), func(s string) bool { return len(s) < shortestCode })
}

// TestEncoded checks that no part that could be encoded is skipped.
func TestEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, r.IntN(200))
		for i := range b {
			b[i] = "0aF9_zZ+ .g"[min(r.IntN(40), r.IntN(40))%11]
		}
		text := string(b)
		if got, want := encoded(text), long(someEncoded, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
		if got, want := slices.Collect(hexIn(text, false)), long(someHex, text); !slices.Equal(got, want) {
			t.Errorf("%q: hex %q, and not %q", text, got, want)
		}
	}
}

// wordsOf is a text that is searched for each word.
type wordsOf string

func (w wordsOf) MayHold(word string) bool { return w.Holds(word) }
func (w wordsOf) Holds(word string) bool   { return strings.Contains(strings.ToLower(string(w)), word) }
func (w wordsOf) HoldsSecret() bool        { return true }

// mayHold is a wordsOf that may hold any word.
type mayHold struct{ wordsOf }

func (mayHold) MayHold(string) bool { return true }

// TestFormOfKnown checks that known affects only the time.
func TestFormOfKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 15 {
		text := ""
		for range 6 {
			k := keywords()[r.IntN(len(keywords()))]
			text += k + []string{"", "_", " = ", "-"}[r.IntN(4)] + strings.Repeat("x7Kq2mZ9vR", r.IntN(5)) + []string{"", " ", "\n"}[r.IntN(3)]
		}
		want, is := Form(text, nil, nil)
		for _, known := range []Words{wordsOf(text), mayHold{wordsOf(text)}} {
			if got, ok := Form(text, known, nil); ok != is || got != want {
				t.Errorf("%q: %v %v, and not %v %v", text, got, ok, want, is)
			}
		}
	}
}
