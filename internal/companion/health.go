package companion

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// health counts upstreams by state: enough for a probe, and nothing that a stranger on this machine could
// use, because probes bring no credential.
type health struct {
	Status    string         `json:"status"`             // up or degraded
	Problems  int            `json:"problems,omitempty"` // with what callgate keeps; people see which in /api/info
	Upstreams map[string]int `json:"upstreams"`
	Reasons   []string       `json:"reasons,omitempty"` // why the answer is not 200
}

// health counts the upstreams of this process and, at the hub, of those that joined. A process that does not
// answer counts as an upstream that is down.
func (s *Server) health(r *http.Request) health {
	h := health{Status: "up", Upstreams: map[string]int{wire.UpstreamIdle: 0, wire.UpstreamStarting: 0, wire.UpstreamUp: 0, wire.UpstreamDown: 0}}
	for _, u := range s.options.Backend.Upstreams() {
		h.Upstreams[u.State]++
	}
	others := s.hub.Ask(r, nil)
	answers := others.Each(r, others.Processes, "/health")
	h.Upstreams[wire.UpstreamDown] += len(others.Processes) - len(answers)
	for _, one := range answers {
		var theirs health
		if json.Unmarshal(one.Body, &theirs) != nil {
			h.Upstreams[wire.UpstreamDown]++
		}
		h.Problems += theirs.Problems
		for state, n := range theirs.Upstreams {
			h.Upstreams[state] += n
		}
	}
	if h.Problems += len(s.problems()); h.Problems > 0 {
		h.Status = "degraded"
	}
	if n := h.Upstreams[wire.UpstreamDown]; n > 0 {
		h.Status = "degraded"
		h.Reasons = append(h.Reasons, fmt.Sprintf("%s down: GET /api/info says which and why", servers(n)))
	}
	return h
}

func servers(n int) string {
	if n == 1 {
		return "1 server is"
	}
	return fmt.Sprintf("%d servers are", n)
}

// How long a probe is asked to wait before it looks again, in seconds.
const (
	retryDown     = 5
	retryStarting = 1
)

// answer answers a probe: 200, or 503 as long as there are reasons for it.
func (h health) answer(w http.ResponseWriter, retry int) {
	if len(h.Reasons) == 0 {
		rest.WriteJSON(w, http.StatusOK, h)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(retry))
	rest.WriteJSON(w, http.StatusServiceUnavailable, h)
}

// handleHealth is the aggregate: 503 as long as an upstream is down, or something is wrong with what callgate keeps.
func (s *Server) handleHealth(w http.ResponseWriter, r *http.Request) {
	h := s.health(r)
	if h.Problems > 0 {
		h.Reasons = append(h.Reasons, fmt.Sprintf("problems with what callgate keeps: %d. GET /api/info says which", h.Problems))
	}
	h.answer(w, retryDown)
}

// handleLive says that the process answers.
func (s *Server) handleLive(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, map[string]string{"status": "up"})
}

// handleReady is 200 when a host can be taken: no upstream is down, and none is on its way up. Those that wait for
// their first host are ready.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	h, retry := s.health(r), retryDown
	if n := h.Upstreams[wire.UpstreamStarting]; n > 0 {
		h.Reasons, retry = append(h.Reasons, servers(n)+" starting"), retryStarting
	}
	h.answer(w, retry)
}
