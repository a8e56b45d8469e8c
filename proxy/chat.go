package proxy

import (
	"context"
	"errors"
	"fmt"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/rpc"
	"callgate/internal/traces"
	"callgate/proxy/internal/chat"
	"callgate/proxy/internal/raw"
)

// Parts of a conversation with a host's model.
type (
	ChatTurn   = chat.Turn
	ChatAnswer = chat.Answer
	ChatUsage  = chat.Usage
)

// Chat asks the model of a session's host to continue a conversation, for an approver. The request passes the gate
// under the kind sampling. It ends with ctx, or when a person cancels what the session runs; callgate tells the host.
// The error is gate.ErrSession, or one to show to the person: gate.ErrDeclined, gate.ErrCancelled or
// gate.ErrUnavailable.
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
	defer h.chats.begin(newCallID(), cancel)()
	params := chat.Params(turns)
	asker := &server{host: h, alias: chatServer}
	call, err := h.kindCall(kindTool(tools.KindSampling, asker), asker, named("server", asker.alias, params))
	if err != nil {
		return ChatAnswer{}, err
	}
	var answer ChatAnswer
	h.passed(ctx, nil, gated{
		call: call, method: "sampling/createMessage", params: params, server: asker, steps: stepFuncs{
			onForward: func(ctx context.Context, _ *traces.Call) (rpc.Message, error) {
				var result []byte
				if result, err = h.askModel(ctx, params); err == nil {
					answer, err = chat.Read(result)
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

// askModel asks the host's model, and tells the host if nobody waits for the answer any more.
func (h *host) askModel(ctx context.Context, params []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chat.Patience)
	defer cancel()
	pending, err := h.ask(nil, "", func(id []byte) []byte { return rpc.Request(id, "sampling/createMessage", params) })
	if err != nil {
		return nil, fmt.Errorf("%w: the host cannot be asked now: %w", gate.ErrUnavailable, err)
	}
	answer, err := pending.Wait(ctx)
	switch {
	case err != nil && h.ctx.Err() != nil:
		return nil, fmt.Errorf("%w: the session has ended", gate.ErrUnavailable)
	case err != nil:
		h.notify(nil, rpc.Request(nil, "notifications/cancelled", append(append([]byte(`{"requestId":`), pending.ID...), '}')))
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("%w before the model answered", gate.ErrCancelled)
		}
		return nil, fmt.Errorf("%w: the host did not answer within %s", gate.ErrUnavailable, chat.Patience)
	case answer.Error != nil:
		return nil, fmt.Errorf("%w: the host said: %s", gate.ErrDeclined, raw.ErrorText(answer.Error))
	}
	return answer.Result, nil
}

// chatServer is the server name that rules see when an approver asks the model.
const chatServer = "callgate"
