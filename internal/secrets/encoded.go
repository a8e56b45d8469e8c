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

// encoded are the parts of a text that can be base64, in either alphabet, or hex.
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

// shortestCode is how many digits something encoded has at least.
const shortestCode = 20

// runOf returns where the first shortestCode bytes of a set stand in a row, from start on; negative where none do.
// Nothing of the set stands before start.
func runOf(set *[256]bool, text string, start int) int {
	for start+shortestCode <= len(text) {
		i := start + shortestCode - 1 // a run from here on has this byte, and most have none so far
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

// codeByte are the bytes of base64 and hex.
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

// longestEnd is how many bytes before the end of something in base64 are read with the last, unfinished group. It holds
// every credential but a private key, which has a beginning that is found without its end.
const longestEnd = 8 << 10

// said are the readings of what a part of a text says decoded, without what can be no text. What is left is read as
// one: some formats have their keyword far from the credential.
func (d *digits) said(depth int) []string {
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

// digits are something encoded. Only what can be text of it is decoded.
type digits struct {
	text   string
	n      int                                // bytes that it says
	run    func(text string, i, long int) int // hexRun or base64Run
	decode func(to, from []byte) (int, error)
	group  int // digits of a group, and
	says   int // how many bytes one says

	buf *[]byte
}

func inBase64(text string) *digits {
	return &digits{text: text, n: len(text) * 6 / 8, run: base64Run, decode: decode64, group: 4, says: 3}
}

func inHex(text string) *digits {
	return &digits{text: text, n: len(text) / 2, run: hexRun, decode: hex.Decode, group: 2, says: 1}
}

func (d *digits) done() {
	if d.buf != nil {
		buffers.Put(d.buf)
	}
}

// part decodes the bytes from start to end. They are valid until the next call.
func (d *digits) part(start, end int) []byte {
	first, last := start/d.says, (end+d.says-1)/d.says
	if d.buf == nil {
		d.buf = buffers.Get().(*[]byte)
	}
	if size := (last - first) * d.says; cap(*d.buf) < size {
		*d.buf = make([]byte, size)
	}
	part := d.text[first*d.group : min(last*d.group, len(d.text))]
	n, _ := d.decode((*d.buf)[:cap(*d.buf)], unsafe.Slice(unsafe.StringData(part), len(part))) // digits are all that it is of
	return (*d.buf)[start-first*d.says : min(n, end-first*d.says)]
}

// stretches yields the parts that can be text with a credential or a keyword in it: so many printable characters as the
// shortest has stand in a row in each, and two control characters nowhere but at ends of lines. A picture has few of
// them, and a text is one. Each is valid until the next.
func (d *digits) stretches() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for end, i := 0, shortestNamed-1; ; i = end + shortestNamed {
			if i = d.run(d.text, i, shortestNamed); i < 0 {
				return
			}
			var stretch []byte
			if stretch, end = d.around(i, end); !yield(stretch) {
				return
			}
		}
	}
}

// window is how many bytes around a run are decoded at first.
const window = 512

// around returns the stretch with the byte at i, of what comes after done, and where it ends.
func (d *digits) around(i, done int) (stretch []byte, until int) {
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
		// What stands beside the window may go on.
		if (low == done || start > 1) && (high == d.n || end < len(b)-1) {
			return b[start:end], low + end
		}
	}
}

// control are the control characters but those that stand at ends of lines.
var control = func() (set [256]bool) {
	for c := range byte(' ') {
		set[c] = c < '\t' || c > '\r'
	}
	return set
}()

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// shortestRun is how many characters of ASCII a credential has at least.
const shortestRun = 10

// Most that could be encoded is no text, and is not decoded: so many printable characters of ASCII stand in a row in
// none of it. Of most bytes that are no text one in ten is looked at.

// hexSays reports whether hexadecimal digits can say a credential.
func hexSays(digits string) bool { return hexRun(digits, shortestRun-1, shortestRun) >= 0 }

// hexRun returns where the first printable characters end that stand in a row, so many as long says, at the byte i or
// behind it; negative where none do.
func hexRun(digits string, i, long int) int {
	for i < len(digits)/2 {
		if digits[2*i]-'2' > '7'-'2' { // no character of ASCII that can be printed begins so
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

// base64Says reports whether a part in base64 can say a credential, in either alphabet.
func base64Says(part string) bool { return base64Run(part, shortestRun-1, shortestRun) >= 0 }

// base64Run is hexRun of a part in base64. The first digit of a group tells most bytes that cannot be printed: so many
// characters in a row as a third of long begin groups.
func base64Run(part string, i, long int) int {
	n, groups := len(part)*6/8, long/3
	low := i - long + 1 // no run that begins before counts
	for last := (low+2)/3 + groups - 1; last*3 < n; {
		group := last
		for group > last-groups && printableGroup[part[group*4]] {
			group--
		}
		if group > last-groups {
			last = group + groups
			continue
		}
		// It begins in the group before or at the beginning of the next, if it does.
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

// base64At is a byte of what a part in base64 says.
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

// hexAt is a byte of what hexadecimal digits say.
func hexAt(digits string, i int) byte { return digitOf[digits[2*i]]<<4 | digitOf[digits[2*i+1]] }

// digitOf and digitOf64 are what the digits stand for.
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

// printableGroup are the digits in base64 that a group begins with whose first character can be printed.
var printableGroup = func() (set [256]bool) {
	for c := range set {
		set[c] = digitOf64[c] >= ' '>>2 && digitOf64[c] <= 0x7f>>2
	}
	return set
}()

// hexIn yields the runs of hexadecimal digits in a part that are long enough to be a credential: a path in an address
// goes before them, or 0x. all says that it holds nothing else.
func hexIn(part string, all bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if all { // a long one
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

// readings are the text and what its encoded parts say, to a depth.
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
			for skip := range 2 { // nor here
				if s := digits[skip : skip+(len(digits)-skip)&^1]; hexSays(s) {
					list = append(list, inHex(s).said(depth-1)...)
				}
			}
		}
		if allHex {
			continue
		}
		for skip := range 4 { // it may not begin where the encoding does
			s := part[skip:]
			if len(s) < shortestCode || !base64Says(s) {
				continue
			}
			whole := len(s) &^ 3
			list = append(list, inBase64(s[:whole]).said(depth-1)...)
			if len(s)-whole > 1 { // what it adds is another reading of the end alone
				s = s[max(0, whole-longestEnd):]
				list = append(list, inBase64(s).said(depth-1)...)
			}
		}
	}
	return list
}
