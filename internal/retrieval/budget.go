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
	left int  // bytes
	any  bool // a piece was written
	out  int  // pieces left out
}

// newBudget returns a budget of tokens tokens; 0 means the default.
func newBudget(tokens int) *budget {
	if tokens <= 0 {
		tokens = defaultTokens
	}
	return &budget{left: int(float64(min(max(tokens, minTokens), maxTokens)) * bytesPerToken)}
}

// begin writes what comes before the pieces, whole.
func (b *budget) begin(text string) {
	b.left = max(0, b.left-len(text))
	b.b.WriteString(text)
}

func (b *budget) add(piece string) {
	if len(piece) > b.left {
		if b.any {
			b.out++
			return
		}
		const rest = "\n… cut: ask for more tokens to see the rest\n"
		piece = strings.ToValidUTF8(piece[:max(0, b.left-len(rest))], "") + rest
	}
	b.any = true
	b.begin(piece)
}

// cut adds a piece of a source and returns what was written of it: a part if it is the first, "" if it no longer fits.
func (b *budget) cut(source, piece string) string {
	before := b.b.Len()
	b.add(source + "\n" + piece)
	return strings.TrimPrefix(b.b.String()[before:], source+"\n")
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
		b.begin("Note: " + a.Note + "\n\n")
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
