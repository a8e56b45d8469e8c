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
	// parkedFor is how long a parked request waits for the host to come back with answers.
	parkedFor = 10 * time.Minute

	// gathered is how long the first question waits for others to join it.
	gathered = 10 * time.Millisecond

	// maxHeld bounds the notifications that a request keeps while it has no round.
	maxHeld = 64
)

// Request is one request of a stateless host from its first round to its result. A round is an HTTP request, or a
// message over stdio. It ends with the result, or with questions that the host answers in the next round. Between
// rounds the request is parked, and its work goes on.
type Request struct {
	client  *Client
	id      []byte // of the request behind the client, as we assigned it
	method  string
	digest  string // of what the host wants; the same in every round
	back    bool   // the host has come back from the page that an earlier round led it to
	resumes string // id of the approval on that page; "" if it can no longer be used
	task    *task  // nil if the host cannot wait for a task

	mu        sync.Mutex
	name      string // key in Clients.parked; set when it is first parked, and constant from then on
	waiting   *round // nil while it is parked, and once it is over
	rounds    int
	asked     int // questions without a label of their own
	questions []openQuestion
	gathering *time.Timer
	expiry    *time.Timer
	held      []rpc.Message
	response  []byte // set once it is over; nil if it was taken back
	over      bool
	signpost  []byte // params of the question that leads to the page, for the last approval
	ledAway   bool   // the response leads to the page, and is not a server's
}

// round is one message of the host that waits for the request.
type round struct {
	ctx     context.Context
	x       Exchange
	id      []byte // as the host spelled it
	token   []byte
	level   int
	request *Request
	done    chan struct{} // closed when the round has its response
}

// start connects the round to the parked request that it continues, or begins a new one. The error is for the host.
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
	if wanted, err := jsonx.Others(r.Params, []string{"_meta", "inputResponses", "requestState"}); err == nil { // otherwise it will be refused
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
	c.enter() // until the request is over
	c.mu.Lock()
	c.requests[string(e.id)] = e
	c.mu.Unlock()
	c.host.Begin(message, e)
	return nil
}

// ownParams returns the request's params without the members for rounds, and with a progress token that no other host
// has.
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

// continueWith makes the round wait for the parked request that its state names, and passes the answers on.
func (all *Clients) continueWith(h requestState, l *round, responses []byte) error {
	answers, err := readResponses(responses)
	if err != nil { // the call waits on
		return err
	}
	all.mu.Lock()
	e := all.parked[h.Parked]
	all.mu.Unlock()
	if e == nil || e.client.key.from.Principal != h.Principal || !e.comeBack(h.Round) {
		return errors.New("the call that asked this no longer waits: callgate was restarted, the answer took too long, or it was given already. The call may have had effects: look before you make it again")
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

// park ends the waiting round with the open questions, and makes the request wait for the next. The caller holds mu.
func (e *Request) park() {
	if e.over || e.waiting == nil || len(e.questions) == 0 {
		return
	}
	all := e.client.all
	e.rounds++
	if e.name == "" {
		e.name = rand.Text()
	}
	state, err := all.seal(e.client.key.from, requestState{Parked: e.name, Round: e.rounds, Digest: e.digest, Until: time.Now().Add(parkedFor)})
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

// comeBack removes the request from the parked ones, for the round that brings the state of the last round. It returns
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

// lapse takes the request back because its host has not come back.
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

// notify passes a notification to the waiting round, or keeps it for the next one.
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

// tell sends the round a notification, with the round's progress token. The caller holds mu.
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
	e.client.all.logUnsent(l.x.Notify(message))
}

// end gives the request its response, or nil if it was taken back and has none.
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
	e.client.all.logUnsent(l.x.Respond(response))
	close(l.done)
}

// gone takes the request back if the round still waits, because its host has closed the connection.
func (e *Request) gone(l *round) {
	e.mu.Lock()
	waits := e.waiting == l
	e.mu.Unlock()
	if waits {
		e.client.host.TakeBack(e.id)
	}
}

// Wants reports whether the notification has a way to the host: a round that asked for log messages of this level, or a
// later round.
func (e *Request) Wants(m rpc.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waiting == nil && !e.over || e.waiting != nil && e.waiting.hears(m)
}

// hears reports whether the round asked for log messages as severe as m. It reports true for all other notifications.
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
