package upstream

import (
	"bytes"
	"context"
	"errors"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream/lifetime"
)

// Request sends a request and waits for the response, an error response included, which keeps its code and
// data. Params are raw JSON, or nil. A server that is down is started.
//
// When ctx ends the server is told that the request is cancelled, and the error is ctx.Err(). A server that
// ends before it answers is a *DownError. A request that was never sent fails with an UnsentError. How long to wait is
// the caller's business.
func (u *Upstream) Request(ctx context.Context, method string, params []byte) (rpc.Message, error) {
	return u.Forward(ctx, func(id []byte) []byte { return rpc.Request(id, method, params) })
}

// Forward is Request for a message that compose makes, given the id that it MUST have: a host's message with
// its unknown members, say.
func (u *Upstream) Forward(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	for again := false; ; again = true {
		in, err := u.acquire(ctx)
		if err != nil {
			return rpc.Message{}, &UnsentError{err}
		}
		answer, err := in.ask(ctx, compose)
		if again || !errors.Is(err, errNotRun) {
			return answer, err
		}
		select {
		case <-in.over:
		case <-ctx.Done():
			return rpc.Message{}, ctx.Err()
		}
	}
}

// Post is Forward for a caller that does not wait. The request gets what Forward would return, once: an answer on the
// goroutine that reads from the server, which goes on when Answered returns, and an error on a goroutine of its own,
// for which Close does not wait. Post is false, and nothing is sent, where it takes a wait: for a server that is down,
// of the modern era, or no process.
func (u *Upstream) Post(life *lifetime.Request, request rpc.Posted) bool {
	in := u.current.Load()
	if in == nil || in.modern != nil || life.Err() != nil {
		return false
	}
	if _, ok := in.link.(*process); !ok || !in.usage.begin() {
		return false
	}
	in.post(life, request)
	return true
}

// Notify sends a notification and never blocks. A server that is not ready gets none: what it has to know
// it asks for when it starts.
func (u *Upstream) Notify(method string, params []byte) {
	in := u.current.Load()
	if in == nil {
		u.log.Debug("notification dropped: the server is not ready", "method", method)
		return
	}
	if in.modern != nil {
		u.log.Debug("notification dropped: the server's era of MCP has none from hosts", "method", method)
		return
	}
	if err := in.conn.Write(rpc.Request(nil, method, oneLine(params))); err != nil {
		u.log.Warn("notification dropped", "method", method, "error", err)
	}
}

// oneLine returns JSON without line ends, which would end a message and begin another. Outside of strings
// they are white space like any other, and inside of strings JSON has none.
func oneLine(json []byte) []byte {
	if bytes.IndexByte(json, '\n') < 0 && bytes.IndexByte(json, '\r') < 0 {
		return json
	}
	out := bytes.Clone(json)
	for i, b := range out {
		if b == '\n' || b == '\r' {
			out[i] = ' '
		}
	}
	return out
}

// unwanted stops the task, of this era or the last, that the server had made of a call when it heard that nobody wants
// it.
func (in *incarnation) unwanted(answer rpc.Message) {
	made := answer.Result
	if !jsonx.MayHold(made, "task") {
		return
	}
	if in.modern == nil {
		made = jsonx.At(made, "task")
	}
	if id, named := jsonx.String(jsonx.At(made, "taskId")); named && id != "" {
		in.workers.Go(func() { (&following{in: in, id: id}).giveUp(in.ctx) })
	}
}
