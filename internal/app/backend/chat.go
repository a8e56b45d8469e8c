package backend

import (
	"context"
	"errors"
	"fmt"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion"
	"callgate/internal/companion/wire"
	"callgate/internal/retrieval"
	"callgate/proxy"
)

func (p clientPart) Tell(e gate.Event) { p.b.Gate.Tell(e) }

// Recall returns the passages that fit a message, or none if search is off.
func (p clientPart) Recall(ctx context.Context, sessionID, message string) (passages []wire.Passage, err error) {
	if p.b.Retrieval == nil {
		return nil, nil
	}
	found, err := p.b.Retrieval.Recall(ctx, sessionID, message, 0)
	for _, p := range found {
		passages = append(passages, wire.Passage{Source: p.Source, Text: p.Text})
	}
	return passages, err
}

// Chat asks the host's model. The passages found for a question are sent with that question only, not with later ones.
func (p clientPart) Chat(ctx context.Context, sessionID string, turns []wire.ChatTurn, who audit.Author) (companion.ChatAnswer, error) {
	conversation := make([]proxy.ChatTurn, len(turns))
	size, asked := 0, ""
	for i, t := range turns {
		text := t.Text
		if i == len(turns)-1 {
			found := make([]retrieval.Passage, len(t.Context))
			for j, p := range t.Context {
				found[j] = retrieval.Passage{Source: p.Source, Text: p.Text}
			}
			text = retrieval.WithPassages(text, found)
		}
		conversation[i], size = proxy.ChatTurn{Role: t.Role, Text: text}, size+len(text)
	}
	if n := len(turns); n > 0 && turns[n-1].Role == "user" {
		asked = turns[n-1].Text
		if err := p.b.Gate.Prompt(sessionID, asked); err != nil {
			return companion.ChatAnswer{}, err
		}
	}
	summary := fmt.Sprintf("Ask the host's model, in %d bytes.", size)
	if err := p.b.Gate.Controls.NoteChat(sessionID, who, summary, asked); err != nil {
		return companion.ChatAnswer{}, fmt.Errorf("the question could not be recorded, so the model was not asked: %w", err)
	}
	answer, err := p.b.Proxy.Chat(ctx, sessionID, conversation)
	if err != nil {
		err = errors.Join(err, p.b.Gate.Controls.Note(sessionID, who, "Not done: "+summary))
	} else {
		err = p.b.Gate.Controls.NoteChat(sessionID, audit.Author{By: "model"}, "The host's model answered.", answer.Text)
	}
	out := companion.ChatAnswer{Text: answer.Text, Model: answer.Model}
	if answer.Usage != nil {
		out.Usage = &wire.Usage{Tokens: answer.Usage.Tokens, Cost: answer.Usage.Cost}
	}
	return out, err
}
