package proxy

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/traces"
	"callgate/internal/upstream"
	"callgate/proxy/internal/stateless"
	"callgate/proxy/internal/tasks"
)

// serverSide is what a server asks of the host, and tells it.
type serverSide struct{ *server }

// notified takes a notification of the server, on the goroutine that reads from it: what comes before a
// response is with the host before the response is. r is the request of the host that it belongs to, nil when
// that is not known.
func (s serverSide) notified(m rpc.Message, r *inflight) {
	h := s.host
	m, err := disowned(m)
	if err != nil {
		h.log.Warn("a server's notification does not reach the host", "server", s.alias, "error", err)
		return
	}
	m = s.forHost(m)
	switch m.Method {
	case "notifications/progress":
		h.relay.progress(s.server, m)
	case "notifications/tasks/status":
		h.tasks.status(s.server, m)
	case "notifications/message", "notifications/resources/updated", "notifications/elicitation/complete":
		if why := s.pretends(m); why != "" {
			h.log.Warn("a server's notification does not reach the host", "server", s.alias, "method", m.Method, "reason", why)
		} else if h.initialized.Load() {
			h.relay.notify(s.server, m, r)
		}
	case "notifications/cancelled":
		h.relay.withdrawn(m)
	default:
		h.log.Debug("notification of the server dropped", "server", s.alias, "method", m.Method)
	}
}

// pretends says why a notification of the server could pass for callgate's own; "" when it cannot.
func (s serverSide) pretends(m rpc.Message) (why string) {
	switch m.Method {
	case "notifications/message":
		var logger [1]jsonx.Member
		if m.Params == nil {
			return ""
		}
		if err := jsonx.Members(m.Params, []string{"logger"}, logger[:]); err != nil {
			return err.Error()
		}
		if name, _ := jsonx.String(logger[0].Value); namesCallgate(name) && !namesCallgate(s.alias) {
			return "Its logger is named like callgate."
		}
	case "notifications/elicitation/complete":
		return s.host.p.o.Gate.Imitates(m.Params)
	}
	return ""
}

// progress passes progress on if it belongs to a running request that this server works on, and to
// nothing else: a server has no say about the requests of another, or about one that has ended.
func (x *relaying) progress(s *server, m rpc.Message) {
	var token [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"progressToken"}, token[:]) != nil || token[0].Value == nil {
		return
	}
	r := x.h.running.byToken(token[0].Value)
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && r.from.Load() == s {
		x.h.notify(r, withParams(m, r.told(m.Params)).Raw)
	}
}

// notify passes on a notification of the server that names no request, before the response of the one that carries it.
func (x *relaying) notify(s *server, m rpc.Message, r *inflight) {
	for _, r := range x.carriers(s, m, r) {
		if x.notifyRunning(r, m.Raw) {
			return
		}
	}
	x.h.notify(nil, m.Raw)
}

// notifyRunning writes a notification that belongs to the request, unless that has ended.
func (x *relaying) notifyRunning(r *inflight, message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	x.h.notify(r, message)
	return true
}

// sameToken reports whether two progress tokens are one, as spelled by the host and by the server: a server
// decodes what it was given and encodes it anew, so that "\u0041" comes back as "A", and 1.0 as 1.
func sameToken(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if x, ok := jsonx.String(a); ok {
		y, ok := jsonx.String(b)
		return ok && x == y
	}
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return errX == nil && errY == nil && x == y
}

// asked takes a request of the server. It is answered on a goroutine of its own: a host that never answers
// delays nobody but this request.
func (s serverSide) asked(m rpc.Message, r *inflight) {
	h := s.host
	can := h.capable.Load()
	ok := false
	switch m.Method {
	case "roots/list":
		ok = can.roots
	case "elicitation/create":
		ok = can.elicitation
	case "sampling/createMessage":
		ok = can.sampling
	case "tasks/get", "tasks/result", "tasks/list":
		ok = s.assigns()
	case "tasks/cancel":
		ok = s.assigns() && can.tasks.Cancel
	}
	if !ok {
		s.up.Reply(rpc.Error(m.ID, rpc.CodeMethodNotFound, "the host does not offer "+m.Method))
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	resume := s.clock.pause()
	id := string(m.ID)
	h.relay.mu.Lock()
	h.relay.asked[id] = &serverRequest{cancel: cancel, from: s.server, token: progressToken(m.Params)}
	h.relay.mu.Unlock()
	h.work.Go(func() {
		defer func() {
			h.relay.mu.Lock()
			delete(h.relay.asked, id)
			h.relay.mu.Unlock()
			cancel()
			resume()
		}()
		s.up.Reply(s.askHost(ctx, m, r))
	})
}

// askHost puts a server's request to the host and returns the answer for the server. r is as in notified.
func (s serverSide) askHost(ctx context.Context, m rpc.Message, r *inflight) []byte {
	h, label := s.host, labelOf(m)
	err := jsonx.Check(m.Raw)
	if err == nil {
		m, err = disowned(m)
	}
	if err != nil { // the host could read it unlike the person who is asked about it
		return rpc.Error(m.ID, rpc.CodeInvalidRequest, err.Error())
	}
	m.Label = label
	if isAboutTasks(m.Method) {
		return s.askAboutTask(ctx, m, r)
	}
	m, asTask, err := s.taskWanted(m)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	message := s.forHost(m)
	if r != nil && r.deferred != nil && r.deferred.Unasked {
		message = withParams(message, tasks.WithRelated(message.Params, r.deferred.ID))
	}
	if why := h.p.o.Gate.Imitates(m.Params); why != "" {
		h.log.Warn("a server's request does not reach the host", "server", s.alias, "method", m.Method, "reason", why)
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "callgate does not pass this on. "+why)
	}
	switch m.Method {
	case "sampling/createMessage":
		return s.sample(ctx, m, message, asTask, r)
	case "elicitation/create": // is the person's own affair, as roots are: there is nothing to decide
		if why := cmp.Or(imitates(m.Params), astray(m.Params)); why != "" {
			h.log.Warn("a server's request does not reach the host", "server", s.alias, "method", m.Method, "reason", why)
			return rpc.Error(m.ID, rpc.CodeInvalidParams, "callgate does not pass this on. "+why)
		}
		params, err := s.signed(message.Params)
		if err == nil {
			message, err = rpc.Parse(message.WithParams(message.ID, params))
		}
		if err != nil {
			return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
		}
	}
	answer, fault := s.putToHost(ctx, m, message, r)
	if fault != nil {
		return fault
	}
	return s.answered(ctx, m, answer, asTask)
}

// answered is the host's answer to the server's request m, as the server gets it.
func (s serverSide) answered(ctx context.Context, m, answer rpc.Message, asTask bool) []byte {
	if asTask {
		return s.assign(ctx, m, answer)
	}
	return s.forServer(answer).WithID(m.ID)
}

// hostError is why a request to the host's model came to nothing.
type hostError struct{ text string }

func (e *hostError) Error() string { return e.text }

// sample lets a request to the host's model pass the gate as the kind sampling, with what it says. message is what the
// host gets.
func (s serverSide) sample(ctx context.Context, m, message rpc.Message, asTask bool, r *inflight) []byte {
	call, err := resources{s.host}.newCall(kindTool(tools.KindSampling, s.server), s.server, "server", s.alias, m.Params)
	if err != nil {
		return rpc.Error(m.ID, -1, "callgate denied sampling. "+err.Error())
	}
	var fault []byte // that there is no answer
	var refused rpc.Message
	return s.host.pass(ctx, nil, gated{
		call: call, method: m.Method, params: m.Params, server: s.server, steps: stepFuncs{
			onForward: func(ctx context.Context, span *traces.Call) (rpc.Message, error) {
				trace, forwarded := span.Forwarding("")
				defer forwarded()
				traced, err := traced(message, trace)
				if err != nil {
					fault = rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
					return rpc.Message{}, &hostError{err.Error()}
				}
				answer, none := s.putToHost(ctx, m, traced, r)
				switch {
				case none != nil:
					fault = none
					return answer, &hostError{"the host gave no answer"}
				case answer.Error != nil:
					refused = answer
					return answer, &hostError{"the host refused: " + messageOf(answer.Error)}
				}
				return answer, nil
			},
			onRefuse: func(v gate.Verdict) []byte {
				return rpc.Error(m.ID, -1, "callgate denied sampling. "+v.Reason)
			},
			onFail: func() []byte {
				if fault != nil {
					return fault
				}
				return s.answered(ctx, m, refused, asTask)
			},
			onAnswer: func(answer rpc.Message) []byte {
				return s.answered(ctx, m, answer, asTask)
			},
		}})
}

// putToHost sends the server's request m to the host as message and waits for the answer; or it returns the response
// that says why there is none.
func (s serverSide) putToHost(ctx context.Context, m, message rpc.Message, r *inflight) (answer rpc.Message, fault []byte) {
	h := s.host
	if r == nil {
		if running := h.relay.running(s.server); len(running) > 0 {
			r = running[0]
		}
	}
	pending, err := h.ask(r, m.Label, message.WithID)
	if err != nil {
		return rpc.Message{}, rpc.Error(m.ID, rpc.CodeInternal, "the host is gone")
	}
	answer, err = pending.Wait(ctx)
	if err != nil {
		h.notify(r, rpc.Request(nil, "notifications/cancelled", append(append([]byte(`{"requestId":`), pending.ID...), '}')))
		return rpc.Message{}, rpc.Error(m.ID, rpc.CodeInternal, "the request was cancelled")
	}
	return answer, nil
}

// signed returns the params of an elicitation that says which server asks, and whose message is one visible line.
// Without it a server could speak to the person as if it were callgate.
func (s serverSide) signed(params []byte) ([]byte, error) {
	var message [1]jsonx.Member
	if err := jsonx.Members(params, []string{"message"}, message[:]); err != nil {
		return nil, err
	}
	text, _ := jsonx.String(message[0].Value)
	signature := jsonx.Quote("[" + s.alias + "] " + oneVisibleLine(text))
	if message[0].Value == nil {
		return jsonx.Put(params, "message", signature), nil
	}
	return jsonx.Splice(params, jsonx.Edit{Start: message[0].Start, End: message[0].End(), With: signature}), nil
}

// withdrawn takes a server's cancellation of its own request.
func (x *relaying) withdrawn(m rpc.Message) {
	var id [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"requestId"}, id[:]) != nil {
		return
	}
	x.mu.Lock()
	q := x.asked[string(id[0].Value)]
	x.mu.Unlock()
	if q != nil {
		q.cancel()
	}
}

// relaying is what goes both ways between one host and its servers beside requests of the host.
type relaying struct {
	h *host

	mu    sync.Mutex
	asked map[string]*serverRequest // the servers' requests that the host has, by their id
}

// serverRequest is a server's request that the host has not answered yet.
type serverRequest struct {
	cancel context.CancelFunc
	from   *server
	token  []byte // progress token as spelled, nil without one
}

// progressForUpstream passes the host's progress on a server's request to the servers that gave the token in
// a request which is open: no other server hears of it.
func (x *relaying) progressForUpstream(m rpc.Message) {
	var token [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"progressToken"}, token[:]) != nil || token[0].Value == nil {
		return
	}
	var to []*server
	x.mu.Lock()
	for _, q := range x.asked {
		if q.token != nil && sameToken(q.token, token[0].Value) && !slices.Contains(to, q.from) {
			to = append(to, q.from)
		}
	}
	x.mu.Unlock()
	a := x.h.assignments.Open(func(a *tasks.Assignment) bool { return a.Token != nil && sameToken(a.Token, token[0].Value) })
	if a != nil && !slices.Contains(to, a.Server.(*server)) {
		to = append(to, a.Server.(*server))
	}
	for _, s := range to {
		s.up.Notify(m.Method, tasks.Related(m.Params, s.nameOf))
	}
}

// labelOf is what a server's question is called: as the server calls it, unless that is what callgate calls its own.
func labelOf(m rpc.Message) string {
	if m.Label == stateless.ApprovalLabel || namesCallgate(m.Label) {
		return ""
	}
	return m.Label
}

// running returns the requests of the host that the server works on, the newest first. What callgate itself requests in
// the place of a host without a session is none of them: nobody waits for it who could be told anything.
func (x *relaying) running(s *server) []*inflight {
	found := x.h.running.at(s)
	if x.h.era == upstream.Modern {
		found = slices.DeleteFunc(found, func(r *inflight) bool { return r.stateless == nil })
	}
	return found
}

// carriers returns the requests of the host of which one, the first that still runs, carries a notification of the
// server. r is the one that it belongs to, where the way that it came tells; where it does not, and the server works at
// several, nobody can say. A host with a session hears it beside its requests then. One without has nothing beside
// them, and hears it with the newest that wants to: they are all its own.
func (x *relaying) carriers(s *server, m rpc.Message, r *inflight) []*inflight {
	if r != nil {
		return []*inflight{r}
	}
	running := x.running(s)
	switch {
	case x.h.era == upstream.Modern:
		return slices.DeleteFunc(running, func(r *inflight) bool { return !r.stateless.Wants(m) })
	case len(running) > 1:
		return nil
	}
	return running
}
