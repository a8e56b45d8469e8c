package stateless

import "time"

// Patience returns how long the request may wait for a person before this round ends. ok is false if the round should
// just wait.
func (e *Request) Patience() (wait time.Duration, ok bool) {
	switch {
	case e.task != nil:
		return 0, true
	case !e.back && e.client.host.LeadsToPage():
		return time.Second, true // an immediate decision needs no second round
	}
	return 0, false
}

// ApprovalShown notes that a person is asked about the request. signpost holds the params of the question that leads
// the host's person to the page. A host that can wait for a task gets one.
func (e *Request) ApprovalShown(signpost []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.signpost = signpost
	if e.waiting != nil {
		e.waiting.x.Waits()
	}
	if e.task != nil {
		e.task.says("waiting for a person's approval", TaskPoll)
	}
}

// ApprovalDecided notes that the request no longer waits for a person.
func (e *Request) ApprovalDecided() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.task != nil {
		e.task.says("", TaskPoll)
	}
}

// Redirect returns the result for a request whose approval is pending. It leads the host's person to the page, and the
// next round continues with the same approval, even after a restart. Redirect returns nil if the host cannot do that.
func (e *Request) Redirect(callID string) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.client.all
	if e.signpost == nil || e.back || !e.client.host.LeadsToPage() {
		return nil
	}
	state, err := all.seal(e.client.key.from, requestState{Approval: callID, Digest: e.digest, Until: time.Now().Add(signpostFor)})
	if err != nil {
		all.o.Logger.Error("the host could not be asked", "error", err)
		return nil
	}
	e.ledAway = true
	return inputRequired([]openQuestion{{key: ApprovalLabel, method: "elicitation/create", params: e.signpost}}, state)
}

// signpostFor is how long the host may take to come back from the page. The gate knows how long a decision holds.
const signpostFor = 24 * time.Hour

// resume returns the id of the approval for the one request that may continue under it, and "" for all others. A handle
// that comes again, or too late, makes a new call, which shares nothing with the first.
func (all *Clients) resume(approval string) string {
	s := all
	s.mu.Lock()
	defer s.mu.Unlock()
	if approval == "" || s.resuming[approval] || !all.o.Awaits(approval) {
		return ""
	}
	s.resuming[approval] = true
	return approval
}

// resumed notes that the request that continued under the approval has ended.
func (all *Clients) resumed(approval string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.resuming, approval)
}

// Resumes returns the id of the approval that the request comes back for, or "".
func (e *Request) Resumes() string { return e.resumes }

// IsTask reports whether the host can wait for a task.
func (e *Request) IsTask() bool { return e.task != nil }

// Says passes on what the server says about its task, if the host waits for a task.
func (e *Request) Says(message string, poll time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.task != nil {
		e.task.says(message, poll)
	}
}
