package textscan

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// slowAlnum is Alnum, a byte at a time.
func slowAlnum(text string, i int) int {
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
		i++
	}
	return i
}

func slowLower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c - 'A' + 'a'
		}
	}
	return string(b)
}

func check(t *testing.T, text, word string) {
	t.Helper()
	for i := 0; i <= len(text); i = slowAlnum(text, i) + 1 {
		if got, want := Alnum(text, i), slowAlnum(text, i); got != want {
			t.Fatalf("%q from %d: the letters and digits end at %d, and not at %d", text, i, got, want)
		}
	}
	if got, want := IsHex(text), strings.Trim(text, "0123456789abcdefABCDEF") == ""; got != want {
		t.Fatalf("%q is hex: %v", text, got)
	}
	if got, want := IsASCII(text), !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }); got != want {
		t.Fatalf("%q is ASCII: %v", text, got)
	}
	if got, want := HasDigit(text), strings.ContainsFunc(text, func(r rune) bool { return '0' <= r && r <= '9' || r >= 0x80 }); got != want {
		t.Fatalf("%q has a digit: %v", text, got)
	}
	if Lower(text) != slowLower(text) {
		t.Fatalf("%q is %q in lower case", text, Lower(text))
	}
	if got, want := HasOne(text, word), strings.ContainsAny(text, word); got != want {
		t.Fatalf("%q has one of %q: %v", text, word, got)
	}
	var g Grams
	g.Of(text)
	for i := range len(text) + 1 {
		if part := text[i:min(len(text), i+1+i%9)]; !g.MayHold(part) {
			t.Fatalf("%q does not hold %q", text, part)
		}
	}
	if strings.Contains(text, word) && !g.MayHold(word) {
		t.Fatalf("%q does not hold %q", text, word)
	}
}

func TestEveryByte(t *testing.T) {
	for c := range 256 {
		for at := range 40 {
			b := []byte(strings.Repeat("aZ09", 10))
			b[at] = byte(c)
			check(t, string(b), "Z09")
			check(t, string(b[at/2:at+1]), "Z09")
			hex := []byte(strings.Repeat("0aF9", 10))
			hex[at] = byte(c)
			check(t, string(hex), "")
		}
	}
}

func TestGramsTellWords(t *testing.T) {
	words := strings.Fields("drop truncate delete detach mutation dangerously yolo bypass settings permission")
	var g Grams
	g.Of(strings.Repeat("0123456789abcdef", 6400))
	for _, w := range words {
		if g.MayHold(w) {
			t.Errorf("digits may hold %q", w)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 100<<10)
	for i := range text {
		text[i] = "etaoin shrdlu"[random.IntN(13)]
	}
	g.Of(string(text))
	for _, w := range words {
		if g.MayHold(w) && strings.Trim(w, "etaoinshrdlu") != "" {
			t.Errorf("a text of a few letters may hold %q", w)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add("plain text, 0123456789abcdef", "text")
	f.Add("\x00\x7f\x80é", "é")
	f.Fuzz(func(t *testing.T, text, word string) { check(t, text, word) })
}

func BenchmarkGrams100KiB(b *testing.B) {
	text := strings.Repeat("They ask for the key of Mike's desk, and you say: it is at the usual place. ", 1350)
	b.SetBytes(int64(len(text)))
	var g Grams
	for b.Loop() {
		g.Of(text)
	}
}

func BenchmarkAlnum100KiB(b *testing.B) {
	text := strings.Repeat("0123456789abcdef", 6400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Alnum(text, 0)
	}
}

// TestHash checks that a hash distinguishes letters at any place, but not their case.
func TestHash(t *testing.T) {
	seen := map[uint64]string{}
	for size := range 40 {
		text := strings.Repeat("aZ09", 10)[:size]
		for at := range size + 1 {
			changed := text
			if at < size {
				changed = text[:at] + "q" + text[at+1:]
			}
			h := Hash(7, changed)
			if other, ok := seen[h]; ok && other != changed {
				t.Errorf("%q and %q have one hash", other, changed)
			}
			seen[h] = changed
			if Hash(7, strings.ToUpper(changed)) != h {
				t.Errorf("the hash of %q depends on case", changed)
			}
		}
	}
}

// TestUninitialized checks that Uninitialized returns empty memory of the size asked for.
func TestUninitialized(t *testing.T) {
	for _, n := range []int{0, 1, 7, 100 << 10} {
		if b := Uninitialized(n); len(b) != 0 || cap(b) != n {
			t.Errorf("%d of %d bytes for %d", len(b), cap(b), n)
		}
	}
}
