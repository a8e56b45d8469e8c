package companion

import (
	"encoding/json"
	"net/http"
)

// health counts upstreams by state: enough for a probe, and nothing that a stranger on this machine could
// use, because probes bring no credential.
type health struct {
	Status    string         `json:"status"` // up or degraded
	Upstreams map[string]int `json:"upstreams"`
}

// health counts the upstreams of this process and, at the hub, of those that joined. A process that does not
// answer counts as an upstream that is down.
func (s *Server) health(r *http.Request) health {
	h := health{Status: "up", Upstreams: map[string]int{UpstreamStarting: 0, UpstreamUp: 0, UpstreamDown: 0}}
	for _, u := range s.backend.Upstreams() {
		h.Upstreams[u.State]++
	}
	others := s.others(r)
	answers := others.each(r, others.processes, "/health")
	h.Upstreams[UpstreamDown] += len(others.processes) - len(answers)
	for _, one := range answers {
		var theirs health
		if json.Unmarshal(one.body, &theirs) != nil {
			h.Upstreams[UpstreamDown]++
		}
		for state, n := range theirs.Upstreams {
			h.Upstreams[state] += n
		}
	}
	if h.Upstreams[UpstreamDown] > 0 {
		h.Status = "degraded"
	}
	return h
}

// handleHealth is the aggregate: 503 as long as an upstream is down.
func (s *Server) handleHealth(w http.ResponseWriter, r *http.Request) {
	h := s.health(r)
	writeJSON(w, statusOf(h.Status == "up"), h)
}

// handleLive says that the process answers.
func (s *Server) handleLive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "up"})
}

// handleReady is 200 when every upstream is up: none is down and none is still starting.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	h := s.health(r)
	writeJSON(w, statusOf(h.Status == "up" && h.Upstreams[UpstreamStarting] == 0), h)
}

func statusOf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}
