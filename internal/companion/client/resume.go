package client

import (
	"bytes"
	"context"
	"sync"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/periodic"
)

// When the hub ends, another replaces it within a second, and the same approvals still wait. A client that reconnects
// so soon goes on as if nothing had happened. Unchanged approvals are not delivered again. Approvals that ended
// meanwhile are delivered as over. An answer that may have been lost is delivered as failed if its approval still
// waits.

const (
	resumeAfter  = 300 * time.Millisecond  // a connection that broke sooner is not resumed
	resumeWithin = 2 * time.Second         // after this the connection counts as lost, and the ledger is void
	resumeEvery  = 50 * time.Millisecond   // pause between two attempts
	resumeSettle = 1500 * time.Millisecond // after this, what was not shown again is over
)

// ledger records what a client was shown: pending approvals and sessions. Its zero value is ready to use.
type ledger struct {
	mu       sync.Mutex
	waiting  map[string]*waitingRequest // by toolCallId
	sessions map[string]bool            // by id; false until shown again on a renewed connection
}

type waitingRequest struct {
	frame   *wire.ToolApproveRequest
	raw     []byte
	answer  bool // an answer was sent, and no result has come
	missing bool // not shown again yet since the connection was renewed
}

// clear forgets everything, since the replay shows it again.
func (l *ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.waiting)
	clear(l.sessions)
}

// answered notes that an answer is on its way. It MUST be called before the answer is sent. If it returns ErrNotBack,
// the answer MUST NOT be sent: the hub does not know yet which process the approval belongs to, and would say that it
// is not pending.
func (l *ledger) answered(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[id]
	switch {
	case w == nil:
	case w.missing:
		return wire.ErrNotBack
	default:
		w.answer = true
	}
	return nil
}

// take notes a frame and returns the events to deliver for it.
func (l *ledger) take(e wire.Event) []wire.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f := e.Frame.(type) {
	case *wire.ToolApproveRequest:
		if w := l.waiting[f.ToolCallID]; w != nil && w.missing && bytes.Equal(w.raw, e.Raw) {
			w.missing = false
			if !w.answer {
				return nil
			}
			w.answer = false
			return localEvent(wire.Error{
				Head: wire.NewHead(wire.TypeError, f.SessionID), Code: wire.CodeInternal, ToolCallID: f.ToolCallID,
				Message: "The connection broke before the answer arrived. The call still waits.",
			})
		}
		if l.waiting == nil {
			l.waiting = make(map[string]*waitingRequest)
		}
		l.waiting[f.ToolCallID] = &waitingRequest{frame: f, raw: e.Raw}
	case *wire.ToolApproveResolved:
		delete(l.waiting, f.ToolCallID)
	case *wire.TeamUpdate:
		if l.sessions == nil {
			l.sessions = make(map[string]bool)
		}
		if l.sessions[f.SessionID] = true; len(f.Agents) == 0 {
			delete(l.sessions, f.SessionID)
		}
	case *wire.Error:
		if w := l.waiting[f.ToolCallID]; w != nil {
			w.answer = false
		}
	}
	return []wire.Event{e}
}

// renewed notes a new connection, on which everything has to be shown again.
func (l *ledger) renewed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w.missing = true
	}
	for id := range l.sessions {
		l.sessions[id] = false
	}
}

// settle returns the events to deliver for approvals and sessions that were not shown again.
func (l *ledger) settle() (events []wire.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range l.waiting {
		if !w.missing {
			continue
		}
		delete(l.waiting, id)
		events = append(events, localEvent(wire.ToolApproveResolved{
			Head: wire.NewHead(wire.TypeToolApproveResolved, w.frame.SessionID), ToolCallID: id, Decision: "withdrawn", By: "callgate",
			Reason: "It was answered, or its process ended, while the connection was being renewed.",
		})...)
	}
	for id, shown := range l.sessions {
		if !shown {
			delete(l.sessions, id)
			events = append(events, localEvent(wire.NoTeam(id))...)
		}
	}
	return events
}

// localEvent makes an event from a frame that the server did not send.
func localEvent[T any](frame T) []wire.Event {
	raw, err := wire.Encode(frame)
	if err != nil {
		return nil // cannot happen: frames in this file hold ids and constant texts
	}
	return []wire.Event{{Frame: &frame, Raw: raw}}
}

// settleLater delivers what is over, once the replay of a renewed connection has had its time. The caller MUST call
// stop when the connection has ended. After stop returns nothing is delivered.
func (c *Client) settleLater(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !periodic.Sleep(ctx, resumeSettle) {
			return
		}
		for _, e := range c.ledger.settle() {
			if !c.deliver(ctx, e) {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}
