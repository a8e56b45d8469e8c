// Package stateless serves hosts without sessions (MCP 2026-07-28): requests, rounds, tasks and subscriptions.
package stateless

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

const (
	// parkedFor is how long a request that asked the host something waits for it to come back.
	parkedFor = 10 * time.Minute

	// gathered is how long the first question waits for others that are asked along with it.
	gathered = 10 * time.Millisecond

	// maxHeld bounds the notifications that are kept while no round of a request waits.
	maxHeld = 64
)

// Request is one request of a stateless host from its first round to its result. A round is an HTTP request, or a
// message over stdio: it ends with the result, or with questions that the host brings the answers to on the
// next round. Between two rounds the request is parked, and whatever runs goes on.
type Request struct {
	client  *Client
	id      []byte // of the request behind the client, ours
	method  string
	digest  string // of what the host wants: the same on every round
	back    bool   // the host comes from the page that an earlier round led it to
	resumes string // id of the approval that it led to, "" when nothing is left of that
	task    *task  // nil unless the host can wait for a task

	mu        sync.Mutex
	name      string // among those of all clients, once it was parked; does not change then
	waiting   *round // nil while it is parked, and when it is over
	rounds    int
	asked     int // questions that had no name of their own
	questions []openQuestion
	gathering *time.Timer
	expiry    *time.Timer
	held      []rpc.Message
	response  []byte // that nobody was there to get
	over      bool
	signpost  []byte // to the page, for what was asked about last
	ledAway   bool   // the response is the signpost to the page, and no server's
}

// round is one request that waits for the request.
type round struct {
	ctx     context.Context
	x       Exchange
	id      []byte // as the host spelled it
	token   []byte
	level   int
	request *Request
	done    chan struct{} // closed when it has its response
}

// start sends the round's request on its way: to the request that it goes on with, or on a new one. The error is
// for the host.
func (all *Clients) start(c *Client, l *round, r incoming) error {
	var m [3]jsonx.Member
	if err := jsonx.Members(r.Params, []string{"inputResponses", "requestState", "_meta"}, m[:]); err != nil {
		return err
	}
	agent, err := all.o.AgentOf(m[2].Value)
	if err != nil {
		return err
	}
	e := &Request{client: c, method: r.Method}
	if wanted, err := jsonx.Others(r.Params, []string{"_meta", "inputResponses", "requestState"}); err == nil { // else it is refused soon
		if e.digest, err = jsonx.Digest(wanted, r.Method+"\x00"+agent); err != nil {
			return err
		}
	}
	approval := ""
	if state, ok := jsonx.String(m[1].Value); ok && slices.Contains(repeatable, r.Method) {
		h, err := all.unseal(c.key.from, state, e.digest)
		switch {
		case err != nil:
			return err
		case h.Approval != "":
			e.back, approval = true, h.Approval
		default:
			return all.continueWith(h, l, m[0].Value)
		}
	}
	c.mu.Lock()
	e.id = c.newID()
	c.mu.Unlock()
	message, err := rpc.Parse(rpc.WithParams(r.Message, e.id, ownParams(r, e.id)))
	if err != nil {
		return err
	}
	if r.Method == "tools/call" && declaresTasks(r.capabilities) {
		e.task = newTask(e)
	}
	e.resumes = all.resume(approval)
	l.request, e.waiting = e, l
	c.enter() // until it is over
	c.mu.Lock()
	c.requests[string(e.id)] = e
	c.mu.Unlock()
	c.host.Begin(message, e)
	return nil
}

// ownParams returns the request's params without what concerns the rounds of a request, and with a progress token
// that no other host has.
func ownParams(r incoming, id []byte) []byte {
	params := r.Params
	for _, name := range []string{"inputResponses", "requestState"} {
		var m [1]jsonx.Member
		if jsonx.Members(params, []string{name}, m[:]) == nil && m[0].Value != nil {
			params = jsonx.Splice(params, jsonx.Delete(params, m[0]))
		}
	}
	var meta, token [1]jsonx.Member
	if r.token != nil && jsonx.Members(params, []string{"_meta"}, meta[:]) == nil && jsonx.Members(meta[0].Value, []string{"progressToken"}, token[:]) == nil {
		at := meta[0].Start + token[0].Start
		params = jsonx.Splice(params, jsonx.Edit{Start: at, End: at + len(token[0].Value), With: id})
	}
	return params
}

// continueWith lets the round wait for the parked request that its state names, with answers to what was asked.
func (all *Clients) continueWith(h requestState, l *round, responses []byte) error {
	all.mu.Lock()
	e := all.parked[h.Errand]
	all.mu.Unlock()
	if e == nil || e.client.key.from.Principal != h.Principal || !e.comeBack(h.Leg) {
		return errors.New("the call that asked this no longer waits: callgate was restarted, the answer took too long, or it was given already. The call may have had effects: look before you make it again")
	}
	answers, err := readResponses(responses)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expiry.Stop()
	l.request, e.waiting = e, l
	for _, m := range e.held {
		e.tell(m)
	}
	e.held = nil
	e.answer(answers)
	switch {
	case e.over:
		e.finishRound(e.response)
	case len(e.questions) > 0:
		e.park()
	}
	return nil
}

// park ends the round that waits with what is asked, and lets the request wait for the next. The caller holds mu.
func (e *Request) park() {
	if e.over || e.waiting == nil || len(e.questions) == 0 {
		return
	}
	all := e.client.all
	e.rounds++
	if e.name == "" {
		e.name = rand.Text()
	}
	state, err := all.seal(e.client.key.from, requestState{Errand: e.name, Leg: e.rounds, Digest: e.digest, Until: time.Now().Add(parkedFor)})
	if err != nil {
		all.o.Logger.Error("the host could not be asked", "error", err)
		return
	}
	all.mu.Lock()
	closed := all.closed
	if !closed {
		all.parked[e.name] = e
	}
	all.mu.Unlock()
	if closed {
		return
	}
	e.expiry = time.AfterFunc(parkedFor, e.lapse)
	e.respond(rpc.Result(e.waiting.id, e.client.wrap(e.method, inputRequired(e.questions, state))))
}

// comeBack takes the request out of those that are parked, for whoever brings the state of its last round. It is
// true once for each round.
func (e *Request) comeBack(leg int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.client.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.rounds != leg || s.parked[e.name] != e {
		return false
	}
	delete(s.parked, e.name)
	return true
}

// lapse takes the request back whose host did not come back.
func (e *Request) lapse() {
	all := e.client.all
	all.mu.Lock()
	_, parked := all.parked[e.name]
	delete(all.parked, e.name)
	all.mu.Unlock()
	if parked {
		e.client.host.TakeBack(e.id)
	}
}

// notify tells the round that waits, or the next one.
func (e *Request) notify(m rpc.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case m.Method == "notifications/cancelled":
		e.withdraw(m)
	case e.waiting != nil:
		e.tell(m)
	case !e.over:
		if e.held = append(e.held, m); len(e.held) > maxHeld {
			e.held = e.held[1:]
		}
	}
}

// tell passes a notification on to the round, in its own terms. The caller holds mu.
func (e *Request) tell(m rpc.Message) {
	l, message := e.waiting, m.Raw
	var member [1]jsonx.Member
	switch m.Method {
	case "notifications/progress":
		if l.token == nil || jsonx.Members(m.Params, []string{"progressToken"}, member[:]) != nil || member[0].Value == nil {
			return
		}
		message = rpc.Request(nil, m.Method, jsonx.Splice(m.Params, jsonx.Edit{Start: member[0].Start, End: member[0].End(), With: l.token}))
	case "notifications/message":
		if !l.hears(m) {
			return
		}
	default:
		return // nothing else belongs to a request
	}
	e.client.all.told(l.x.Notify(message))
}

// end brings the request its response; nil when there is none because it was taken back.
func (e *Request) end(response []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over, e.response = true, response
	if e.task != nil {
		e.task.ended()
	}
	if e.waiting != nil {
		e.finishRound(response)
	}
	e.client.all.resumed(e.resumes)
	e.client.leave()
}

// finishRound ends the round that waits with the response. The caller holds mu.
func (e *Request) finishRound(response []byte) {
	if response == nil {
		e.respond(nil)
		return
	}
	e.respond(e.client.translate(e.method, response, e.waiting.id, e.ledAway))
}

func (e *Request) respond(response []byte) {
	l := e.waiting
	e.waiting = nil
	e.client.all.told(l.x.Respond(response))
	close(l.done)
}

// gone takes the request back if the round still waits: its host has closed the connection.
func (e *Request) gone(l *round) {
	e.mu.Lock()
	waits := e.waiting == l
	e.mu.Unlock()
	if waits {
		e.client.host.TakeBack(e.id)
	}
}

// Wants reports whether the request has a way for the notification: a round that asked for log messages so severe, or
// one to come.
func (e *Request) Wants(m rpc.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting == nil && !e.over || e.waiting != nil && e.waiting.hears(m)
}

// hears reports whether the round asked for log messages as severe as this notification, which is one, or none of that
// kind.
func (l *round) hears(m rpc.Message) bool {
	if m.Method != "notifications/message" {
		return true
	}
	var level [1]jsonx.Member
	if jsonx.Members(m.Params, []string{"level"}, level[:]) != nil {
		return false
	}
	name, _ := jsonx.String(level[0].Value)
	return l.level < len(levels) && levelOf(name) >= l.level
}
