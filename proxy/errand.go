package proxy

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

const (
	// parkedFor is how long a request that asked the host something waits for it to come back.
	parkedFor = 10 * time.Minute

	// gathered is how long the first question waits for others that are asked along with it.
	gathered = 10 * time.Millisecond

	// maxHeld bounds the notifications that are kept while no leg of an errand waits.
	maxHeld = 64
)

// errand is one request of a stateless host from its first leg to its result. A leg is an HTTP request, or a
// message over stdio: it ends with the result, or with questions that the host brings the answers to on the
// next leg. Between two legs the errand is parked, and whatever runs goes on.
type errand struct {
	f       *face
	id      []byte // of the request behind the face, ours
	method  string
	digest  string // of what the host wants: the same on every leg
	back    bool   // the host comes from the page that an earlier leg led it to
	resumes string // id of the approval that it led to, "" when nothing is left of that
	task    *task  // nil unless the host can wait for a task

	mu        sync.Mutex
	waiting   *leg // nil while it is parked, and when it is over
	legs      int
	asked     int // questions that had no name of their own
	questions []openQuestion
	gathering *time.Timer
	expiry    *time.Timer
	held      []rpc.Message
	response  []byte // that nobody was there to get
	over      bool
	approval  *gate.Approval // that was asked about last
	ledAway   bool           // the response is the signpost to the page, and no server's
}

// leg is one request that waits for the errand.
type leg struct {
	ctx    context.Context
	x      Exchange
	id     []byte // as the host spelled it
	token  []byte
	level  int
	errand *errand
	done   chan struct{} // closed when it has its response
}

// depart sends the leg's request on its way: to the errand that it goes on with, or on a new one. The error is
// for the host.
func (p *Proxy) depart(f *face, l *leg, r statelessRequest) error {
	var m [3]jsonx.Member
	if err := jsonx.Members(r.Params, []string{"inputResponses", "requestState", "_meta"}, m[:]); err != nil {
		return err
	}
	agent, err := agentOf(m[2].Value)
	if err != nil {
		return err
	}
	e := &errand{f: f, method: r.Method}
	if wanted, err := jsonx.Others(r.Params, []string{"_meta", "inputResponses", "requestState"}); err == nil { // else it is refused soon
		if e.digest, err = jsonx.Digest(wanted, r.Method+"\x00"+agent); err != nil {
			return err
		}
	}
	approval := ""
	if state, ok := jsonx.String(m[1].Value); ok && slices.Contains(repeatable, r.Method) {
		h, err := p.unseal(f.key.from, state, e.digest)
		switch {
		case err != nil:
			return err
		case h.Approval != "":
			e.back, approval = true, h.Approval
		default:
			return p.goOn(h, l, m[0].Value)
		}
	}
	f.mu.Lock()
	e.id = f.newID()
	f.mu.Unlock()
	message, err := rpc.Parse(r.WithParams(e.id, ownParams(r, e.id)))
	if err != nil {
		return err
	}
	if r.Method == "tools/call" && declaresTasks(r.capabilities) {
		e.task = newTask(e)
	}
	e.resumes = p.resume(approval)
	l.errand, e.waiting = e, l
	f.enter() // until it is over
	f.mu.Lock()
	f.errands[string(e.id)] = e
	f.mu.Unlock()
	f.h.begin(message, e)
	return nil
}

// ownParams returns the request's params without what concerns the legs of an errand, and with a progress token
// that no other host has.
func ownParams(r statelessRequest, id []byte) []byte {
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

// goOn lets the leg wait for the parked errand that its handle names, with answers to what was asked.
func (p *Proxy) goOn(h handle, l *leg, responses []byte) error {
	p.stateless.mu.Lock()
	e := p.stateless.parked[h.Errand]
	p.stateless.mu.Unlock()
	if e == nil || e.f.key.from.Principal != h.Principal || !e.comeBack(h.Leg) {
		return errors.New("the call that asked this waits no longer: callgate was restarted, the answer took too long, or it was given already. The call may have had effects: look before you make it again")
	}
	answers, err := readResponses(responses)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expiry.Stop()
	l.errand, e.waiting = e, l
	for _, m := range e.held {
		e.tell(m)
	}
	e.held = nil
	e.answer(answers)
	switch {
	case e.over:
		e.arrive(e.response)
	case len(e.questions) > 0:
		e.park()
	}
	return nil
}

// park ends the leg that waits with what is asked, and lets the errand wait for the next. The caller holds mu.
func (e *errand) park() {
	if e.over || e.waiting == nil || len(e.questions) == 0 {
		return
	}
	p := e.f.p
	e.legs++
	name := e.name()
	state, err := p.seal(e.f.key.from, handle{Errand: name, Leg: e.legs, Digest: e.digest, Until: time.Now().Add(parkedFor)})
	if err != nil {
		p.o.Logger.Error("a question to the host could not be put", "error", err)
		return
	}
	p.stateless.mu.Lock()
	closed := p.stateless.closed
	if !closed {
		p.stateless.parked[name] = e
	}
	p.stateless.mu.Unlock()
	if closed {
		return
	}
	e.expiry = time.AfterFunc(parkedFor, e.lapse)
	e.arriveWith(rpc.Result(e.waiting.id, e.f.dress(e.method, inputRequired(e.questions, state))))
}

// name tells the errand from those of all faces.
func (e *errand) name() string { return e.f.h.session.ID() + " " + string(e.id) }

// comeBack takes the errand out of those that are parked, for whoever brings the handle of its last leg. It is
// true once for each leg.
func (e *errand) comeBack(leg int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &e.f.p.stateless
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.legs != leg || s.parked[e.name()] != e {
		return false
	}
	delete(s.parked, e.name())
	return true
}

// lapse takes the request back whose host did not come back.
func (e *errand) lapse() {
	p := e.f.p
	p.stateless.mu.Lock()
	_, parked := p.stateless.parked[e.name()]
	delete(p.stateless.parked, e.name())
	p.stateless.mu.Unlock()
	if parked {
		e.f.h.takeBack(e.id)
	}
}

// notify tells the leg that waits, or the next one.
func (e *errand) notify(m rpc.Message) {
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

// tell passes a notification on to the leg, in its own terms. The caller holds mu.
func (e *errand) tell(m rpc.Message) {
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
	e.f.p.told(l.x.Notify(message))
}

// end brings the errand its response; nil when there is none because it was taken back.
func (e *errand) end(response []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over, e.response = true, response
	if e.task != nil {
		e.task.ended()
	}
	if e.waiting != nil {
		e.arrive(response)
	}
	e.f.p.resumed(e.resumes)
	e.f.leave()
}

// arrive ends the leg that waits with the response. The caller holds mu.
func (e *errand) arrive(response []byte) {
	if response == nil {
		e.arriveWith(nil)
		return
	}
	e.arriveWith(e.f.translate(e.method, response, e.waiting.id, e.ledAway))
}

func (e *errand) arriveWith(response []byte) {
	l := e.waiting
	e.waiting = nil
	e.f.p.told(l.x.Respond(response))
	close(l.done)
}

// gone takes the request back if the leg still waits: its host has closed the connection.
func (e *errand) gone(l *leg) {
	e.mu.Lock()
	waits := e.waiting == l
	e.mu.Unlock()
	if waits {
		e.f.h.takeBack(e.id)
	}
}
