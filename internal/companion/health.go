package companion

import (
	dto "github.com/prometheus/client_model/go"

	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// health counts upstreams by state. Probes need no credential, so it says nothing that could help a stranger.
type health struct {
	Status    string         `json:"status"`             // up or degraded
	Problems  int            `json:"problems,omitempty"` // with what callgate stores; /api/info lists them
	Upstreams map[string]int `json:"upstreams"`
	Reasons   []string       `json:"reasons,omitempty"` // why the answer is not 200
}

// probeAPI serves probes and metrics over REST.
type probeAPI struct {
	api
	hub      processes
	metrics  http.Handler
	problems func() []string
	ready    func() error
	log      *slog.Logger
}

// health counts the upstreams of this process and, at the hub, those of the processes that joined on this machine. A
// process that does not answer counts as an upstream that is down.
func (s probeAPI) health(r *http.Request) health {
	h := health{Status: "up", Upstreams: map[string]int{wire.UpstreamIdle: 0, wire.UpstreamStarting: 0, wire.UpstreamUp: 0, wire.UpstreamDown: 0}}
	for _, u := range s.backend.Gate.Upstreams() {
		h.Upstreams[u.State]++
	}
	others := s.hub.Ask(r, nil).WithoutReplicas()
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

// Retry-After of probes, in seconds.
const (
	retryDown     = 5
	retryStarting = 1
)

// answer writes the response of a probe: 200, or 503 if there are reasons.
func (h health) answer(w http.ResponseWriter, retry int) {
	if len(h.Reasons) == 0 {
		rest.WriteJSON(w, http.StatusOK, h)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(retry))
	rest.WriteJSON(w, http.StatusServiceUnavailable, h)
}

// handleHealth is the overall health: 503 while an upstream is down, or something is wrong with what callgate stores.
func (s probeAPI) handleHealth(w http.ResponseWriter, r *http.Request) {
	h := s.health(r)
	if h.Problems > 0 {
		h.Reasons = append(h.Reasons, fmt.Sprintf("problems with what callgate keeps: %d. GET /api/info says which", h.Problems))
	}
	h.answer(w, retryDown)
}

// handleLive reports that the process answers.
func (s probeAPI) handleLive(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, map[string]string{"status": "up"})
}

// handleReady answers 200 if callgate can take a host: calls can run, and no upstream is down or starting. Upstreams
// that wait for their first host count as ready.
func (s probeAPI) handleReady(w http.ResponseWriter, r *http.Request) {
	h, retry := s.health(r), retryDown
	if n := h.Upstreams[wire.UpstreamStarting]; n > 0 {
		h.Reasons, retry = append(h.Reasons, servers(n)+" starting"), retryStarting
	}
	if s.ready != nil && s.ready() != nil { // details need a credential
		h.Status, h.Reasons = "degraded", append(h.Reasons, "nothing can run here now; callgate's log says why")
	}
	h.answer(w, retry)
}

// routes adds the routes of probes and metrics. The hub answers for all; the label process tells series apart.
func (s probeAPI) routes(path func(string, methods)) {
	path("/health", methods{"GET": s.handleHealth})
	path("/health/live", methods{"GET": s.handleLive})
	path("/health/ready", methods{"GET": s.handleReady})
	path("/metrics", methods{"GET": s.may.viewer(s.handleMetrics)})
}

func (s probeAPI) handleMetrics(w http.ResponseWriter, r *http.Request) {
	if s.hub.Ask(r, nil).WithoutReplicas().Alone() && s.metrics != nil {
		s.metrics.ServeHTTP(w, r)
		return
	}
	own := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	if s.metrics != nil {
		own = s.metrics
	}
	a := s.hub.Ask(r, own).WithoutReplicas()
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept-Encoding") // the answers are read here as text
	plain.Header.Del("Accept")
	families := map[string]*dto.MetricFamily{}
	counting := false
	for _, one := range a.Each(plain, a.Everyone(), "/metrics") {
		if one.Status != http.StatusOK {
			continue
		}
		counting = true
		if err := merge(families, one.Body); err != nil {
			s.log.Warn("companion: the metrics of a process cannot be read", slog.Any("error", err))
		}
	}
	if !counting {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "metrics are off: set metrics: true in the configuration")
		return
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if err := encoder.Encode(families[name]); err != nil {
			return // the client is gone
		}
	}
}

// merge adds the series of one process to those of the others.
func merge(families map[string]*dto.MetricFamily, text []byte) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for name, family := range parsed {
		if known := families[name]; known == nil {
			families[name] = family
		} else if known.GetType() == family.GetType() {
			known.Metric = append(known.Metric, family.Metric...)
		}
	}
	return nil
}
