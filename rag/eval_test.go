package rag

import (
	"math"
	"strings"
	"testing"
)

func TestScore(t *testing.T) {
	hits := []Hit{{Path: "a", Start: 1, End: 9}, {Path: "b", Start: 1, End: 5}, {Path: "b", Start: 6, End: 9}, {Path: "c", Start: 1, End: 1}}
	for _, c := range []struct {
		relevant                           []Label
		ndcg, mrr, recall5, lines5, inFile float64
	}{
		{[]Label{{Path: "a"}}, 1, 1, 1, 0, 0},
		{[]Label{{Path: "b"}}, 1 / math.Log2(3), 0.5, 1, 0, 0},
		{[]Label{{Path: "b", Start: 7, End: 20}}, 1 / math.Log2(4), 1. / 3, 1, 1, 0},
		{[]Label{{Path: "b", Start: 10, End: 20}}, 0, 0, 0, 0, 0},
		{[]Label{{Path: "b", Start: 5}}, 1 / math.Log2(3), 0.5, 1, 1, 1},
		{[]Label{{Path: "a"}, {Path: "none"}}, 1 / (1 + 1/math.Log2(3)), 1, 0.5, 0, 0},
		{[]Label{{Path: "none"}}, 0, 0, 0, 0, 0},
	} {
		var s Score
		s.Add(&Judged{Relevant: c.relevant}, hits)
		got := s.Mean()
		for _, p := range [][2]float64{{got.NDCG10, c.ndcg}, {got.MRR, c.mrr}, {got.Recall5, c.recall5}, {got.Lines10, c.lines5}, {got.InFile, c.inFile}} {
			if math.Abs(p[0]-p[1]) > 1e-9 {
				t.Errorf("%+v: got %+v, want %+v", c.relevant, got, c)
			}
		}
	}
	if s := (Score{}).Mean(); s != (Score{}) {
		t.Errorf("nothing was asked: %+v", s)
	}
}

func TestReadJudged(t *testing.T) {
	got, err := ReadJudged(strings.NewReader("{\"query\":\"q\",\"relevant\":[{\"path\":\"a\",\"start\":1,\"end\":2}]}\n\n{\"id\":\"2\",\"query\":\"r\",\"relevant\":[{\"path\":\"b\"}]}"))
	if err != nil || len(got) != 2 || got[0].Relevant[0] != (Label{"a", 1, 2}) || got[1].ID != "2" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"{", `{"query":"q"}`, `{"relevant":[{"path":"a"}]}`, `{"query":"q","relevant":[{"path":"a"}],"typo":1}`} {
		if _, err := ReadJudged(strings.NewReader(bad)); err == nil || !strings.HasPrefix(err.Error(), "line 1") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestEvaluate(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	x := memory(t, Options{})
	syncs(t, x, root)
	s, err := x.Evaluate(t.Context(), []Judged{{Query: "refreshToken", Relevant: []Label{{Path: "server/token.go", Start: 3, End: 3}}}, {Query: "TokenStore", Relevant: []Label{{Path: "web/app.ts"}}}}, Query{})
	if want := (Score{Queries: 2, NDCG10: 1, MRR: 1, Recall5: 1, Lines10: 1, lines: 1, InFile: 1, files: 1}); err != nil || s != want {
		t.Errorf("got %+v, %v, want %+v", s, err, want)
	}
}
