package companion

import "net/http"

// health counts upstreams by state: enough for a probe, and nothing that a stranger on this machine could
// use, because probes bring no credential.
type health struct {
	Status    string         `json:"status"` // up or degraded
	Upstreams map[string]int `json:"upstreams"`
}

func (s *Server) health() health {
	h := health{Status: "up", Upstreams: map[string]int{UpstreamStarting: 0, UpstreamUp: 0, UpstreamDown: 0}}
	for _, u := range s.backend.Upstreams() {
		h.Upstreams[u.State]++
	}
	if h.Upstreams[UpstreamDown] > 0 {
		h.Status = "degraded"
	}
	return h
}

// handleHealth is the aggregate: 503 as long as an upstream is down.
func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	writeJSON(w, statusOf(h.Status == "up"), h)
}

// handleLive says that the process answers.
func (s *Server) handleLive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "up"})
}

// handleReady is 200 when every upstream is up: none is down and none is still starting.
func (s *Server) handleReady(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	writeJSON(w, statusOf(h.Status == "up" && h.Upstreams[UpstreamStarting] == 0), h)
}

func statusOf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}
