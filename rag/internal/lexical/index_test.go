package lexical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	index "github.com/blevesearch/bleve_index_api"

	"callgate/rag/internal/terms"
)

func documentsOf(texts []string) []Document {
	a := terms.New(nil)
	docs := make([]Document, len(texts))
	for i, text := range texts {
		a.Begin()
		a.Add(text)
		docs[i] = Document{a.Frequencies(), a.Length()}
	}
	return docs
}

func built(t *testing.T, texts []string) (string, *Index) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	if err := Build(dir, documentsOf(texts)); err != nil {
		t.Fatal(err)
	}
	return dir, opens(t, dir, texts)
}

func opens(t *testing.T, dir string, texts []string) *Index {
	t.Helper()
	var lengths []uint32
	for _, d := range documentsOf(texts) {
		lengths = append(lengths, uint32(d.Length))
	}
	x, err := Open(dir, lengths)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestAnalyzer compares the analyzer that the index names with the counts that it is built from.
func TestAnalyzer(t *testing.T) {
	for _, text := range []string{"", "parseHTTPHeader parses headers", "日本語のテキスト and snake_case_name", strings.Repeat("x", 100)} {
		tokens := newMapping().AnalyzerNamed(analyzerName).Analyze([]byte(text))
		got := analysis.TokenFrequency(tokens, nil, index.IndexField)
		want := documentsOf([]string{text})[0]
		if len(tokens) != want.Length || len(got) != len(want.Terms) {
			t.Errorf("%q: %d tokens and %d terms, want %d and %d", text, len(tokens), len(got), want.Length, len(want.Terms))
		}
		for term, f := range want.Terms {
			if got[term] == nil || got[term].Frequency() != f.Frequency() {
				t.Errorf("%q: %q is there %v, want %d", text, term, got[term], f.Frequency())
			}
		}
	}
}

// TestPlainBleve opens an index like any program that uses bleve, while it is open elsewhere. No lock may prevent it,
// and the mapping in the index must find what was indexed.
func TestPlainBleve(t *testing.T) {
	dir, _ := built(t, []string{"nothing", "func parseHTTPHeader()"})
	plain, err := bleve.OpenUsing(dir, map[string]any{"read_only": true, "bolt_timeout": "1s"})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	match := bleve.NewMatchQuery("Headers")
	match.SetField(textField)
	found, err := plain.Search(bleve.NewSearchRequest(match))
	if err != nil || found.Total != 1 || found.Hits[0].ID != idOf(1) {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestBM25 compares scores and order with the formula, over several indexes with deleted rows: built, merged and in
// memory.
func TestBM25(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("alpha beta gamma delta kappa lambda sigma omega")
	var all [][]string
	var dead [][]bool
	for range 4 {
		var texts []string
		var gone []bool
		for range 1 + r.IntN(300) {
			var b strings.Builder
			for range 1 + r.IntN(40) {
				fmt.Fprint(&b, words[min(r.IntN(len(words)), r.IntN(len(words)))], " ")
			}
			texts, gone = append(texts, b.String()), append(gone, r.IntN(4) == 0)
		}
		all, dead = append(all, texts), append(dead, gone)
	}
	// The expected result.
	count := func(text, word string) float64 { return float64(strings.Count(text, word+" ")) }
	live, total := 0.0, 0.0
	frequency := map[string]int{}
	for i, texts := range all {
		for row, text := range texts {
			if !dead[i][row] {
				live++
				total += float64(len(strings.Fields(text)))
				for _, w := range words {
					if count(text, w) > 0 {
						frequency[w]++
					}
				}
			}
		}
	}
	query, weights := []string{"alpha", "omega", "lambda"}, []float64{0.3, 2, 1.5}
	score := func(text string) float64 {
		sum, length := 0.0, float64(len(strings.Fields(text)))
		for i, word := range query {
			n := count(text, word)
			sum += weights[i] * n * (K + 1) / (n + K*(1-b+b*length/(total/live)))
		}
		return sum
	}
	check := func(t *testing.T, indexes []*Index, all [][]string, dead [][]bool) {
		var parts []Part
		var want []float64
		rows := 0
		for i, x := range indexes {
			allows := func(row int) bool { return !dead[i][row] }
			p := Part{Index: x, First: rows, Allows: allows}
			if slices.Contains(dead[i], true) {
				p.Live = allows
			}
			parts = append(parts, p)
			rows += x.Rows()
			for row, text := range all[i] {
				if s := score(text); s > 0 && !dead[i][row] {
					want = append(want, s)
				}
			}
		}
		slices.SortFunc(want, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
		var s Search
		stems := make([]string, len(query))
		for i, word := range query {
			stems[i] = terms.Stem(word)
		}
		got, err := s.Begin(t.Context(), parts, rows, stems)
		if err != nil {
			t.Fatal(err)
		}
		for i, word := range query {
			if got[i] != frequency[word] {
				t.Errorf("%d rows have %q, want %d", got[i], word, frequency[word])
			}
		}
		const n = 50
		best, err := s.Best(t.Context(), weights, total/live, n)
		if err != nil || len(best) != min(n, len(want)) {
			t.Fatalf("%d hits, %v", len(best), err)
		}
		for i, hit := range best {
			if math.Abs(float64(hit.Score)-want[i]) > 1e-4 {
				t.Errorf("hit %d has score %f, want %f", i, hit.Score, want[i])
			}
		}
		for i := range all {
			for row, text := range all[i] {
				if got := float64(s.Score(parts[i].First + row)); math.Abs(got-score(text)) > 1e-4 {
					t.Fatalf("row %d of index %d has score %f, want %f", row, i, got, score(text))
				}
			}
		}
		if err := s.End(); err != nil {
			t.Error(err)
		}
	}
	var onDisk, inMemory []*Index
	for _, texts := range all {
		_, x := built(t, texts)
		onDisk = append(onDisk, x)
		m, err := InMemory(documentsOf(texts))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		inMemory = append(inMemory, m)
	}
	t.Run("on disk", func(t *testing.T) { check(t, onDisk, all, dead) })
	t.Run("in memory", func(t *testing.T) { check(t, inMemory, all, dead) })
	t.Run("merged", func(t *testing.T) {
		var moved [][]int
		var merged []string
		for i, texts := range all {
			moved = append(moved, nil)
			for row, text := range texts {
				to := -1
				if !dead[i][row] {
					to = len(merged)
					merged = append(merged, text)
				}
				moved[i] = append(moved[i], to)
			}
		}
		dir := filepath.Join(t.TempDir(), "merged")
		if err := Merge(dir, onDisk, moved); err != nil {
			t.Fatal(err)
		}
		check(t, []*Index{opens(t, dir, merged)}, [][]string{merged}, [][]bool{make([]bool, len(merged))})
	})
}

func TestCompounds(t *testing.T) {
	_, x := built(t, []string{"haftpflichtversicherung vertrag wartung heizung", "straße bahn file system vertrag", "versicherungen arbeit zeit"})
	var s Search
	if _, err := s.Begin(t.Context(), []Part{{Index: x}}, x.Rows(), nil); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"versicherung":                    "haftpflichtversicherung versicherungen",
		"haftpflicht":                     "haftpflichtversicherung",
		"heizungswartung":                 "heizung wartung",
		"heizungen":                       "heizung",
		"straßenbahn":                     "bahn straße",
		"haftpflichtversicherungsvertrag": "haftpflichtversicherung vertrag",
		"arbeitszeiten":                   "arbeit zeit",
		"filesystem":                      "file system",
		"vertragsbruch":                   "", // only a part of it is known
		"bahnx":                           "",
		"heit":                            "", // too short
		"file_system":                     "", // not a word
	} {
		got, err := s.Compounds(t.Context(), []string{word})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v, want %s", word, got, err, want)
		}
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}
