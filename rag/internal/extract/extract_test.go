package extract

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestText(t *testing.T) {
	docx := wordFile(t, `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
		<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Backups</w:t></w:r></w:p>
		<w:p><w:r><w:t xml:space="preserve">kept for </w:t></w:r><w:r><w:t>90 days</w:t></w:r></w:p></w:body></w:document>`)
	page := "<!-- x --><!DOCTYPE html><html><head><title>Ops</title><style>p{}</style><script>var hidden</script></head>" +
		"<body><h2>Backups</h2><p>kept for&nbsp;90 <b>days</b>, micro<i>ser</i>vices\n\tonly</p><table><td>x</td><td>y</td></table><pre>a  b\n c</pre></body></html>"
	const body = `<w:document xmlns:w="x"><w:p><w:t>kept for 90 days</w:t></w:p></w:document>`
	const notes = `<w:footnotes xmlns:w="x"><w:footnote><w:p><w:t>in Oslo</w:t></w:p></w:footnote></w:footnotes>`
	noted := archive(t, "word/document.xml", body, "word/footnotes.xml", notes, "word/endnotes.xml", strings.ReplaceAll(notes, "Oslo", "Rome"))
	huge := strings.Repeat(" ", maxXML)
	for _, test := range []struct {
		name  string
		data  []byte
		want  []string
		lacks string
		fails string
	}{
		{name: "text", data: []byte("kept for 90 days"), want: []string{"kept for 90 days"}},
		{name: "with a mark", data: []byte("\uFEFFkept"), want: []string{"kept"}, lacks: "\uFEFF"},
		{name: "Markdown with elements", data: []byte("# A\n<b>x</b>\n"), want: []string{"<b>x</b>"}},
		{name: "HTML", data: []byte(page), want: []string{"Ops", "## Backups", "for 90 days, microservices only\n", "x y", "a  b\n c"}, lacks: "hidden"},
		{name: "a part of a page", data: []byte("<div class=x><h2>Refunds</h2>\n<p>take <b>ten</b> days &amp; a form.</p></div>\n<p>Ask.</p>"), want: []string{"## Refunds", "take ten days & a form."}, lacks: "<"},
		{name: "Markdown that begins with an element", data: []byte("<p align=center><img src=x></p>\n\n# A\n- b\n"), want: []string{"<p align=center>", "\n\n# A\n- b\n"}},
		{name: "XML", data: []byte("<project><name>x</name></project>"), want: []string{"<name>"}},
		{name: "UTF-16 little", data: utf16Of("\uFEFFüber 90 days", false), want: []string{"über 90 days"}},
		{name: "UTF-16 big", data: utf16Of("\uFEFF九十日", true), want: []string{"九十日"}},
		{name: "UTF-16 without a mark", data: utf16Of("kept for 90 days", false), want: []string{"kept for 90 days"}},
		{name: "DOCX", data: docx, want: []string{"# Backups\n", "kept for 90 days"}},
		{name: "DOCX with notes", data: noted, want: []string{"kept for 90 days\n\nin Oslo\n\nin Rome"}},
		{name: "PDF", data: pdfFile("kept for 90 days"), want: []string{"kept for 90 days"}},
		{name: "PDF in a data: URL", data: []byte("data:application/pdf;base64," + base64.StdEncoding.EncodeToString(pdfFile("kept for 90 days"))), want: []string{"90 days"}},

		{name: "nothing", data: []byte(" \n"), fails: "needs content"},
		{name: "an image", data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), fails: "image/png"},
		{name: "a program", data: []byte("\x7fELF\x02\x01\x01\x00\x00"), fails: "it is not text"},
		{name: "Latin-1", data: []byte("gr\xfc\xdfe"), fails: "it is not UTF-8 or UTF-16: convert it"},
		{name: "stray bytes", data: []byte("by Stra\xdfer, Müller\n" + strings.Repeat("kept for 90 days\n", 10)), want: []string{"by Straßer, Müller\n"}},
		{name: "bytes that became marks", data: []byte("%PNG" + strings.Repeat("\uFFFD", 20)), fails: "it is not text"},
		{name: "another archive", data: archive(t, "x.txt", "x"), fails: "archive without a Word document"},
		{name: "a damaged archive", data: []byte("PK\x03\x04xxxx"), fails: "archive"},
		{name: "a damaged PDF", data: []byte("%PDF-1.4\nnothing"), fails: "the PDF cannot be read"},
		{name: "a cut PDF", data: pdfFile("x")[:150], fails: "the PDF cannot be read"},
		{name: "a huge DOCX", data: wordFile(t, `<w:document xmlns:w="x">`+huge), fails: "too large: it unpacks to more than 64 MiB"},
		{name: "a damaged DOCX", data: wordFile(t, "<w:document><w:p>"), fails: "the DOCX file cannot be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Text(test.data)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("%q, %v: want an error with %q", got, err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
			if test.lacks != "" && strings.Contains(got, test.lacks) {
				t.Errorf("%q has %q", got, test.lacks)
			}
		})
	}
	if _, err := Text([]byte("\x7fELF\x00")); !errors.Is(err, ErrNoText) {
		t.Errorf("%v is no ErrNoText", err)
	}
}

// FuzzText checks that reading any document ends with text or an error.
func FuzzText(f *testing.F) {
	f.Add(pdfFile("x"))
	f.Add(pdfOf("<< /Pages 3 0 R >>", pdfStream("/Type /ObjStm /N 1 /First 4", "3 0 << /Kids [3 0 R] /Contents 4 0 R >>"), "null", pdfStream("", "BT [(x)] TJ ET")))
	f.Add([]byte("<html><p>x"))
	f.Add(utf16Of("\uFEFFx", true))
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, err := Text(data); err == nil && strings.TrimSpace(text) == "" {
			t.Error("no text and no error")
		}
	})
}

func utf16Of(text string, big bool) (out []byte) {
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func wordFile(t *testing.T, document string) []byte { return archive(t, "word/document.xml", document) }

// archive returns a zip file of names and texts, given in turn.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	var err error
	for i := 0; i < len(files); i += 2 {
		f, e := w.Create(files[i])
		if e == nil {
			_, e = f.Write([]byte(files[i+1]))
		}
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfFile returns a PDF of one page.
func pdfFile(text string) []byte {
	return pdfPage(pdfStream("", "BT /F1 12 Tf 72 700 Td ("+text+") Tj ET"), "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
}

// pdfPage returns a PDF of one page with one font.
func pdfPage(contents, font string, more ...string) []byte {
	return pdfOf(append([]string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>", contents, font}, more...)...)
}

func pdfStream(keys, data string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), keys, data)
}

// pdfOf returns a PDF of objects, numbered from 1.
func pdfOf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var places []int
	for i, object := range objects {
		places = append(places, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(places)+1)
	for _, at := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(places)+1, start)
	return b.Bytes()
}

// TestPDF checks that nothing in a PDF makes the reader wait or use unlimited memory.
func TestPDF(t *testing.T) {
	const catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	const show = "BT /F1 12 Tf (kept) Tj ET"
	latin := "<< /Type /Font /Encoding /WinAnsiEncoding >>"
	coded := "<< /Type /Font /Encoding /Identity-H /ToUnicode 6 0 R >>"
	codes := func(program string) string {
		return pdfStream("", "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange\n"+program+"\nendcmap end end")
	}
	packed := func(keys, data string) []byte {
		return pdfOf(strings.Replace(catalog, "2", "7", 1), pdfStream("", show), latin, pdfStream("/Type /ObjStm "+keys, data))
	}
	const objects = "<< /Kids [8 0 R] >> << /Contents 2 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
	for _, test := range []struct {
		name  string
		data  []byte
		want  string
		fails string
	}{
		{name: "packed objects", data: packed("/N 2 /First 9", "7 0 8 20 "+objects), want: "kept"},
		{name: "packed objects, encrypted", data: encryptedPDF(t, "7 0 8 56 << /Kids [8 0 R] /Made (in \\(Oslo\\)) /By <> /In <<>> >> << /Contents 2 0 R >>", show), want: "kept"},
		{name: "packed objects, ever so many", data: packed("/N 9223372036854775807 /First 9", "7 0 9 20 "+objects), fails: "no text"},
		{name: "packed in themselves", data: packed("/Extends 4 0 R /N 1 /First 4", "9 0 5"), fails: "no pages"},
		{name: "a font's own characters", data: pdfPage(pdfStream("", "BT /F1 12 Tf <010203> Tj ET"), coded, codes("1 beginbfchar <01> <006b> endbfchar 1 beginbfrange <02> <03> <0065> endbfrange")), want: "kef"},
		{name: "characters by name", data: pdfPage(pdfStream("", "BT /F1 12 Tf (\001\002) Tj ET"), "<< /Encoding << /Differences [1 /k /eacute] >> >>"), want: "ké"},
		{name: "pages in a circle", data: pdfOf(catalog, "<< /Type /Pages /Count 3 /Kids [2 0 R] >>"), fails: "too many pages"},
		{name: "pages in two circles", data: pdfOf(catalog, "<< /Type /Pages /Count 3 /Kids [2 0 R 2 0 R] >>"), fails: "too many pages"},
		{name: "pages that are not there", data: pdfOf(catalog, "<< /Type /Pages /Count 2000000000 /Kids [] >>"), fails: "no text"},
		{name: "parents in a circle", data: pdfOf(catalog, "<< /Type /Pages /Count 1 /Kids [3 0 R] /Parent 3 0 R >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", pdfStream("", show)), want: "kept"},
		{name: "an earlier table that is itself", data: bytes.Replace(pdfFile("kept"), []byte("/Root"), []byte("/Prev 500 /Root"), 1), want: "kept"},
		{name: "a table for ever so many", data: bytes.Replace(pdfFile("kept"), []byte("xref\n0 6"), []byte("xref\n4000000000 6"), 1), want: "kept"},
		{name: "a huge page", data: pdfPage(pdfStream("/Filter /FlateDecode", deflated(t, strings.Repeat("(a) Tj\n", 2<<20))), latin), fails: "unpacks to more than"},
		{name: "a page of huge parts", data: pdfPage("["+strings.Repeat("6 0 R ", 100)+"]", latin, pdfStream("/Filter /FlateDecode", deflated(t, strings.Repeat(" ", 1<<20)))), fails: "unpacks to more than"},
		{name: "packed a hundred times", data: pdfPage(pdfStream("/Filter ["+strings.Repeat("/FlateDecode ", 100)+"]", "x"), latin), fails: "too many ways"},
		{name: "ever so many columns", data: pdfPage(pdfStream("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 1000000000000 >>", deflated(t, show)), latin), fails: "too many ways"},
		{name: "a string without an end", data: pdfPage(pdfStream("", show+" <"), latin), fails: "the PDF cannot be read"},
		{name: "a page that is open", data: pdfPage(pdfStream("", show+" << /a [ (b"), latin), want: "kept"},
		{name: "ever so many characters", data: pdfPage(pdfStream("", show), coded, codes("9223372036854775807 beginbfchar endbfchar")), fails: "no text"},
		{name: "ranges of characters", data: pdfPage(pdfStream("", show), coded, codes(strings.Repeat("1 beginbfrange <0000> <ffff> <0041> endbfrange\n", 1000))), fails: "too many characters"},
		{name: "characters that grow", data: pdfPage(pdfStream("", "BT /F1 12 Tf ("+strings.Repeat("a", 1<<20)+") Tj ET"), coded, codes("1 beginbfchar <61> <"+strings.Repeat("0061", 200)+"> endbfchar")), fails: "more than 4194304 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Text(test.data)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("%.100q, %v: want an error with %q", got, err, test.fails)
				}
			} else if err != nil || !strings.Contains(got, test.want) {
				t.Errorf("%.100q, %v: want %q", got, err, test.want)
			}
		})
	}
}

// encryptedPDF returns a PDF encrypted with AES and an empty password, with its objects packed from the first on.
func encryptedPDF(t *testing.T, packed, contents string) []byte {
	t.Helper()
	const id, pad = "0123456789abcdef", "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"
	owner := strings.Repeat("o", 32)
	key := md5.Sum([]byte(pad + owner + "\xfc\xff\xff\xff" + id))
	for range 50 {
		key = md5.Sum(key[:])
	}
	user := md5.Sum([]byte(pad + id))
	for i := range 20 {
		of := key
		for j := range of {
			of[j] ^= byte(i)
		}
		c, err := rc4.NewCipher(of[:])
		if err != nil {
			t.Fatal(err)
		}
		c.XORKeyStream(user[:], user[:])
	}
	stream := func(object byte, keys, text string) string {
		own := md5.Sum([]byte(string(key[:]) + string([]byte{object, 0, 0, 0, 0}) + "sAlT"))
		c, err := aes.NewCipher(own[:])
		if err != nil {
			t.Fatal(err)
		}
		n := aes.BlockSize - len(text)%aes.BlockSize
		data := []byte(text + strings.Repeat(string(rune(n)), n))
		iv := make([]byte, aes.BlockSize)
		cipher.NewCBCEncrypter(c, iv).CryptBlocks(data, data)
		return pdfStream(keys, string(iv)+string(data))
	}
	first := strings.Index(packed, "<<")
	data := pdfOf("<< /Type /Catalog /Pages 7 0 R >>", stream(2, "", contents), stream(3, fmt.Sprintf("/Type /ObjStm /N 2 /First %d", first), packed),
		fmt.Sprintf("<< /Filter /Standard /V 4 /R 4 /Length 128 /P -4 /O <%x> /U <%x> /CF << /StdCF << /CFM /AESV2 /Length 16 >> >> /StmF /StdCF /StrF /StdCF >>", owner, string(user[:])+strings.Repeat("u", 16)))
	return bytes.Replace(data, []byte("/Root"), []byte("/ID [("+id+") ("+id+")] /Encrypt 4 0 R /Root"), 1)
}

func deflated(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
