package main

import (
	"context"
	"fmt"
	"log/slog"

	"callgate/audit"
	"callgate/internal/companion"
)

var _ companion.Chatter = backend{}

// Chat puts what is known of the question in front of it and asks the host's model.
func (b backend) Chat(ctx context.Context, sessionID, message string, who audit.Author) (string, error) {
	prompt := message
	if b.s.retrieval != nil {
		found, err := b.s.retrieval.ContextPrompt(ctx, sessionID, message, 0)
		if err != nil {
			b.s.log.Warn("a chat goes without what the workspace says about it", "session", sessionID, "by", who.By, slog.Any("error", err))
		} else {
			prompt = found
		}
	}
	var text string
	err := b.change(sessionID, who, fmt.Sprintf("Ask the host's model, in %d bytes.", len(prompt)), func() (err error) {
		text, err = b.s.proxy.Chat(ctx, sessionID, prompt)
		return err
	})
	return text, err
}
