package rag

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callgate/rag/internal/terms"
)

// clustered returns unit vectors in clusters, like those of texts.
func clustered(r *rand.Rand, n, dim int) [][]float32 {
	centres := make([][]float32, 1+n/50)
	for i := range centres {
		centres[i] = gauss(r, dim, 1)
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = gauss(r, dim, 1)
		for j, x := range centres[r.IntN(len(centres))] {
			out[i][j] += x
		}
		terms.Normalize(out[i])
	}
	return out
}

func gauss(r *rand.Rand, dim int, scale float64) []float32 {
	v := make([]float32, dim)
	for i := range v {
		// Like the axes of a principal component analysis: the first matter most.
		v[i] = float32(r.NormFloat64() * scale / math.Sqrt(1+float64(i)/16))
	}
	return v
}

func TestVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dim := range []int{1, 3, 64, 100, 256, 300} {
		m := &vectors{Dim: dim}
		all := clustered(r, 60, dim)
		for _, v := range all {
			m.append(v)
		}
		m.append(nil)
		if !m.valid() || m.len() != 61 || m.Scales[60] != 0 {
			t.Fatalf("%d: not valid", dim)
		}
		for i, v := range all {
			want := 0.0
			for j := range v {
				want += float64(v[j]) * float64(all[0][j])
			}
			if got := float64(m.cosine(i, all[0])); math.Abs(got-want) > 0.02 {
				t.Errorf("%d dimensions: cosine %v, want %v", dim, got, want)
			}
		}
		copied := &vectors{Dim: dim}
		copied.appendRow(m, 7)
		if got, want := copied.cosine(0, all[0]), m.cosine(7, all[0]); got != want || !copied.valid() {
			t.Errorf("a copied row has %v, want %v", got, want)
		}
	}
}

// TestSketchRecall checks what the search relies on: the true nearest vectors are among the candidates.
func TestSketchRecall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, nearest = 20_000, 20
	m := &vectors{Dim: 256}
	all := clustered(r, n, 256)
	for _, v := range all {
		m.append(v)
	}
	found, wanted := 0, 0
	distances := make([]uint16, n)
	for q := range 50 {
		query := slices.Clone(all[q*131])
		for j, x := range gauss(r, 256, 0.05) {
			query[j] += x
		}
		terms.Normalize(query)
		rows := make([]int, n)
		cosines := make([]float32, n)
		for i := range rows {
			rows[i], cosines[i] = i, m.cosine(i, query)
		}
		slices.SortFunc(rows, func(a, b int) int { return int(math.Copysign(1, float64(cosines[b]-cosines[a]))) })
		m.distances(appendSketch(nil, query), distances)
		sorted := slices.Clone(distances)
		slices.Sort(sorted)
		limit := sorted[exactRows*n/87_000] // as strict as in an index of 87,000 chunks
		for _, row := range rows[:nearest] {
			wanted++
			if distances[row] <= limit {
				found++
			}
		}
	}
	if recall := float64(found) / float64(wanted); recall < 0.97 {
		t.Errorf("recall %.3f", recall)
	} else {
		t.Logf("recall %.3f", recall)
	}
}

func TestStaticTable(t *testing.T) {
	e, err := Static()
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Embed(t.Context(), ForQuery, []string{"read a file", "load the contents from disk", "http server", ""})
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (s float64) {
		for i := range a {
			s += float64(a[i]) * float64(b[i])
		}
		return s
	}
	if n := dot(got[0], got[0]); math.Abs(n-1) > 1e-5 {
		t.Errorf("length %v", n)
	}
	if near, far := dot(got[0], got[1]), dot(got[0], got[2]); near < far+0.1 {
		t.Errorf("near %v, far %v", near, far)
	}
	if !isZero(got[3]) {
		t.Error("nothing has a direction")
	}
	for _, model := range []string{"", "1ME", staticModel[:1000], "x" + staticModel, staticModel[:len(staticModel)-10_000]} {
		if _, err := parseStatic(model); err == nil {
			t.Errorf("a table of %d bytes is taken", len(model))
		}
	}
}

func BenchmarkByMeaning(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	m := &vectors{Dim: 256}
	for _, v := range clustered(r, 60_000, 256) {
		m.append(v)
	}
	sketch := appendSketch(nil, gauss(r, 256, 1))
	distances := make([]uint16, m.len())
	b.ReportAllocs()
	for b.Loop() {
		m.distances(sketch, distances)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	table, err := loadStatic()
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("func (c *Conn) readRequestHeader(ctx context.Context) (*Header, error) {\n", 20)
	a := terms.New(table)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		a.Begin()
		a.Add(text)
		a.Frequencies()
		a.Vector()
	}
}
