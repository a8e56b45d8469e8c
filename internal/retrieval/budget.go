package retrieval

import (
	"fmt"
	"strings"

	"callgate/rag"
)

// Budgets of text for a model, in tokens.
const (
	defaultTokens = 4000
	minTokens     = 200
	maxTokens     = 50_000
	// bytesPerToken is what tokenizers of today make of code and prose, on average and rather less than more.
	bytesPerToken = 3.5
)

// budget writes text for a model until its tokens are spent. It leaves out pieces that no longer fit, except the first,
// which it cuts.
type budget struct {
	b    strings.Builder
	left int // bytes
	out  int // pieces left out
}

// newBudget returns a budget of that many tokens; 0 means the default.
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

// cut takes a piece out of the budget and returns it: cut where it is the first, "" where it does not fit any more.
func (b *budget) cut(piece string) string {
	before := b.b.Len()
	b.add(piece)
	return b.b.String()[before:]
}

// text returns what was written, and says what was left out.
func (b *budget) text() string {
	if b.out > 0 {
		fmt.Fprintf(&b.b, "… %d more left out: they do not fit into maxTokens\n", b.out)
	}
	return strings.TrimRight(b.b.String(), "\n")
}

// forModel writes the answer as models read it: a head for each passage and its lines as they are.
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
