package proxy

import (
	"cmp"
	"context"
	"slices"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy/internal/provenance"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/stateless"
	"callgate/proxy/internal/tasks"
)

// notified handles a notification of the server on the goroutine that reads from the server, so that the host gets it
// before any later response. r is the host's request that it belongs to, or nil if that is unknown.
func (s serverSide) notified(m rpc.Message, r *inflight) {
	h := s.server.host
	m, err := provenance.Marked(m)
	if err != nil {
		h.log.Warn("a server's notification does not reach the host", "server", s.server.alias, "error", err)
		return
	}
	m = s.server.forHost(m)
	switch m.Method {
	case "notifications/progress":
		s.progress(m)
	case "notifications/tasks/status":
		taskCalls{h}.status(s.server, m)
	case "notifications/message", "notifications/resources/updated", "notifications/elicitation/complete":
		if why := s.pretends(m); why != "" {
			h.log.Warn("a server's notification does not reach the host", "server", s.server.alias, "method", m.Method, "reason", why)
		} else if h.initialized.Load() {
			s.relay(m, r)
		}
	case "notifications/cancelled":
		if q, open := h.asking.of(string(jsonx.At(m.Params, "requestId"))); open {
			q.cancel()
		}
	default:
		h.log.Debug("notification of the server dropped", "server", s.server.alias, "method", m.Method)
	}
}

// pretends returns why a notification of the server could pass for callgate's own, or "" if it cannot.
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
		if name, _ := jsonx.String(logger[0].Value); provenance.NamesCallgate(name) && !provenance.NamesCallgate(s.server.alias) {
			return "Its logger is named like callgate."
		}
	case "notifications/elicitation/complete":
		return s.server.host.p.o.Gate.Imitates(m.Params)
	}
	return ""
}

// progress passes progress on only if it belongs to a running request of this server. A server cannot report on another
// server's requests, or on one that has ended.
func (s serverSide) progress(m rpc.Message) {
	token := jsonx.At(m.Params, "progressToken")
	if token == nil {
		return
	}
	r := s.server.host.running.byToken(token)
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && r.from.Load() == s.server {
		s.server.host.notify(r, raw.WithParams(m, r.noteProgress(m.Params)).Raw)
	}
}

// relay passes on a notification of the server that names no request. It goes out before the response of the request
// that carries it.
func (s serverSide) relay(m rpc.Message, r *inflight) {
	for _, r := range s.carriers(m, r) {
		if s.server.host.notifyRunning(r, m.Raw) {
			return
		}
	}
	s.server.host.notify(nil, m.Raw)
}

// asked handles a request of the server on a new goroutine, so that a host that never answers delays only this request.
func (s serverSide) asked(m rpc.Message, r *inflight) {
	h := s.server.host
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
		ok = assigned(s).possible()
	case "tasks/cancel":
		ok = assigned(s).possible() && can.tasks.Cancel
	}
	if !ok {
		s.server.up.Reply(rpc.Error(m.ID, rpc.CodeMethodNotFound, "the host does not offer "+m.Method))
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	resume := s.server.clock.Pause()
	end := h.asking.begin(string(m.ID), &serverRequest{cancel: cancel, from: s.server, token: raw.ProgressToken(m.Params)})
	h.work.Go(func() {
		defer func() {
			end()
			cancel()
			resume()
		}()
		s.server.up.Reply(s.askHost(ctx, m, r))
	})
}

// askHost puts a server's request to the host and returns the response for the server. r is as in notified.
func (s serverSide) askHost(ctx context.Context, m rpc.Message, r *inflight) []byte {
	h, label := s.server.host, labelOf(m)
	err := m.Check()
	if err == nil {
		m, err = provenance.Marked(m)
	}
	if err != nil { // the host could read it differently from the person who is asked about it
		return rpc.Error(m.ID, rpc.CodeInvalidRequest, err.Error())
	}
	m.Label = label
	if isAboutTasks(m.Method) {
		return assigned(s).ask(ctx, m, r)
	}
	m, asTask, err := assigned(s).wanted(m)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	message := s.server.forHost(m)
	if r != nil && r.deferred != nil && r.deferred.Unasked {
		message = raw.WithParams(message, tasks.WithRelated(message.Params, r.deferred.ID))
	}
	if why := h.p.o.Gate.Imitates(m.Params); why != "" {
		h.log.Warn("a server's request does not reach the host", "server", s.server.alias, "method", m.Method, "reason", why)
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "callgate does not pass this on. "+why)
	}
	switch m.Method {
	case "sampling/createMessage":
		return s.sample(ctx, m, message, asTask, r)
	case "elicitation/create": // like roots, it is up to the person: the gate has nothing to decide
		if why := cmp.Or(provenance.Imitates(m.Params), provenance.UnsafeAddress(m.Params)); why != "" {
			h.log.Warn("a server's request does not reach the host", "server", s.server.alias, "method", m.Method, "reason", why)
			return rpc.Error(m.ID, rpc.CodeInvalidParams, "callgate does not pass this on. "+why)
		}
		params, err := s.server.words.Signed(message.Params)
		if err == nil {
			message, err = rpc.Parse(rpc.WithParams(message, message.ID, params))
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

// answered returns the host's answer to the server's request m as the server gets it.
func (s serverSide) answered(ctx context.Context, m, answer rpc.Message, asTask bool) []byte {
	if asTask {
		return assigned(s).add(ctx, m, answer)
	}
	return s.server.forServer(answer).WithID(m.ID)
}

// progressForServers passes the host's progress on to the servers that gave the token in an open request. No other
// server hears of it.
func progressForServers(h *host, m rpc.Message) {
	token := jsonx.At(m.Params, "progressToken")
	if token == nil {
		return
	}
	var to []*server
	for _, q := range h.asking.all() {
		if q.token != nil && raw.SameToken(q.token, token) && !slices.Contains(to, q.from) {
			to = append(to, q.from)
		}
	}
	a := h.assignments.Open(func(a *tasks.Assignment) bool { return a.Token != nil && raw.SameToken(a.Token, token) })
	if a != nil && !slices.Contains(to, a.Server.(*server)) {
		to = append(to, a.Server.(*server))
	}
	for _, s := range to {
		s.up.Notify(m.Method, tasks.Related(m.Params, s.nameOf))
	}
}

// labelOf returns the server's label for its question, or "" if callgate uses that label for its own questions.
func labelOf(m rpc.Message) string {
	if m.Label == stateless.ApprovalLabel || provenance.NamesCallgate(m.Label) {
		return ""
	}
	return m.Label
}
