package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"strings"
	"sync"
	"unsafe"

	"callgate/internal/textscan"
)

// encoded returns the parts of a text that can be base64, in either alphabet, or hex.
func encoded(text string) (parts []string) {
	for start := 0; ; {
		start = runOf(&codeByte, text, start)
		if start < 0 {
			return parts
		}
		end := start + shortestCode
		for {
			end = textscan.Alnum(text, end)
			if end == len(text) || !codeByte[text[end]] {
				break
			}
			end++
		}
		parts = append(parts, text[start:end])
		start = end
	}
}

// shortestCode is the least number of digits of an encoded part.
const shortestCode = 20

// runOf returns the start of the first run of shortestCode bytes of the set, from start on, or -1. The byte before
// start MUST NOT be in the set.
func runOf(set *[256]bool, text string, start int) int {
	for start+shortestCode <= len(text) {
		i := start + shortestCode - 1 // a run from start has this byte, and most have none
		for i >= start && set[text[i]] {
			i--
		}
		if i < start {
			return start
		}
		start = i + 1
	}
	return -1
}

// codeByte is the set of the bytes of base64 and hex.
var codeByte = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-") {
		set[c] = true
	}
	return set
}()

// decode64 decodes base64 in either alphabet.
func decode64(to, from []byte) (int, error) {
	if bytes.IndexByte(from, '-') >= 0 || bytes.IndexByte(from, '_') >= 0 {
		from = bytes.Map(func(r rune) rune {
			switch r {
			case '-':
				return '+'
			case '_':
				return '/'
			}
			return r
		}, from)
	}
	return base64.RawStdEncoding.Decode(to, from)
}

// longestEnd is how many digits before the end of base64 are decoded again with the last, unfinished group. Every
// credential fits into them except a private key, which is found by its beginning.
const longestEnd = 8 << 10

// decodedReadings decodes a part of a text, drops what cannot be text, and returns the readings of the rest. The rest
// is read as one text, because some formats have their keyword far from the credential.
func (d *digits) decodedReadings(depth int) []string {
	defer d.done()
	var text strings.Builder
	for stretch := range d.stretches() {
		if text.Len() > 0 {
			text.WriteString("\x00\x00")
		}
		text.Write(stretch)
	}
	if text.Len() == 0 {
		return nil
	}
	return readings(text.String(), depth)
}

// digits is an encoded part of a text. It decodes only what can be text.
type digits struct {
	text           string
	n              int                                // bytes that it encodes
	run            func(text string, i, long int) int // hexRun or base64Run
	decode         func(to, from []byte) (int, error)
	digitsPerGroup int
	bytesPerGroup  int

	buf *[]byte
}

func inBase64(text string) *digits {
	return &digits{text: text, n: len(text) * 6 / 8, run: base64Run, decode: decode64, digitsPerGroup: 4, bytesPerGroup: 3}
}

func inHex(text string) *digits {
	return &digits{text: text, n: len(text) / 2, run: hexRun, decode: hex.Decode, digitsPerGroup: 2, bytesPerGroup: 1}
}

func (d *digits) done() {
	if d.buf != nil {
		buffers.Put(d.buf)
	}
}

// part decodes the bytes from start to end. The result is valid until the next call.
func (d *digits) part(start, end int) []byte {
	first, last := start/d.bytesPerGroup, (end+d.bytesPerGroup-1)/d.bytesPerGroup
	if d.buf == nil {
		d.buf = buffers.Get().(*[]byte)
	}
	if size := (last - first) * d.bytesPerGroup; cap(*d.buf) < size {
		*d.buf = make([]byte, size)
	}
	part := d.text[first*d.digitsPerGroup : min(last*d.digitsPerGroup, len(d.text))]
	n, _ := d.decode((*d.buf)[:cap(*d.buf)], unsafe.Slice(unsafe.StringData(part), len(part))) // decode only reads it
	return (*d.buf)[start-first*d.bytesPerGroup : min(n, end-first*d.bytesPerGroup)]
}

// stretches yields the decoded parts that can be text with a credential or a keyword. Each has a run of shortestNamed
// printable characters and no two control characters in a row, except for line ends. A picture has few of them; a text
// is one. Each is valid until the next.
func (d *digits) stretches() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for end, i := 0, shortestNamed-1; ; i = end + shortestNamed {
			if i = d.run(d.text, i, shortestNamed); i < 0 {
				return
			}
			var stretch []byte
			if stretch, end = d.stretchAround(i, end); !yield(stretch) {
				return
			}
		}
	}
}

// window is how many bytes on each side of a run are decoded first.
const window = 512

// stretchAround returns the stretch around byte i, starting at done at the earliest, and where it ends.
func (d *digits) stretchAround(i, done int) (stretch []byte, until int) {
	for size := window; ; size *= 4 {
		low, high := max(done, i-size), min(d.n, i+size)
		b := d.part(low, high)
		start, end := i-low, i-low
		for start > 0 && (!control[b[start-1]] || start > 1 && !control[b[start-2]]) {
			start--
		}
		for end < len(b) && (!control[b[end]] || end+1 < len(b) && !control[b[end+1]]) {
			end++
		}
		// The stretch may continue beyond the window.
		if (low == done || start > 1) && (high == d.n || end < len(b)-1) {
			return b[start:end], low + end
		}
	}
}

// control is the set of control characters without those that occur at line ends.
var control = func() (set [256]bool) {
	for c := range byte(' ') {
		set[c] = c < '\t' || c > '\r'
	}
	return set
}()

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// shortestRun is the least number of ASCII characters in a credential.
const shortestRun = 10

// Most parts that could be encoded are not text. They are not decoded, because they have no run of that many printable
// ASCII characters. Of most such parts only one byte in ten is checked.

// hexSays reports whether hexadecimal digits can encode a credential.
func hexSays(digits string) bool { return hexRun(digits, shortestRun-1, shortestRun) >= 0 }

// hexRun returns the index of the last byte of the first run of long printable characters that ends at byte i or later,
// or -1.
func hexRun(digits string, i, long int) int {
	for i < len(digits)/2 {
		if digits[2*i]-'2' > '7'-'2' { // no printable ASCII character begins like this
			i += long
			continue
		}
		from := i
		for from > i-long && hexAt(digits, from)-' ' < 0x7f-' ' {
			from--
		}
		if from == i-long {
			return i
		}
		i = from + long
	}
	return -1
}

// base64Says reports whether a part in base64, of either alphabet, can encode a credential.
func base64Says(part string) bool { return base64Run(part, shortestRun-1, shortestRun) >= 0 }

// base64Run is hexRun for base64. The first digit of a group reveals most unprintable bytes, and a run of long
// characters contains the beginnings of long/3 groups.
func base64Run(part string, i, long int) int {
	n, groups := len(part)*6/8, long/3
	low := i - long + 1 // runs that begin earlier do not count
	for last := (low+2)/3 + groups - 1; last*3 < n; {
		group := last
		for group > last-groups && printableGroup[part[group*4]] {
			group--
		}
		if group > last-groups {
			last = group + groups
			continue
		}
		// The run, if there is one, begins in the previous group or at the beginning of the next.
		start := (group + 1) * 3
		end := start
		for start > max(low, group*3+1) && base64At(part, start-1)-' ' < 0x7f-' ' {
			start--
		}
		for end < n && end-start < long && base64At(part, end)-' ' < 0x7f-' ' {
			end++
		}
		if end-start == long {
			return end - 1
		}
		low = end + 1
		last = (low+2)/3 + groups - 1
	}
	return -1
}

// base64At returns byte i of what a part in base64 encodes.
func base64At(part string, i int) byte {
	group := part[i/3*4:]
	switch i % 3 {
	case 0:
		return digitOf64[group[0]]<<2 | digitOf64[group[1]]>>4
	case 1:
		return digitOf64[group[1]]<<4 | digitOf64[group[2]]>>2
	}
	return digitOf64[group[2]]<<6 | digitOf64[group[3]]
}

// hexAt returns byte i of what hexadecimal digits encode.
func hexAt(digits string, i int) byte { return digitOf[digits[2*i]]<<4 | digitOf[digits[2*i+1]] }

// digitOf and digitOf64 map digits to their values.
var digitOf, digitOf64 = func() (hex, base64 [256]byte) {
	for i, c := range []byte("0123456789abcdef") {
		hex[c], hex[bytes.ToUpper([]byte{c})[0]] = byte(i), byte(i)
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		base64[c] = byte(i)
	}
	base64['-'], base64['_'] = base64['+'], base64['/']
	return hex, base64
}()

// printableGroup is the set of base64 digits that can begin a group whose first character is printable.
var printableGroup = func() (set [256]bool) {
	for c := range set {
		set[c] = digitOf64[c] >= ' '>>2 && digitOf64[c] <= 0x7f>>2
	}
	return set
}()

// hexIn yields the runs of hexadecimal digits in a part that are long enough for a credential. Before a run there may
// be the path of a URL, or 0x. all means that part has only such digits.
func hexIn(part string, all bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if all { // one long run
			yield(part)
			return
		}
		for start := runOf(&hexByte, part, 0); start >= 0; start = runOf(&hexByte, part, start) {
			end := start + shortestCode
			for end < len(part) && hexByte[part[end]] {
				end++
			}
			if !yield(part[start:end]) {
				return
			}
			start = end
		}
	}
}

var hexByte = func() (set [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEF") {
		set[c] = true
	}
	return set
}()

// readings returns the text and what its encoded parts decode to, up to depth layers.
func readings(text string, depth int) []string {
	list := []string{text}
	if depth == 0 {
		return list
	}
	if strings.Contains(text, "%") {
		if decoded := textscan.Unescaped(text); decoded != text {
			list = append(list, readings(decoded, depth-1)...)
		}
	}
	for _, part := range encoded(text) {
		allHex := textscan.IsHex(part)
		for digits := range hexIn(part, allHex) {
			for skip := range 2 { // the encoding may begin at either digit
				if s := digits[skip : skip+(len(digits)-skip)&^1]; hexSays(s) {
					list = append(list, inHex(s).decodedReadings(depth-1)...)
				}
			}
		}
		if allHex {
			continue
		}
		for skip := range 4 { // the encoding may begin at any of four digits
			s := part[skip:]
			if len(s) < shortestCode || !base64Says(s) {
				continue
			}
			whole := len(s) &^ 3
			list = append(list, inBase64(s[:whole]).decodedReadings(depth-1)...)
			if len(s)-whole > 1 { // this adds only another reading of the end
				s = s[max(0, whole-longestEnd):]
				list = append(list, inBase64(s).decodedReadings(depth-1)...)
			}
		}
	}
	return list
}
