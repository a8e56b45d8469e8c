package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/traces"
)

const (
	// chatAnswers is how long a host's model may take, once nothing waits for a person any more. Some hosts that
	// declare sampling never answer.
	chatAnswers = 3 * time.Minute
	chatTokens  = 4096
)

// ChatTurn is one message of a conversation with a host's model.
type ChatTurn struct {
	Role string // user or assistant
	Text string
}

// ChatAnswer is what the model says.
type ChatAnswer struct {
	Text  string
	Model string     // as the host names it; may be ""
	Usage *ChatUsage // nil where the host does not tell
}

// ChatUsage is what an answer cost, if the host tells. MCP has no member for it: hosts use "usage", in the result or in
// its _meta.
type ChatUsage struct {
	Tokens int
	Cost   float64
}

// chats are the questions of people to the model of one host.
type chats struct {
	h *host

	mu    sync.Mutex
	asked map[*chatting]struct{} // that have no answer yet
}

// cancel ends all of them.
func (cs *chats) cancel() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.asked {
		c.cancel()
	}
}

// chatting is a question to the host's model that has no answer yet.
type chatting struct{ cancel func() }

// Chat asks the model of a session's host to continue a conversation, for an approver. The request passes the gate as
// the kind sampling. It ends with ctx, and when a person cancels what the session runs; the host is told. Errors are
// gate.ErrSession, and gate.ErrDeclined, gate.ErrCancelled and gate.ErrUnavailable for what the person can be told.
func (p *Proxy) Chat(ctx context.Context, sessionID string, turns []ChatTurn) (ChatAnswer, error) {
	h, err := p.hostOf(sessionID)
	switch {
	case err != nil:
		return ChatAnswer{}, err
	case h == nil:
		return ChatAnswer{}, gate.ErrSession
	}
	if can := h.capable.Load(); can == nil || !can.sampling {
		return ChatAnswer{}, fmt.Errorf("%w: this host does not let others use its model (it does not offer MCP sampling)", gate.ErrUnavailable)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer h.chats.begin(&chatting{func() { cancel(gate.ErrCancelled) }})()
	params := chatParams(turns)
	asker := &server{host: h, alias: chatServer}
	call, err := resources{h}.newCall(kindTool(tools.KindSampling, asker), asker, "server", asker.alias, params)
	if err != nil {
		return ChatAnswer{}, err
	}
	var answer ChatAnswer
	h.pass(ctx, nil, gated{
		call: call, method: "sampling/createMessage", params: params, server: asker, steps: stepFuncs{
			onForward: func(ctx context.Context, _ *traces.Call) (rpc.Message, error) {
				var result []byte
				if result, err = h.chats.ask(ctx, params); err == nil {
					answer, err = spoken(result)
				}
				if err != nil {
					return rpc.Message{}, &hostError{err.Error()}
				}
				return rpc.Message{Result: result}, nil
			},
			onRefuse: func(v gate.Verdict) []byte {
				if v.Decision == gate.DecidedCancelled || ctx.Err() != nil {
					err = fmt.Errorf("%w before the question was sent to the model", gate.ErrCancelled)
				} else {
					err = fmt.Errorf("%w: the question was not sent to the model. %s", gate.ErrDeclined, v.Reason)
				}
				return nil
			},
			onFail:   func() []byte { return nil },
			onAnswer: func(rpc.Message) []byte { return nil },
		}})
	return answer, err
}

// begin registers a question, so that a person can cancel it.
func (cs *chats) begin(c *chatting) (end func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.asked == nil {
		cs.asked = map[*chatting]struct{}{}
	}
	cs.asked[c] = struct{}{}
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(cs.asked, c)
	}
}

// ask has the host's model answer, and tells the host when nobody waits for it any more.
func (cs *chats) ask(ctx context.Context, params []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chatAnswers)
	defer cancel()
	pending, err := cs.h.ask(nil, "", func(id []byte) []byte { return rpc.Request(id, "sampling/createMessage", params) })
	if err != nil {
		return nil, fmt.Errorf("%w: the host cannot be asked now: %w", gate.ErrUnavailable, err)
	}
	answer, err := pending.Wait(ctx)
	switch {
	case err != nil && cs.h.ctx.Err() != nil:
		return nil, fmt.Errorf("%w: the session has ended", gate.ErrUnavailable)
	case err != nil:
		cs.h.notify(nil, rpc.Request(nil, "notifications/cancelled", append(append([]byte(`{"requestId":`), pending.ID...), '}')))
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("%w before the model answered", gate.ErrCancelled)
		}
		return nil, fmt.Errorf("%w: the host did not answer within %s", gate.ErrUnavailable, chatAnswers)
	case answer.Error != nil:
		return nil, fmt.Errorf("%w: the host said: %s", gate.ErrDeclined, messageOf(answer.Error))
	}
	return answer.Result, nil
}

// chatServer is the server that rules see when an approver asks the model.
const chatServer = "callgate"

func chatParams(turns []ChatTurn) []byte {
	b := []byte(`{"messages":[`)
	for i, t := range turns {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"role":%s,"content":{"type":"text","text":%s}}`, jsonx.Quote(t.Role), jsonx.Quote(t.Text))
	}
	return fmt.Appendf(b, `],"maxTokens":%d}`, chatTokens)
}

// spoken reads the model's message: its text, which is one block or several, and what it cost.
func spoken(result []byte) (ChatAnswer, error) {
	type block struct{ Type, Text string }
	var message struct {
		Content json.RawMessage `json:"content"`
		Model   string          `json:"model"`
		Usage   usage           `json:"usage"`
		Meta    struct {
			Usage usage `json:"usage"`
		} `json:"_meta"`
	}
	var blocks []block
	err := json.Unmarshal(result, &message)
	if err == nil && json.Unmarshal(message.Content, &blocks) != nil {
		blocks = make([]block, 1)
		err = json.Unmarshal(message.Content, &blocks[0])
	}
	answer := ChatAnswer{Model: message.Model}
	for _, b := range blocks {
		if b.Type == "text" {
			answer.Text += b.Text
		}
	}
	if err != nil || answer.Text == "" {
		return ChatAnswer{}, fmt.Errorf("%w: the host answered without any text", gate.ErrUnavailable)
	}
	if answer.Usage = message.Usage.told(); answer.Usage == nil {
		answer.Usage = message.Meta.Usage.told()
	}
	return answer, nil
}

// usage is what hosts call it: names of several model providers. What cannot be read is not told.
type usage map[string]json.RawMessage

func (u *usage) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) == nil {
		*u = members
	}
	return nil
}

// told is nil when it says nothing that is known.
func (u usage) told() *ChatUsage {
	number := func(names ...string) (n float64, ok bool) {
		for _, name := range names {
			if json.Unmarshal(u[name], &n) == nil && n >= 0 {
				return n, true
			}
		}
		return 0, false
	}
	tokens, ok := number("totalTokens", "total_tokens", "tokens")
	if !ok {
		in, a := number("inputTokens", "input_tokens", "promptTokens", "prompt_tokens")
		out, b := number("outputTokens", "output_tokens", "completionTokens", "completion_tokens")
		tokens, ok = in+out, a || b
	}
	cost, priced := number("cost", "totalCost", "total_cost")
	if !ok && !priced {
		return nil
	}
	return &ChatUsage{Tokens: int(min(tokens, 1<<52)), Cost: cost}
}

// messageOf is what a JSON-RPC error says.
func messageOf(raw []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		return "it says no more"
	}
	return e.Message
}
