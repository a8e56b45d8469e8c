// Package exposition writes and reads metrics in the text format of Prometheus.
package exposition

import (
	"cmp"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Page is the answer to a scrape: families of series by name.
type Page map[string]*Family

// Family is a metric with all its series.
type Family struct {
	Help, Type string
	series     []byte // lines
}

// The types of families.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
	summary   = "summary"
)

// Writer adds series to a page. They all have its labels.
type Writer struct {
	page   Page
	labels []label
}

type label struct{ name, value string }

// With returns a Writer whose series have these labels too: a name and a value each.
func (p Page) With(labels ...string) Writer { return Writer{p, pairs(labels)} }

func pairs(list []string) (labels []label) {
	for pair := range slices.Chunk(list, 2) {
		labels = append(labels, label{pair[0], pair[1]})
	}
	return labels
}

// Counter adds a number that only grows. labels are a name and a value each, here and below.
func (w Writer) Counter(name, help string, value float64, labels ...string) {
	w.family(name, help, counter).add(name, w.text(labels), value)
}

// Gauge adds a number that is what it is now.
func (w Writer) Gauge(name, help string, value float64, labels ...string) {
	w.family(name, help, gauge).add(name, w.text(labels), value)
}

// Histogram adds a histogram.
func (w Writer) Histogram(name, help string, h *Histogram, labels ...string) {
	f := w.family(name, help, histogram)
	below := uint64(0)
	for i, n := range h.counts {
		below += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = number(h.bounds[i])
		}
		f.add(name+"_bucket", w.text(labels, "le", bound), float64(below))
	}
	f.sum(name, w.text(labels), h.sum, below)
}

// Quantile is how much a share of what a summary saw had at most.
type Quantile struct{ Share, Value float64 }

// Summary adds a summary.
func (w Writer) Summary(name, help string, quantiles []Quantile, sum float64, count uint64, labels ...string) {
	f := w.family(name, help, summary)
	for _, q := range quantiles {
		f.add(name, w.text(labels, "quantile", number(q.Share)), q.Value)
	}
	f.sum(name, w.text(labels), sum, count)
}

func (w Writer) family(name, help, kind string) *Family {
	f := w.page[name]
	if f == nil {
		f = &Family{Help: help, Type: kind}
		w.page[name] = f
	}
	return f
}

func (f *Family) add(name, labels string, value float64) {
	f.series = append(f.series, name+labels+" "+number(value)+"\n"...)
}

func (f *Family) sum(name, labels string, sum float64, count uint64) {
	f.add(name+"_sum", labels, sum)
	f.add(name+"_count", labels, float64(count))
}

var (
	labelValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helpText   = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// text is the labels of a series in braces, sorted, and then the last one.
func (w Writer) text(list []string, last ...string) string {
	labels := slices.Concat(w.labels, pairs(list))
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.name, b.name) })
	labels = append(labels, pairs(last)...)
	if len(labels) == 0 {
		return ""
	}
	texts := make([]string, len(labels))
	for i, l := range labels {
		texts[i] = l.name + `="` + labelValue.Replace(strings.ToValidUTF8(l.value, "\uFFFD")) + `"`
	}
	return "{" + strings.Join(texts, ",") + "}"
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// Merge adds the series of another page. A family of another type is left out.
func (p Page) Merge(other Page) {
	for name, f := range other {
		known := p[name]
		if known == nil {
			known = &Family{Help: f.Help, Type: f.Type}
			p[name] = known
		}
		if known.Type == f.Type {
			known.series = append(known.series, f.series...)
		}
	}
}

// WriteTo writes the page, families sorted by name.
func (p Page) WriteTo(w io.Writer) (n int64, err error) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		f := p[name]
		head := "# TYPE " + name + " " + f.Type + "\n"
		if f.Help != "" {
			head = "# HELP " + name + " " + helpText.Replace(f.Help) + "\n" + head
		}
		written, err := w.Write(append([]byte(head), f.series...))
		if n += int64(written); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Answer answers a scrape, compressed where the scraper takes that.
func (p Page) Answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r.Header.Get("Accept-Encoding")) {
		_, _ = p.WriteTo(w) // it fails when the scraper is gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	defer z.Close()
	_, _ = p.WriteTo(z)
}

func acceptsGzip(accepted string) bool {
	for one := range strings.SplitSeq(accepted, ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if name == "gzip" {
			return strings.Trim(strings.TrimPrefix(quality, "q="), "0.") != "" || quality == ""
		}
	}
	return false
}

// Histogram counts values by size. Its methods may not be called at the same time.
type Histogram struct {
	bounds []float64
	counts []uint64 // values up to each bound, and those above all
	sum    float64
}

// NewHistogram returns a histogram with sorted upper bounds.
func NewHistogram(bounds []float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// Observe counts a value.
func (h *Histogram) Observe(value float64) {
	i, _ := slices.BinarySearch(h.bounds, value)
	h.counts[i]++
	h.sum += value
}
