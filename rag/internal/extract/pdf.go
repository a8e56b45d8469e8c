package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding/unicode"

	"callgate/internal/lazyregexp"
)

// Limits of a PDF. The library has none: it follows references in circles, allocates as much as a number says, and
// waits for the end of what has no end. So callgate builds the table of objects (places) and unpacks the streams itself
// (unpack, interpret), and reading too often is an error (meter).
const (
	maxObjects  = 1 << 20
	maxPages    = 5_000 // with the nodes of their tree
	maxDepth    = 64    // of that tree
	maxReads    = 1 << 16
	maxUnpacked = 64 << 20 // of all streams
	maxStream   = 8 << 20  // of one, or of those of one page
	maxCodes    = 1 << 20  // of all fonts
	maxOfCode   = 512      // bytes that a code can stand for
)

// pdfText reads the text of a PDF. Its methods panic with the error, as the library's methods do.
type pdfText struct {
	left  int64 // bytes that streams may unpack to
	nodes int
	codes int
	fonts map[string]func(string) string // by the string form of the font's object
	text  strings.Builder
}

// readPDF returns the text of a PDF, page by page.
func readPDF(data []byte) (text string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			text, err = "", fmt.Errorf("the PDF cannot be read: %v", fault)
		}
	}()
	d := pdfText{left: maxUnpacked, fonts: map[string]func(string) string{}}
	pages := d.open(data).Key("Root").Key("Pages")
	if pages.IsNull() {
		panic("it has no pages")
	}
	d.node(pages, pdf.Value{}, 0)
	if strings.TrimSpace(d.text.String()) == "" {
		return "", errors.New("the PDF has no text: it may be a scan")
	}
	return d.text.String(), nil
}

// pdfMark matches what locates objects, and the references in the trailer.
var pdfMark = lazyregexp.New(`\b(\d{1,7})\s+(\d{1,5})\s+obj\b|\bstream[\r\n]|/(Root|Encrypt)\s+\d+\s+\d+\s+R\b|/ID\s*(\[)`)

// pdfPlace is the offset of an object, and its generation.
type pdfPlace struct{ at, generation int }

// open returns the trailer of a PDF. It finds objects by scanning the file, not by the file's own tables. It appends
// the objects that are packed into streams to the file.
func (d *pdfText) open(data []byte) pdf.Value {
	places := map[int]pdfPlace{}
	trailer := map[string]string{}
	var packed []int
	last, since := 0, 0 // the current object, and where it or what follows its stream begins
	for at := 0; ; {
		m := pdfMark.FindSubmatchIndex(data[at:])
		if m == nil {
			break
		}
		word := func(i int) string { return string(data[at+m[2*i] : at+m[2*i+1]]) }
		switch {
		case m[2] >= 0:
			last, _ = strconv.Atoi(word(1))
			generation, _ := strconv.Atoi(word(2))
			if last >= maxObjects {
				panic("too many objects")
			}
			since = at + m[0]
			places[last] = pdfPlace{since, generation}
		case m[6] >= 0:
			trailer[word(3)] = word(0)
		case m[8] >= 0:
			id, _, _ := bytes.Cut(data[at+m[8]:min(at+m[8]+200, len(data))], []byte("]"))
			trailer["ID"] = "/ID " + string(id) + "]"
		default:
			if bytes.Contains(data[since:at+m[0]], []byte("/ObjStm")) {
				packed = append(packed, last)
			}
			end := bytes.Index(data[at+m[1]:], []byte("endstream"))
			if end < 0 {
				end = len(data) - at - m[1]
			}
			at += end
			since = at
		}
		at += m[1]
	}
	head := trailer["Root"]
	if trailer["Encrypt"] != "" {
		head += " " + trailer["Encrypt"] + " " + trailer["ID"]
	}
	if len(packed) == 0 {
		return trailerOf(data, places, head)
	}
	var refs strings.Builder
	for _, id := range packed {
		fmt.Fprintf(&refs, "%d %d R ", id, places[id].generation)
	}
	streams := trailerOf(data, places, head+" /Packed ["+refs.String()+"]").Key("Packed")
	flat := slices.Clip(data)
	for i, id := range packed {
		flat = d.appendObjects(flat, streams.Index(i), places, places[id].at, trailer["Encrypt"] != "")
	}
	return trailerOf(flat, places, head)
}

// pdfString matches a string in an object, with the character before it.
var pdfString = lazyregexp.New(`(^|[^<])(?:\((?:[^()\\]|\\[\s\S])*\)|<[0-9A-Fa-f\s]*>)`)

// appendObjects appends the objects packed into the stream at offset at, except those of which the file has a newer
// one. Strings in such objects are plain even if the others are encrypted. They are left out then: texts need none of
// them.
func (d *pdfText) appendObjects(flat []byte, stream pdf.Value, places map[int]pdfPlace, at int, encrypted bool) []byte {
	text := string(d.unpack(stream))
	first := int(stream.Key("First").Int64())
	if first < 0 || first > len(text) {
		return flat
	}
	var numbers []int
	for _, f := range strings.Fields(text[:first]) {
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 || n > maxStream {
			return flat
		}
		numbers = append(numbers, n)
	}
	text = text[first:]
	for i := 0; i+1 < len(numbers); i += 2 {
		id, from, to := numbers[i], numbers[i+1], len(text)
		if i+3 < len(numbers) {
			to = numbers[i+3]
		}
		if id >= maxObjects || from > to || to > len(text) || places[id].at > at {
			continue
		}
		object := strings.TrimRightFunc(text[from:to], func(r rune) bool { return r <= ' ' }) // ciphers pad with them
		if encrypted {
			object = pdfString.ReplaceAllString(object, "$1 null ")
		}
		places[id] = pdfPlace{len(flat) + 1, 0}
		flat = fmt.Appendf(flat, "\n%d 0 obj\n%s\nendobj\n", id, object)
	}
	return flat
}

// trailerOf returns the trailer of a file with these objects.
func trailerOf(data []byte, places map[int]pdfPlace, trailer string) pdf.Value {
	b := bytes.NewBuffer(slices.Clip(data))
	b.WriteString("\nxref\n")
	size := 0
	for _, id := range slices.Sorted(maps.Keys(places)) {
		fmt.Fprintf(b, "%d 1\n%010d %05d n \n", id, places[id].at, places[id].generation)
		size = id + 1
	}
	fmt.Fprintf(b, "trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n", size, trailer, len(data)+1)
	r, err := pdf.NewReader(&meter{r: bytes.NewReader(b.Bytes())}, int64(b.Len()))
	if err != nil {
		panic(err)
	}
	return r.Trailer()
}

// meter is a reader that fails after maxReads reads.
type meter struct {
	r     io.ReaderAt
	reads int
}

func (m *meter) ReadAt(p []byte, at int64) (int, error) {
	if m.reads++; m.reads > maxReads {
		return 0, errors.New("it is too intricate")
	}
	return m.r.ReadAt(p, at)
}

// unpack returns the content of a stream.
func (d *pdfText) unpack(stream pdf.Value) []byte {
	parameters := stream.Key("DecodeParms")
	for i := range 1 + max(stream.Key("Filter").Len(), parameters.Len()) {
		columns := parameters.Index(i - 1).Key("Columns")
		if i == 0 {
			columns = parameters.Key("Columns")
		}
		if n := columns.Int64(); i > 4 || n < 0 || n > 1<<16 {
			panic("a stream is packed in too many ways")
		}
	}
	most := min(maxStream, d.left)
	data, err := io.ReadAll(io.LimitReader(stream.Reader(), most+1))
	if int64(len(data)) > most {
		panic(fmt.Sprintf("it unpacks to more than %d MiB, or one page to more than %d", maxUnpacked>>20, maxStream>>20))
	}
	if err != nil {
		panic(err)
	}
	d.left -= int64(len(data))
	return data
}

// interpret calls do for each operator of a page or font.
func interpret(program []byte, do func(op string, stack *pdf.Stack)) {
	// The brackets end whatever is open at the end: the library would wait forever for the end of a string.
	program = append(program, "\n>>"...)
	const head = "%PDF-1.4\n"
	data := append(fmt.Appendf(nil, "%s1 0 obj\n<< /Length %d >>\nstream\n", head, len(program)), program...)
	data = append(data, "\nendstream\nendobj\n"...)
	trailer := trailerOf(data, map[int]pdfPlace{1: {len(head), 0}}, "/Root 1 0 R")
	pdf.Interpret(trailer.Key("Root"), func(stack *pdf.Stack, op string) {
		if op == "findresource" { // of fonts: any dictionary will do
			operands(stack)
			stack.Push(trailer)
			return
		}
		do(op, stack)
	})
}

// operands takes everything off the stack.
func operands(stack *pdf.Stack) []pdf.Value {
	all := make([]pdf.Value, stack.Len())
	for i := range slices.Backward(all) {
		all[i] = stack.Pop()
	}
	return all
}

// node reads the pages of a tree. Pages inherit the resources of the nodes above them.
func (d *pdfText) node(node, resources pdf.Value, depth int) {
	if d.nodes++; d.nodes > maxPages || depth > maxDepth {
		panic("it has too many pages")
	}
	if own := node.Key("Resources"); !own.IsNull() {
		resources = own
	}
	kids := node.Key("Kids")
	for i := range kids.Len() {
		d.node(kids.Index(i), resources, depth+1)
	}
	contents := node.Key("Contents")
	var program []byte
	if contents.Kind() == pdf.Stream {
		program = d.unpack(contents)
	}
	for i := range contents.Len() {
		if part := contents.Index(i); part.Kind() == pdf.Stream {
			program = append(append(program, d.unpack(part)...), '\n')
		}
		if len(program) > maxStream {
			panic(fmt.Sprintf("a page unpacks to more than %d MiB", maxStream>>20))
		}
	}
	d.page(program, resources.Key("Font"))
	d.write("\n\n")
}

// page reads the text that a page shows.
func (d *pdfText) page(program []byte, fonts pdf.Value) {
	decode := strings.Clone
	known := map[string]func(string) string{}
	interpret(program, func(op string, stack *pdf.Stack) {
		all := operands(stack)
		var last pdf.Value
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		switch op {
		case "BT", "T*":
			d.write("\n")
		case "Tf":
			name := all[0].Name()
			if known[name] == nil {
				known[name] = d.font(fonts.Key(name))
			}
			decode = known[name]
		case "'", `"`:
			d.write("\n" + decode(last.RawString()))
		case "Tj":
			d.write(decode(last.RawString()))
		case "TJ":
			for i := range last.Len() {
				d.write(decode(last.Index(i).RawString()))
			}
		}
	})
}

func (d *pdfText) write(text string) {
	d.text.WriteString(strings.ToValidUTF8(text, ""))
	if d.text.Len() > MaxText {
		panic(fmt.Sprintf("its text has more than %d bytes", MaxText))
	}
}

// font returns a function that turns the codes of a font into text.
func (d *pdfText) font(v pdf.Value) func(string) string {
	id := v.String()
	if d.fonts[id] != nil {
		return d.fonts[id]
	}
	font := pdf.Font{V: v}
	encoding, unicodes := v.Key("Encoding"), v.Key("ToUnicode")
	var decode func(string) string
	switch {
	case encoding.Kind() == pdf.Dict:
		if encoding.Key("Differences").Len() > 1024 {
			panic("a font has too many differences")
		}
		var table [256]string
		for i := range table {
			table[i] = font.Encoder().Decode(string([]byte{byte(i)}))
		}
		decode = func(codes string) string {
			var b strings.Builder
			for i := range len(codes) {
				b.WriteString(table[codes[i]])
			}
			return b.String()
		}
	case unicodes.Kind() == pdf.Stream && (encoding.IsNull() || encoding.Name() == "Identity-H"):
		decode = d.readCodes(d.unpack(unicodes)).decode
	default:
		decode = font.Encoder().Decode
	}
	d.fonts[id] = decode
	return decode
}

// pdfCodes maps the codes of a font to text.
type pdfCodes struct {
	of    *pdfText
	text  map[string]string
	sizes [5]bool // the lengths in bytes that codes have
}

func (d *pdfText) readCodes(program []byte) *pdfCodes {
	c := &pdfCodes{of: d, text: map[string]string{}}
	interpret(program, func(op string, stack *pdf.Stack) {
		switch op {
		case "begincodespacerange", "beginbfchar", "beginbfrange":
			operands(stack)
		case "endcodespacerange":
			for _, v := range operands(stack) {
				c.sizes[min(len(v.RawString()), 4)] = true
			}
		case "endbfchar":
			for pair := range slices.Chunk(operands(stack), 2) {
				c.add(pair[0].RawString(), pair[len(pair)-1].RawString(), 0)
			}
		case "endbfrange":
			for triple := range slices.Chunk(operands(stack), 3) {
				if len(triple) == 3 {
					c.addRange(triple[0].RawString(), triple[1].RawString(), triple[2])
				}
			}
		}
	})
	return c
}

// addRange adds the codes from first to last. to is a list of their texts, or the text of first; the others count up.
func (c *pdfCodes) addRange(first, last string, to pdf.Value) {
	for i := 0; len(first) == len(last) && first <= last; i++ {
		if to.Kind() == pdf.Array {
			c.add(first, to.Index(i).RawString(), 0)
		} else {
			c.add(first, to.RawString(), i)
		}
		if first = after(first); first == "" {
			return
		}
	}
}

// after returns the next code of the same length, or "" after the last.
func after(code string) string {
	next := []byte(code)
	for i := range slices.Backward(next) {
		if next[i]++; next[i] != 0 {
			return string(next)
		}
	}
	return ""
}

// add maps a code to the text utf16, whose last character it raises by more.
func (c *pdfCodes) add(code, utf16 string, more int) {
	if c.of.codes++; c.of.codes > maxCodes || len(utf16) > maxOfCode {
		panic("its fonts have too many characters")
	}
	text, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder().String(utf16)
	if runes := []rune(text); err == nil && len(runes) > 0 {
		runes[len(runes)-1] += rune(more)
		c.text[code] = string(runes)
	}
}

// decode returns the text of codes. It skips codes without a meaning, and stops after MaxText bytes.
func (c *pdfCodes) decode(codes string) string {
	var b strings.Builder
	for len(codes) > 0 && b.Len() <= MaxText {
		size := 1
		for n := min(4, len(codes)); n > 0; n-- {
			text, ok := c.text[codes[:n]]
			if b.WriteString(text); ok || c.sizes[n] {
				size = n
				break
			}
		}
		codes = codes[size:]
	}
	return b.String()
}
