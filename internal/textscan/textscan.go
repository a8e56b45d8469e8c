// Package textscan scans long texts a machine word at a time, to tell quickly what they cannot contain.
package textscan

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// bytesOf returns the bytes of a text without copying them. They MUST NOT be changed.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// String returns b as a string without copying it. Nobody may change b while the string is in use.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Uninitialized returns an empty slice with room for n bytes. Unlike make, it does not clear the memory.
func Uninitialized(n int) []byte {
	if n == 0 {
		return nil
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0) // an empty string has no memory
	return unsafe.Slice(unsafe.StringData(b.String()), n)[:0]
}

// IsASCII reports whether a text is all ASCII.
func IsASCII(text string) bool {
	b := bytesOf(text)
	for ; len(b) >= 32; b = b[32:] {
		w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if w&highs != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// HasDigit reports whether a text has an ASCII digit, or a character that may be a digit of another script.
func HasDigit(text string) bool {
	b := bytesOf(text)
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		low := w &^ highs
		if (w|atLeast(low, '0')&^atLeast(low, '9'+1))&highs != 0 {
			return true
		}
	}
	for _, c := range b {
		if c >= 0x80 || '0' <= c && c <= '9' {
			return true
		}
	}
	return false
}

// atLeast sets the highest bit of every byte of w that is at least n. All bytes of w, and n, MUST be at most 127.
func atLeast(w uint64, n byte) uint64 { return w + uint64(0x80-n)*ones }

// Alnum returns the end of the ASCII letters and digits in text from i on.
func Alnum(text string, i int) int {
	b := bytesOf(text)
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		low := w &^ highs
		letters := low | 0x20*ones
		is := atLeast(low, '0')&^atLeast(low, '9'+1) | atLeast(letters, 'a')&^atLeast(letters, 'z'+1)
		if other := (^is | w) & highs; other != 0 {
			return i + bits.TrailingZeros64(other)/8
		}
	}
	for i < len(text) && alnum[text[i]] {
		i++
	}
	return i
}

// Hash continues a hash with ASCII letters and digits, ignoring case, eight at a time.
func Hash(h uint64, letters string) uint64 {
	const prime = 0x9fb21c651e98df25
	b := bytesOf(letters)
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64((h^(binary.LittleEndian.Uint64(b)|0x20*ones))*prime, 29)
	}
	for _, c := range b {
		h = bits.RotateLeft64((h^uint64(c|0x20))*prime, 29)
	}
	return h
}

// Lower returns a text with its ASCII letters in lower case. It returns the text itself if that has no ASCII capitals.
func Lower(text string) string {
	b := bytesOf(text)
	i := capital(b)
	if i == len(b) {
		return text
	}
	out := make([]byte, len(b))
	copy(out, b[:i])
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(out[i:], w|capitals(w)>>2) // 0x80 becomes 0x20
	}
	for ; i < len(b); i++ {
		out[i] = b[i]
		if 'A' <= b[i] && b[i] <= 'Z' {
			out[i] |= 0x20
		}
	}
	return unsafe.String(unsafe.SliceData(out), len(out)) // nobody else has out
}

// capitals sets the highest bit of every byte of w that is a capital, and clears all other bits.
func capitals(w uint64) uint64 {
	low := w &^ highs
	return atLeast(low, 'A') &^ atLeast(low, 'Z'+1) &^ w & highs
}

// capital returns where to start looking for capitals in b, or len(b) if it has none.
func capital(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		if capitals(binary.LittleEndian.Uint64(b[i:])) != 0 {
			return i
		}
	}
	for ; i < len(b); i++ {
		if 'A' <= b[i] && b[i] <= 'Z' {
			return i
		}
	}
	return i
}

// HasOne reports whether a text contains one of the bytes. Unlike strings.ContainsAny it searches for one after the
// other, which is faster if they are few. The most common should come first.
func HasOne(text, of string) bool {
	for i := range len(of) {
		if strings.IndexByte(text, of[i]) >= 0 {
			return true
		}
	}
	return false
}

// IsHex reports whether a text consists only of hexadecimal digits.
func IsHex(text string) bool {
	b := bytesOf(text)
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		low := w &^ highs
		letters := low | 0x20*ones
		is := atLeast(low, '0')&^atLeast(low, '9'+1) | atLeast(letters, 'a')&^atLeast(letters, 'f'+1)
		if (^is|w)&highs != 0 {
			return false
		}
	}
	for _, c := range b {
		if !alnum[c] || c|0x20 > 'f' {
			return false
		}
	}
	return true
}

var alnum = func() (set [256]bool) {
	for c := range set {
		set[c] = '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	return set
}()

// Grams is the set of three-byte runs in a text. It can tell for certain only that the text lacks a word. Collecting
// the runs takes one look at every byte; a question costs only as much as its word is long.
type Grams [gramCount]bool

// Long is the length of a text, in bytes, from which Grams pay off.
const Long = 8 << 10

const (
	gramCount = 1 << 14
	gramShift = 32 - 14
	gramHash  = 0x9e3779b1
)

func gram(a, b, c byte) uint32 {
	return (uint32(a)<<8 | uint32(b)<<16 | uint32(c)<<24) * gramHash >> gramShift
}

// Of collects the runs of a text, and drops those of an earlier one.
func (g *Grams) Of(text string) {
	clear(g[:])
	b := bytesOf(text)
	for i := 0; len(b) < 3 && i < len(g); i++ { // a short text may hold a short word
		g[i] = true
	}
	for ; len(b) >= 8; b = b[6:] { // six runs begin in six bytes, and none waits for another
		w := binary.LittleEndian.Uint64(b)
		g[uint32(w)<<8*gramHash>>gramShift] = true
		g[uint32(w>>8)<<8*gramHash>>gramShift] = true
		g[uint32(w>>16)<<8*gramHash>>gramShift] = true
		g[uint32(w>>24)<<8*gramHash>>gramShift] = true
		g[uint32(w>>32)<<8*gramHash>>gramShift] = true
		g[uint32(w>>40)<<8*gramHash>>gramShift] = true
	}
	for ; len(b) >= 3; b = b[1:] {
		g[gram(b[0], b[1], b[2])] = true
	}
}

// MayHold reports whether the text may contain a word in this spelling.
func (g *Grams) MayHold(word string) bool {
	if len(word) == 2 {
		return g.mayHoldPair(word[0], word[1])
	}
	for i := 2; i < len(word); i++ {
		if !g[gram(word[i-2], word[i-1], word[i])] {
			return false
		}
	}
	return true
}

// mayHoldPair is MayHold for two bytes, with any third byte before or after them.
func (g *Grams) mayHoldPair(a, b byte) bool {
	for c := range 256 {
		if g[gram(a, b, byte(c))] || g[gram(byte(c), a, b)] {
			return true
		}
	}
	return false
}

// Unescaped returns a text with its percent-encoding decoded. Other percent signs stay.
func Unescaped(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
