// Package extract reads the text of documents: plain text, HTML, PDF and DOCX.
package extract

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// MaxText bounds a text, in bytes.
const MaxText = 4 << 20

// ErrNoText means that a document contains no text to search.
var ErrNoText = errors.New("it is not text, PDF, DOCX or HTML")

// ErrEncoding means that a text is in an unknown encoding.
var ErrEncoding = errors.New("it is not UTF-8 or UTF-16: convert it")

// Text returns the text of a document: a PDF or DOCX file, an HTML page, or a text in UTF-8 or UTF-16. It decodes a
// base64 data: URL first.
func Text(data []byte) (text string, err error) {
	if data, err = fromURL(data); err != nil {
		return "", err
	}
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		text, err = readPDF(data)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		text, err = readDOCX(data)
	default:
		if text, err = readPlain(data); err == nil && isHTML(text) {
			text, err = readHTML(text)
		}
	}
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "", errors.New("a document needs content: it has no text")
	case len(text) > MaxText:
		return "", fmt.Errorf("its text has %d bytes, more than %d", len(text), MaxText)
	}
	return text, nil
}

func fromURL(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("data:")) {
		return data, nil
	}
	head, body, found := bytes.Cut(data, []byte(","))
	if !found || !bytes.HasSuffix(head, []byte(";base64")) {
		return data, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(body)))
	if err != nil {
		return nil, fmt.Errorf("the data: URL: %w", err)
	}
	return decoded, nil
}

// readPlain decodes a text like Decode, and returns an error if the result is not text.
func readPlain(data []byte) (string, error) {
	data, err := Decode(data)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", notText(data)
	}
	if bytes.Count(data, []byte("\uFFFD")) > len(data)/100 {
		return "", fmt.Errorf("%w: an earlier conversion has lost its characters", ErrNoText)
	}
	return string(data), nil
}

func notText(data []byte) error {
	return fmt.Errorf("%w: it looks like %s", ErrNoText, http.DetectContentType(data))
}

// Decode returns a text in UTF-8 or UTF-16 as UTF-8, without a byte order mark. Up to one percent of the bytes may be
// invalid UTF-8, such as names in old source files; it reads them as Windows-1252. If there are more, it returns
// ErrEncoding, or an error that wraps ErrNoText if the content does not look like text at all.
func Decode(data []byte) ([]byte, error) {
	if endian, ok := isUTF16(data); ok {
		decoded, _, err := transform.Bytes(unicode.UTF16(endian, unicode.UseBOM).NewDecoder(), data)
		if err != nil {
			return nil, fmt.Errorf("UTF-16: %w", err)
		}
		data = decoded
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if utf8.Valid(data) {
		return data, nil
	}
	out := make([]byte, 0, len(data)+len(data)/50)
	stray := 0
	for rest := data; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			stray++
			r = charmap.Windows1252.DecodeByte(rest[0])
		}
		out, rest = utf8.AppendRune(out, r), rest[n:]
	}
	switch {
	case stray <= len(data)/100:
		return out, nil
	case bytes.IndexByte(data, 0) < 0 && strings.HasPrefix(http.DetectContentType(data), "text/"):
		return nil, ErrEncoding
	}
	return nil, notText(data)
}

// isUTF16 goes by the byte order mark, or by zeros in every other byte, as in Latin text.
func isUTF16(data []byte) (unicode.Endianness, bool) {
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) {
		return unicode.LittleEndian, true
	}
	if bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return unicode.BigEndian, true
	}
	var zeros [2]int
	head := data[:min(len(data), 512)]
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	half := len(head) / 2
	endian := unicode.LittleEndian
	if zeros[0] > zeros[1] {
		endian = unicode.BigEndian
	}
	return endian, half > 1 && len(data)%2 == 0 &&
		(zeros[0] == 0 && zeros[1] > half*3/4 || zeros[1] == 0 && zeros[0] > half*3/4)
}

// maxXML bounds what a DOCX file may unpack to, in bytes.
const maxXML = 64 << 20

// docxParts lists the parts of a DOCX file that hold text. All but the first may be missing.
var docxParts = []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"}

// readDOCX returns the paragraphs of a DOCX file, with headings as in Markdown and the notes at the end.
func readDOCX(data []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", fmt.Errorf("%w: it looks like an archive: %w", ErrNoText, err)
	}
	var b strings.Builder
	left := &io.LimitedReader{N: maxXML + 1}
	for i, name := range docxParts {
		f, err := archive.Open(name)
		if err != nil && i == 0 {
			return "", fmt.Errorf("%w: it looks like an archive without a Word document", ErrNoText)
		}
		if err != nil {
			continue
		}
		left.R = f
		err = readParagraphs(&b, left)
		f.Close()
		if left.N == 0 {
			return "", fmt.Errorf("the DOCX file is too large: it unpacks to more than %d MiB", maxXML>>20)
		}
		if err != nil {
			return "", fmt.Errorf("the DOCX file cannot be read: %w", err)
		}
	}
	return b.String(), nil
}

// readParagraphs writes the text of a part of a DOCX file to b.
func readParagraphs(b *strings.Builder, r io.Reader) error {
	decoder := xml.NewDecoder(r)
	inText := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t":
				inText = true
			case "tab":
				b.WriteByte('\t')
			case "br", "cr":
				b.WriteByte('\n')
			case "pStyle":
				b.WriteString(headingOf(t.Attr))
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "tc":
				b.WriteByte('\t')
			case "p":
				b.WriteString("\n\n")
			}
		case xml.CharData:
			if inText {
				b.Write(t)
			}
		}
	}
}

// headingOf returns the Markdown prefix of a heading if a paragraph's style is one, or "".
func headingOf(style []xml.Attr) string {
	for _, a := range style {
		if level, ok := strings.CutPrefix(strings.ToLower(a.Value), "heading"); ok && len(level) == 1 && level >= "1" && level <= "6" {
			return strings.Repeat("#", int(level[0]-'0')) + " "
		}
	}
	return ""
}

// isHTML reports whether a text is an HTML page or only consists of elements, unlike Markdown.
func isHTML(text string) bool {
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 1024)]))
	for strings.HasPrefix(head, "<!--") || strings.HasPrefix(head, "<?") {
		_, rest, found := strings.Cut(head, ">")
		if !found {
			return false
		}
		head = strings.TrimSpace(rest)
	}
	return strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html") || isFragment(head, text)
}

// isFragment reports whether a text begins with an HTML element and has no text outside of elements.
func isFragment(head, text string) bool {
	end := strings.IndexAny(head, " \t\r\n/>")
	if end < 1 || head[0] != '<' {
		return false
	}
	switch atom.Lookup([]byte(head[1:end])) {
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table,
		atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Nav, atom.Aside, atom.Blockquote, atom.Pre,
		atom.Figure, atom.Form, atom.Head, atom.Body, atom.Title, atom.Meta, atom.Link, atom.Span, atom.Details:
	default:
		return false
	}
	nodes, err := html.ParseFragment(strings.NewReader(text), &html.Node{Type: html.ElementNode, DataAtom: atom.Body, Data: "body"})
	return err == nil && !slices.ContainsFunc(nodes, func(n *html.Node) bool {
		return n.Type == html.TextNode && strings.TrimSpace(n.Data) != ""
	})
}

// readHTML returns the visible text of a page, with headings as in Markdown.
func readHTML(text string) (string, error) {
	z := html.NewTokenizer(strings.NewReader(text))
	var b strings.Builder
	hidden, kept := 0, 0 // how many open elements hide the text, or keep its spaces
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return "", fmt.Errorf("the HTML cannot be read: %w", err)
			}
			return b.String(), nil
		case html.TextToken:
			if hidden > 0 {
				continue
			}
			if text := html.UnescapeString(string(z.Text())); kept > 0 {
				b.WriteString(text)
			} else {
				writeWords(&b, text)
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			step := map[html.TokenType]int{html.StartTagToken: 1, html.EndTagToken: -1}[kind]
			switch tag := atom.Lookup(name); tag {
			case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Iframe:
				hidden = max(0, hidden+step)
			case atom.Pre:
				kept = max(0, kept+step)
				b.WriteByte('\n')
			case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
				b.WriteString("\n\n")
				if step > 0 {
					b.WriteString(strings.Repeat("#", int(tag.String()[1]-'0')) + " ")
				}
			case atom.P, atom.Div, atom.Br, atom.Li, atom.Tr, atom.Title, atom.Section, atom.Article, atom.Table, atom.Ul, atom.Ol, atom.Blockquote, atom.Dt, atom.Dd:
				b.WriteByte('\n')
			case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn,
				atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small,
				atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr:
				// they do not end a word
			default:
				writeSpace(&b)
			}
		}
	}
}

// writeWords writes the words of text with single spaces between them, and around them if text has spaces there.
func writeWords(b *strings.Builder, text string) {
	words := strings.Fields(text)
	if len(words) == 0 || !strings.HasPrefix(text, words[0]) {
		writeSpace(b)
	}
	b.WriteString(strings.Join(words, " "))
	if len(words) > 0 && !strings.HasSuffix(text, words[len(words)-1]) {
		writeSpace(b)
	}
}

// writeSpace writes a space unless the text ends with white space.
func writeSpace(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != ' ' && s[len(s)-1] != '\n' {
		b.WriteByte(' ')
	}
}
