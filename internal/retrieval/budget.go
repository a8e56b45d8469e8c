package retrieval

import (
	"fmt"
	"strings"

	"callgate/rag"
)

// Limits of text for a model, in tokens.
const (
	defaultTokens = 4000
	minTokens     = 200
	maxTokens     = 50_000
	// bytesPerToken is what today's tokenizers average on code and prose, or slightly less.
	bytesPerToken = 3.5
)

// budget writes text for a model until its tokens are spent. It leaves out pieces that no longer fit, but cuts the
// first one to fit.
type budget struct {
	b    strings.Builder
	left int // bytes
	out  int // pieces left out
}

// newBudget returns a budget of tokens tokens; 0 means the default.
func newBudget(tokens int) *budget {
	if tokens <= 0 {
		tokens = defaultTokens
	}
	return &budget{left: int(float64(min(max(tokens, minTokens), maxTokens)) * bytesPerToken)}
}

func (b *budget) add(piece string) {
	if len(piece) > b.left {
		if b.b.Len() > 0 {
			b.out++
			return
		}
		piece = strings.ToValidUTF8(piece[:b.left], "") + "\n… cut: ask for more tokens to see the rest\n"
	}
	b.left -= len(piece)
	b.b.WriteString(piece)
}

// cut adds a piece and returns what was written of it: a part if it is the first, "" if it no longer fits.
func (b *budget) cut(piece string) string {
	before := b.b.Len()
	b.add(piece)
	return b.b.String()[before:]
}

// text returns what was written, with a line about what was left out.
func (b *budget) text() string {
	if b.out > 0 {
		fmt.Fprintf(&b.b, "… %d more left out: they do not fit into maxTokens\n", b.out)
	}
	return strings.TrimRight(b.b.String(), "\n")
}

// forModel returns the answer as models read it: each passage's heading and its unchanged lines.
func (a *Answer) forModel(tokens int) string {
	if len(a.Hits) == 0 {
		return joined("Nothing found.", a.Note)
	}
	b := newBudget(tokens)
	if a.Note != "" {
		b.add("Note: " + a.Note + "\n\n")
	}
	for i := range a.Hits {
		h := &a.Hits[i]
		b.add(h.head() + "\n" + h.body() + "\n\n")
	}
	return b.text()
}

func (h *Hit) head() string {
	head := h.File()
	if h.Start > 0 {
		head += fmt.Sprintf(":%d-%d", h.Start, h.End)
	}
	if h.Symbol != "" {
		head += "  " + h.Symbol
	}
	return head
}

func (h *Hit) body() string {
	if h.Gone {
		return "(the file was deleted since it was indexed)"
	}
	if h.Stale {
		return "(the file has changed since it was indexed: read it)"
	}
	fence := "```"
	for strings.Contains(h.Text, fence) {
		fence += "`"
	}
	language := h.Language
	if h.Kind == rag.KindDoc {
		language = ""
	}
	return fence + language + "\n" + strings.TrimRight(h.Text, "\n") + "\n" + fence
}
