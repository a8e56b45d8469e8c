package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
	resumes string // id of the approval that an earlier leg left pending, "" without one
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

// openQuestion is one open question to the host.
type openQuestion struct {
	key    string
	id     []byte // of the request that asks, ours
	method string
	params []byte
}

// depart sends the leg's request on its way: to the errand that it goes on with, or on a new one. The error is
// for the host.
func (p *Proxy) depart(f *face, l *leg, r statelessRequest) error {
	var m [2]jsonx.Member
	if err := jsonx.Members(r.Params, []string{"inputResponses", "requestState"}, m[:]); err != nil {
		return err
	}
	e := &errand{f: f, method: r.Method}
	if wanted, err := others(r.Params, []string{"_meta", "inputResponses", "requestState"}); err == nil { // else it is refused soon
		if e.digest, err = jsonx.Digest(wanted, r.Method); err != nil {
			return err
		}
	}
	if state, ok := jsonx.String(m[1].Value); ok && slices.Contains(repeatable, r.Method) {
		h, err := p.unseal(state, f.key.from.Principal, e.digest)
		switch {
		case err != nil:
			return err
		case h.Approval != "":
			e.resumes = h.Approval
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

// answer gives the answers to whoever asked. The caller holds mu.
func (e *errand) answer(answers map[string][]byte) {
	e.questions = slices.DeleteFunc(e.questions, func(q openQuestion) bool {
		result, ok := answers[q.key]
		if !ok {
			return false
		}
		m, err := rpc.Parse(rpc.Result(q.id, result))
		return err == nil && e.f.asked.Answer(m)
	})
}

// readResponses reads the answers by the keys of the questions. What is no object answers nothing.
func readResponses(object []byte) (map[string][]byte, error) {
	answers := map[string][]byte{}
	if object == nil {
		return answers, nil
	}
	rest, err := others(object, nil)
	if err != nil {
		return nil, fmt.Errorf("inputResponses: %w", err)
	}
	var raw map[string]jsontext.Value
	if err := json.Unmarshal(rest, &raw); err != nil {
		return nil, fmt.Errorf("inputResponses: %w", err)
	}
	for key, value := range raw {
		if len(value) > 0 && value[0] == '{' {
			answers[key] = value
		}
	}
	return answers, nil
}

// ask puts a question to the host: the leg that waits ends with it.
func (e *errand) ask(label string, m rpc.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return errNoWay
	}
	if taken := func(q openQuestion) bool { return q.key == label }; label == "" || slices.ContainsFunc(e.questions, taken) {
		e.asked++
		label = "question-" + strconv.Itoa(e.asked)
	}
	e.questions = append(e.questions, openQuestion{key: label, id: m.ID, method: m.Method, params: m.Params})
	if e.gathering == nil {
		e.gathering = time.AfterFunc(gathered, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.gathering = nil
			e.park()
		})
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
	state, err := p.seal(handle{Errand: name, Leg: e.legs, Principal: e.f.key.from.Principal, Digest: e.digest, Until: time.Now().Add(parkedFor)})
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

// inputRequired is the result that asks the host.
func inputRequired(questions []openQuestion, state string) []byte {
	b := []byte(`{"resultType":"input_required","inputRequests":`)
	b = appendQuestions(b, questions)
	return append(append(append(b, `,"requestState":`...), jsonx.Quote(state)...), '}')
}

func appendQuestions(b []byte, questions []openQuestion) []byte {
	b = append(b, '{')
	for i, q := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonx.Quote(q.key)...), `:{"method":`...)
		b = append(b, jsonx.Quote(q.method)...)
		if q.params != nil {
			b = append(append(b, `,"params":`...), q.params...)
		}
		b = append(b, '}')
	}
	return append(b, '}')
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
		if jsonx.Members(m.Params, []string{"level"}, member[:]) != nil {
			return
		}
		if level, _ := jsonx.String(member[0].Value); l.level >= len(levels) || levelOf(level) < l.level {
			return
		}
	default:
		return // nothing else belongs to a request
	}
	e.f.p.told(l.x.Notify(message))
}

// withdraw takes a question back that was decided elsewhere. The caller holds mu.
func (e *errand) withdraw(m rpc.Message) {
	var id [1]jsonx.Member
	if jsonx.Members(m.Params, []string{"requestId"}, id[:]) == nil {
		e.questions = slices.DeleteFunc(e.questions, func(q openQuestion) bool { return string(q.id) == string(id[0].Value) })
	}
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
	e.f.leave()
}

// arrive ends the leg that waits with the response. The caller holds mu.
func (e *errand) arrive(response []byte) {
	if response == nil {
		e.arriveWith(nil)
		return
	}
	e.arriveWith(e.f.translate(e.method, response, e.waiting.id))
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

// patience is how long the call may wait for a person before this leg ends. ok is false when the errand has no
// better way than to hold the leg.
func (e *errand) patience() (wait time.Duration, ok bool) {
	switch {
	case e.task != nil:
		return 0, true
	case e.resumes == "" && e.leadsToPage():
		return time.Second, true // a decision that comes at once needs no second leg
	}
	return 0, false
}

// leadsToPage reports whether the host can lead its person to the page for approvers.
func (e *errand) leadsToPage() bool {
	h := e.f.h
	return h.capable.Load().elicitationURL && !h.p.o.HostApproves && h.p.page() != ""
}

// shown notes what a person is asked about the errand's call. A host that can wait for a task gets one.
func (e *errand) shown(a *gate.Approval) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.approval = a
	if e.task != nil && e.waiting != nil {
		e.task.begin()
		e.arriveWith(rpc.Result(e.waiting.id, e.f.dress(e.method, e.task.announcement())))
	}
}

// leadAway is the result of a call whose approval is pending: it leads the host's person to the page, and the
// next leg goes on with the same approval, also after a restart. Nil where the host cannot do that.
func (e *errand) leadAway(callID string) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.f.p
	if e.approval == nil || e.resumes != "" || !e.leadsToPage() {
		return nil
	}
	state, err := p.seal(handle{Approval: callID, Principal: e.f.key.from.Principal, Digest: e.digest, Until: time.Now().Add(signpostFor)})
	if err != nil {
		p.o.Logger.Error("a question to the host could not be put", "error", err)
		return nil
	}
	// The revision has no elicitationId any more, and some of its hosts do not understand an address without one.
	params := signpost(e.approval, p.page())
	return inputRequired([]openQuestion{{key: "approval", method: "elicitation/create", params: params}}, state)
}

// signpostFor is how long the host may take to come back from the page. The gate knows how long a decision holds.
const signpostFor = 24 * time.Hour

// callID is the id of the request's call: a fresh one, or that of the approval which it comes back for.
func (r *inflight) callID(fresh string) string {
	if r.errand != nil && r.errand.resumes != "" {
		return r.errand.resumes
	}
	return fresh
}

// refused is the result of a call that may not run, or not yet.
func (r *inflight) refused(call gate.Call, v gate.Verdict) []byte {
	if r.errand != nil && v.Decision == gate.DecidedPending {
		if result := r.errand.leadAway(call.ID); result != nil {
			return result
		}
	}
	return refusal(call, v)
}
