package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

const (
	// chatAnswers is how long a host's model may take, once nothing waits for a person any more. Some hosts that
	// declare sampling never answer.
	chatAnswers = 3 * time.Minute
	chatTokens  = 4096
)

// Chat asks the model of a session's host, for an approver. The request passes the gate as the kind sampling of
// callgate itself, with what it says. Errors are gate.ErrSession, and gate.ErrAnswer for what the person can be told.
func (p *Proxy) Chat(ctx context.Context, sessionID, prompt string) (string, error) {
	h, err := p.hostOf(sessionID)
	switch {
	case err != nil:
		return "", err
	case h == nil:
		return "", gate.ErrSession
	}
	if can := h.capable.Load(); can == nil || !can.sampling {
		return "", fmt.Errorf("%w: the session's host does not let others use its model (it does not offer sampling)", gate.ErrAnswer)
	}
	params := fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"text","text":%s}}],"maxTokens":%d}`, jsonx.Quote(prompt), chatTokens)
	asker := &server{host: h, alias: chatServer}
	if refused := asker.samplingRefused(ctx, params, nil); refused != "" {
		return "", fmt.Errorf("%w: %s", gate.ErrAnswer, refused)
	}
	ctx, cancel := context.WithTimeout(ctx, chatAnswers)
	defer cancel()
	pending, err := h.ask(nil, "", func(id []byte) []byte { return rpc.Request(id, "sampling/createMessage", params) })
	if err != nil {
		return "", fmt.Errorf("%w: the session's host cannot be asked now: %w", gate.ErrAnswer, err)
	}
	answer, err := pending.Wait(ctx)
	switch {
	case err != nil && h.ctx.Err() != nil:
		return "", fmt.Errorf("%w: the session has ended", gate.ErrAnswer)
	case err != nil:
		h.notify(nil, rpc.Request(nil, "notifications/cancelled", append(append([]byte(`{"requestId":`), pending.ID...), '}')))
		return "", fmt.Errorf("%w: the session's host did not answer within %s", gate.ErrAnswer, chatAnswers)
	case answer.Error != nil:
		return "", fmt.Errorf("%w: the session's host refuses: %s", gate.ErrAnswer, messageOf(answer.Error))
	}
	return spoken(answer.Result)
}

// chatServer is the server that rules see when an approver asks the model.
const chatServer = "callgate"

// spoken is the text of the model's message, which is one block or several.
func spoken(result []byte) (string, error) {
	type block struct{ Type, Text string }
	var message struct{ Content json.RawMessage }
	var blocks []block
	err := json.Unmarshal(result, &message)
	if err == nil && json.Unmarshal(message.Content, &blocks) != nil {
		blocks = make([]block, 1)
		err = json.Unmarshal(message.Content, &blocks[0])
	}
	var text strings.Builder
	for _, b := range blocks {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	if err != nil || text.Len() == 0 {
		return "", fmt.Errorf("%w: the session's host answered with no text", gate.ErrAnswer)
	}
	return text.String(), nil
}

// messageOf is what a JSON-RPC error says.
func messageOf(raw []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		return "it says no more"
	}
	return e.Message
}
