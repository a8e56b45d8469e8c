package proxy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// HostLimit is how long a host lets a tool call run.
type HostLimit struct {
	Name    string        // how clientInfo.name begins
	Idle    time.Duration // without progress; 0 is no limit
	Total   time.Duration // with progress; 0 is no limit
	Extends bool          // progress starts Idle anew
}

// hostLimits were measured on the hosts themselves, see docs/hosts.md.
var hostLimits = []HostLimit{
	{Name: "claude-code"},
	{Name: "opencode", Idle: 60 * time.Second, Extends: true},
	{Name: "copilot-cli", Idle: 180 * time.Second, Extends: true},
	{Name: "qwen-cli", Idle: 300 * time.Second, Total: 600 * time.Second, Extends: true},
	{Name: "codex", Idle: 300 * time.Second},
	{Name: "gemini-cli", Idle: 600 * time.Second},
	{Name: "@cline/", Idle: 60 * time.Second},
	{Name: "continue-cli", Idle: 60 * time.Second},
}

// unknownHost is what a host that is not in the table gets: the limit of the most common SDK, which
// progress extends.
var unknownHost = HostLimit{Idle: 60 * time.Second, Extends: true}

// margin is how long before a host's limit the call is handed over.
const margin = 10 * time.Second

// waiter keeps a host waiting while a person is asked.
type waiter struct{ *host }

// handOver returns how long a call may wait for a person before the host has to get an answer; 0 is as long
// as it takes.
func (h waiter) handOver(r *inflight) time.Duration {
	if r.stateless != nil {
		if wait, ok := r.stateless.Patience(); ok {
			return wait
		}
	}
	if r.deferred != nil {
		return 0
	}
	if h.p.o.HandOver != 0 {
		return max(h.p.o.HandOver, 0)
	}
	return patienceOf(h.p.o.Hosts, h.session.Client(), r.token != nil)
}

// patienceOf is handOver for a host by its name; what users know of their hosts comes before what was measured.
// progress says that the host listens to progress on the call.
func patienceOf(known []HostLimit, c gate.Client, progress bool) time.Duration {
	limit := unknownHost
	named := func(l HostLimit) bool { return strings.HasPrefix(c.Name, l.Name) }
	if i := slices.IndexFunc(known, named); i >= 0 {
		limit = known[i]
	} else if i := slices.IndexFunc(hostLimits, named); i >= 0 {
		limit = hostLimits[i]
	}
	wait := limit.Idle
	if progress && limit.Extends {
		wait = limit.Total
	}
	if wait == 0 {
		return 0
	}
	return max(wait-margin, wait/2)
}

// beat is how often a host hears that its call still waits: below the limit of every host, with room for a
// lost one.
const beat = 12 * time.Second

// heartbeat tells the host, as long as its call waits for something, that it does. stop MUST be called; nothing is
// sent after it has returned.
func (h waiter) heartbeat(r *inflight, forWhat string) (stop func()) {
	if r.token == nil {
		return func() {}
	}
	var timer *time.Timer
	stopped, waited := false, time.Duration(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	timer = time.AfterFunc(beat, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ended || stopped {
			return
		}
		waited += beat
		h.progress(r, fmt.Sprintf("waiting for %s, %s so far", forWhat, waited))
		timer.Reset(beat)
	})
	return func() {
		timer.Stop()
		r.mu.Lock()
		stopped = true
		r.mu.Unlock()
	}
}

// progressStep is how far apart values of our own are. They are small: servers mostly count from 0 or 1 in whole steps.
const progressStep = 0.0001

// progress tells the host of progress of our own. The values rise from 0, or from where the server ended. The caller
// holds r.mu, and r has a token and has not ended.
func (h waiter) progress(r *inflight, text string) {
	r.reached += progressStep
	r.ours = true
	h.notify(r, rpc.Request(nil, "notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%.4f,"message":%s}`,
		r.token, r.reached, jsonx.Quote(text))))
}
