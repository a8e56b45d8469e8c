package upstream

import (
	"bytes"
	"context"
	"errors"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream/lifetime"
)

// Request sends a request and waits for the response. An error response counts as a response and keeps its code and
// data. params are raw JSON, or nil. Request starts a server that is down.
//
// When ctx ends, the server is told that the request is cancelled, and the error is ctx.Err(). If the server ends
// before it answers, the error is a *DownError. If the request was never sent, the error is an *UnsentError. The caller
// decides how long to wait.
func (u *Upstream) Request(ctx context.Context, method string, params []byte) (rpc.Message, error) {
	return u.Forward(ctx, func(id []byte) []byte { return rpc.Request(id, method, params) })
}

// Forward does what Request does for a message that compose returns. The message MUST have the given id, and may be,
// say, a host's message with its unknown members.
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

// Post does what Forward does for a caller that does not wait. request.Answered gets the result once: an answer on the
// goroutine that reads from the server, which continues when Answered returns, or an error on a new goroutine, for
// which Close does not wait. Post returns false and sends nothing if it would have to wait: for a server that is down,
// of the modern era, or not a process.
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

// Notify sends a notification and never blocks. A server that is not ready gets none: it asks for what it needs when it
// starts.
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

// oneLine returns JSON without line ends, which would end a message and begin another. Outside strings they are plain
// white space, and inside strings JSON does not allow them.
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

// unwanted stops the task, of either era, that the server made of a call before it heard that nobody wants the call.
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
