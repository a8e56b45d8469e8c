package output

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"callgate/internal/visible"
	"callgate/rag"
)

// visibleLines returns text that is safe for a terminal, keeping its lines.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible.Text(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

// Documents prints a table of the knowledge base's documents.
func Documents(w io.Writer, documents []rag.KBDocument) error {
	if len(documents) == 0 {
		_, err := fmt.Fprintln(w, "No documents.")
		return err
	}
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "DOCUMENT\tCHARACTERS\tPATH\tBEGINNING")
	for _, d := range documents {
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\n", d.DocumentID, d.Length, orDash(visible.Text(d.Metadata["path"])),
			visible.Text(visible.Shorten(strings.Join(strings.Fields(d.Preview), " "), 60)))
	}
	return out.Flush()
}

// Passages prints the passages of documents that match a query.
func Passages(w io.Writer, hits []rag.KBHit) error {
	var b strings.Builder
	for _, h := range hits {
		for _, p := range h.Passages {
			fmt.Fprintf(&b, "%s:%d-%d  %.2f  %s\n%s\n\n", h.DocumentID, p.Start, p.End, h.Score, visible.Text(h.Metadata["path"]), visibleLines(p.Text))
		}
	}
	if len(hits) == 0 {
		b.WriteString("Nothing found.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
