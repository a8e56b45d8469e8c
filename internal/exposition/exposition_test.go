package exposition

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// page has one of each type, and what has to be escaped.
func page() Page {
	p := Page{}
	w := p.With("worker", "w\n", "process", "1")
	w.Counter("b_total", "Of \\ two\nlines.", 1e21, "z", `a"b\c`)
	w.Gauge("a", "", -0.5)
	h := NewHistogram([]float64{0.5, 1})
	for _, value := range []float64{0.5, 0.6, 7} {
		h.Observe(value)
	}
	w.Histogram("h", "Sizes.", h, "x", "y")
	w.Summary("s", "Shares.", []Quantile{{0, 1}, {0.5, 2}}, 6, 3)
	return p
}

const text = `# TYPE a gauge
a{process="1",worker="w\n"} -0.5
# HELP b_total Of \\ two\nlines.
# TYPE b_total counter
b_total{process="1",worker="w\n",z="a\"b\\c"} 1e+21
# HELP h Sizes.
# TYPE h histogram
h_bucket{process="1",worker="w\n",x="y",le="0.5"} 1
h_bucket{process="1",worker="w\n",x="y",le="1"} 2
h_bucket{process="1",worker="w\n",x="y",le="+Inf"} 3
h_sum{process="1",worker="w\n",x="y"} 8.1
h_count{process="1",worker="w\n",x="y"} 3
# HELP s Shares.
# TYPE s summary
s{process="1",worker="w\n",quantile="0"} 1
s{process="1",worker="w\n",quantile="0.5"} 2
s_sum{process="1",worker="w\n"} 6
s_count{process="1",worker="w\n"} 3
`

func written(t *testing.T, p Page) string {
	t.Helper()
	var b strings.Builder
	if n, err := p.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatal(n, err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	if got := written(t, page()); got != text {
		t.Errorf("%s", got)
	}
	read, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, read); got != text {
		t.Errorf("read and written again: %s", got)
	}
}

// Pages of several processes become one: series of a family stand together, and those of another type are left out.
func TestMerge(t *testing.T) {
	all, other := Page{}, Page{}
	other.With("process", "2").Gauge("a", "", 2)
	other.With("process", "2").Gauge("b_total", "Of another type.", 2)
	all.Merge(page())
	all.Merge(other)
	all.Merge(nil)
	want := strings.Replace(text, " -0.5\n", " -0.5\na{process=\"2\"} 2\n", 1)
	if got := written(t, all); got != want {
		t.Errorf("%s", got)
	}
	if got := written(t, page()); got != text {
		t.Errorf("merging changed a page: %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{"a", "a one", `a{b="c} 1`, `a{b="c"}`, `a{b="\x"} 1`, "9a 1", `a 1 2 3`} {
		if p, err := Parse([]byte("# TYPE a gauge\n" + line + "\n")); err == nil {
			t.Errorf("%s is read as %v", line, p)
		}
	}
}

func TestAnswer(t *testing.T) {
	for accepted, compressed := range map[string]bool{"": false, "br": false, "gzip": true, "br, gzip;q=1.0": true, "gzip;q=0": false, "gzip; q=0.0": false} {
		answer, request := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
		request.Header.Set("Accept-Encoding", accepted)
		page().Answer(answer, request)
		body := io.Reader(answer.Body)
		if (answer.Header().Get("Content-Encoding") == "gzip") != compressed {
			t.Errorf("%q: %v", accepted, answer.Header())
			continue
		}
		if compressed {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != text {
			t.Errorf("%q: %s, %v", accepted, got, err)
		}
	}
}
