package output

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"callgate/internal/retrieval"
	"callgate/internal/visible"
	"callgate/rag"
)

// Hits prints hits by their paths relative to the current directory. Paths outside it are absolute.
func Hits(w io.Writer, query string, hits []retrieval.Hit, scores bool) error {
	p := hitPrinter{palette: paletteOf(w), words: queryWords(query)}
	var b strings.Builder
	for i := range hits {
		h := hits[i].Hit
		h.Path = fromHere(hits[i].File())
		p.print(&b, &h, scores)
	}
	if len(hits) == 0 {
		b.WriteString("Nothing found.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fromHere returns path relative to the current directory, or unchanged if it is outside.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Unindexed prints the paths that no query can find.
func Unindexed(w io.Writer, paths []string) {
	for _, path := range paths {
		fmt.Fprintf(w, "not in the index, so never found: %s\n", visible.Text(path))
	}
}

// hitPrinter prints passages and highlights the query's words.
type hitPrinter struct {
	palette
	words *regexp.Regexp // nil: there are none
}

// queryWords returns an expression for the query's words, also within longer words. It returns nil if there are none.
func queryWords(query string) *regexp.Regexp {
	var words []string
	for _, w := range regexp.MustCompile(`[\pL\pN_]{3,}`).FindAllString(query, 32) {
		words = append(words, regexp.QuoteMeta(w))
	}
	if len(words) == 0 {
		return nil
	}
	return regexp.MustCompile("(?i)" + strings.Join(words, "|"))
}

func (p *hitPrinter) print(b *strings.Builder, h *rag.Hit, scores bool) {
	b.WriteString(p.paint(bold, visible.Text(h.Path)))
	if h.Start > 0 {
		fmt.Fprintf(b, ":%d-%d", h.Start, h.End)
	}
	if title := cmp.Or(h.Symbol, h.Title); title != "" {
		b.WriteString("  " + p.paint(green, visible.Text(visible.Shorten(title, 80))))
	}
	fmt.Fprintf(b, "  %s\n", p.paint(grey, fmt.Sprintf("%.2f", h.Score)))
	if scores {
		s := &h.Parts
		fmt.Fprintf(b, "      (fusion %.2f + match %.2f + definition %.2f + path %.2f + file %.2f) × %.2f; bm25 %.1f, coverage %.2f, cosine %.2f\n",
			s.Fusion, s.Match, s.Definition, s.Path, s.File, s.Factor, s.BM25, s.Coverage, s.Cosine)
	}
	if h.Stale {
		what := "has changed"
		if h.Gone {
			what = "was deleted"
		}
		b.WriteString(p.paint(red, "      the file "+what+" since it was indexed") + "\n")
		return
	}
	lines := strings.Split(h.Text, "\n")
	from := p.densest(lines)
	for i, line := range lines[from:min(len(lines), from+shownLines)] {
		line = visible.Text(visible.Shorten(strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), "\r"), 160))
		if p.words != nil {
			line = p.words.ReplaceAllStringFunc(line, func(w string) string { return p.paint("1;31", w) })
		}
		fmt.Fprintf(b, "%s %s\n", p.paint(grey, fmt.Sprintf("%5d", h.Start+from+i)), line)
	}
	b.WriteByte('\n')
}

// shownLines is how many lines of a passage are printed.
const shownLines = 6

// densest returns the first of the shownLines lines that contain most of the query's words.
func (p *hitPrinter) densest(lines []string) int {
	if p.words == nil {
		return 0
	}
	best, most := 0, 0
	for from := range max(1, len(lines)-shownLines+1) {
		found := map[string]bool{}
		for _, line := range lines[from:min(len(lines), from+shownLines)] {
			for _, w := range p.words.FindAllString(line, -1) {
				found[strings.ToLower(w)] = true
			}
		}
		if len(found) > most {
			best, most = from, len(found)
		}
	}
	return best
}
