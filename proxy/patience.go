package proxy

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// hostLimit is how long a host lets a tool call run over stdio.
type hostLimit struct {
	name    string        // how clientInfo.name begins
	idle    time.Duration // without progress; 0 is no limit
	total   time.Duration // with progress; 0 is no limit
	extends bool          // progress starts idle anew
}

// hostLimits were measured on the hosts themselves, see docs/hosts.md.
var hostLimits = []hostLimit{
	{name: "claude-code"},
	{name: "opencode", idle: 60 * time.Second, extends: true},
	{name: "copilot-cli", idle: 180 * time.Second, extends: true},
	{name: "qwen-cli", idle: 300 * time.Second, total: 600 * time.Second, extends: true},
	{name: "codex", idle: 300 * time.Second},
	{name: "gemini-cli", idle: 600 * time.Second},
	{name: "@cline/", idle: 60 * time.Second},
	{name: "continue-cli", idle: 60 * time.Second},
}

// unknownHost is what a host that is not in the table gets: the limit of the most common SDK, which
// progress extends.
var unknownHost = hostLimit{idle: 60 * time.Second, extends: true}

// margin is how long before a host's limit the call is handed over.
const margin = 10 * time.Second

// handOver returns how long a call may wait for a person before the host has to get an answer; 0 is as long
// as it takes.
func (h *host) handOver(r *inflight) time.Duration {
	if r.errand != nil {
		if wait, ok := r.errand.patience(); ok {
			return wait
		}
	}
	if h.p.o.HandOver != 0 {
		return max(h.p.o.HandOver, 0)
	}
	return patienceOf(h.session.Client(), r.token != nil)
}

// patienceOf is handOver for a host by its name. progress says that it listens to progress on the call.
func patienceOf(c gate.Client, progress bool) time.Duration {
	limit := unknownHost
	for _, l := range hostLimits {
		if strings.HasPrefix(c.Name, l.name) {
			limit = l
			break
		}
	}
	wait := limit.idle
	if progress && limit.extends {
		wait = limit.total
	}
	if wait == 0 {
		return 0
	}
	return wait - margin
}

// beat is how often a host hears that its call still waits: below the limit of every host, with room for a
// lost one.
const beat = 12 * time.Second

// heartbeat tells the host, as long as its call waits for something, that it does. stop MUST be called; nothing is
// sent after it has returned.
func (h *host) heartbeat(r *inflight, forWhat string) (stop func()) {
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

// progress tells the host of progress of our own. The values rise, from far below 1, where servers begin, or from
// where the server ended. The caller holds r.mu, and r has a token and has not ended.
func (h *host) progress(r *inflight, text string) {
	r.reached += 0.0001
	h.notify(r, rpc.Request(nil, "notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%.4f,"message":%s}`,
		r.token, r.reached, jsonx.Quote(text))))
}

// told notes how far the progress is that the host is told of by the server. The caller holds r.mu.
func (r *inflight) told(params []byte) {
	var m [1]jsonx.Member
	var progress float64
	if jsonx.Members(params, []string{"progress"}, m[:]) == nil && json.Unmarshal(m[0].Value, &progress) == nil {
		r.reached = max(r.reached, progress)
	}
}
