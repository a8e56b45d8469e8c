package companion

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// metricRoutes are answered by the hub for every process that counts: their series differ by the label process.
func (s *Server) metricRoutes(path func(string, methods)) {
	path("/metrics", methods{"GET": s.viewer(s.handleMetrics)})
}

func (s *Server) handleMetrics(w http.ResponseWriter, r *http.Request) {
	if s.hub.Ask(r, nil).Alone() && s.options.Metrics != nil {
		s.options.Metrics.ServeHTTP(w, r)
		return
	}
	own := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	if s.options.Metrics != nil {
		own = s.options.Metrics
	}
	a := s.hub.Ask(r, own)
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept-Encoding") // the answers are read here, as text
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
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "this callgate counts nothing: set metrics: true in its configuration")
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

// merge adds the series of one process to those of others.
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
