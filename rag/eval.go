package rag

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// Judged is a line of an evaluation file: a query and the places that answer it.
type Judged struct {
	ID       string  `json:"id,omitempty"`
	Query    string  `json:"query"`
	Relevant []Label `json:"relevant"`
}

// Label is a place that answers a query: a file, or lines of it.
type Label struct {
	Path  string `json:"path"`
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
}

// covers reports whether the hit shows the place: the file, and one of its lines if the label has lines.
func (l *Label) covers(h *Hit) bool {
	return h.Path == l.Path && (l.Start == 0 || h.Start <= max(l.Start, l.End) && l.Start <= h.End)
}

// ReadJudged reads an evaluation file, which has one JSON object per line.
func ReadJudged(r io.Reader) ([]Judged, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var all []Judged
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var j Judged
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.DisallowUnknownFields()
		if err := d.Decode(&j); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if j.Query == "" || len(j.Relevant) == 0 {
			return nil, fmt.Errorf("line %d: it needs query and relevant", n)
		}
		all = append(all, j)
	}
	return all, lines.Err()
}

// Score tells how well queries were answered. After Mean, each figure is a mean; before, a sum.
type Score struct {
	Queries int `json:"queries"`
	// NDCG10 counts each label at the rank of the first of ten hits that covers it.
	NDCG10 float64 `json:"ndcg@10"`
	// MRR is the reciprocal rank of the first hit that covers any label.
	MRR float64 `json:"mrr"`
	// Recall5 is the share of labels that the first five hits cover.
	Recall5 float64 `json:"recall@5"`
	// Lines10 is the share of labels with lines that the first ten hits cover.
	Lines10 float64 `json:"lines@10"`
	// InFile is the share of labels with lines that the first hit of their file covers, among labels whose file is in
	// the first ten hits.
	InFile float64 `json:"inFile"`

	lines int // labels with lines
	files int // labels with lines whose file was found
}

// firstOf returns the first hit in the file among the first ten, or nil if there is none.
func firstOf(path string, hits []Hit) *Hit {
	for i := range min(10, len(hits)) {
		if hits[i].Path == path {
			return &hits[i]
		}
	}
	return nil
}

// Add adds the answer to a query.
func (s *Score) Add(j *Judged, hits []Hit) {
	ideal, gain, reciprocal, recalled := 0.0, 0.0, 0.0, 0.0
	for i, l := range j.Relevant {
		if i < 10 {
			ideal += 1 / math.Log2(float64(i)+2)
		}
		if l.Start > 0 {
			s.lines++
			if first := firstOf(l.Path, hits); first != nil {
				s.files++
				if l.covers(first) {
					s.InFile++
				}
			}
		}
		for r := range min(10, len(hits)) {
			if !l.covers(&hits[r]) {
				continue
			}
			gain += 1 / math.Log2(float64(r)+2)
			reciprocal = max(reciprocal, 1/float64(r+1))
			if r < 5 {
				recalled++
			}
			if l.Start > 0 {
				s.Lines10++
			}
			break
		}
	}
	s.Queries++
	s.NDCG10 += gain / ideal
	s.MRR += reciprocal
	s.Recall5 += recalled / float64(len(j.Relevant))
}

// Mean returns the means of what was added.
func (s Score) Mean() Score {
	n := float64(max(1, s.Queries))
	return Score{
		Queries: s.Queries, NDCG10: s.NDCG10 / n, MRR: s.MRR / n, Recall5: s.Recall5 / n,
		Lines10: s.Lines10 / float64(max(1, s.lines)), InFile: s.InFile / float64(max(1, s.files)), lines: s.lines, files: s.files,
	}
}

// Evaluate answers every query, with the filters of like, and returns how well it did.
func (x *Index) Evaluate(ctx context.Context, queries []Judged, like Query) (Score, error) {
	var s Score
	for i := range queries {
		q := like
		q.Text, q.Limit = queries[i].Query, 10
		hits, err := x.Search(ctx, q)
		if err != nil {
			return s, err
		}
		s.Add(&queries[i], hits)
	}
	return s.Mean(), nil
}

// Unindexed returns the paths of labels that are not in the index, below like.Within. No search can find them.
func (x *Index) Unindexed(queries []Judged, like Query) ([]string, error) {
	snap, err := x.acquire()
	if err != nil {
		return nil, err
	}
	indexed := map[string]bool{}
	for i := range snap.parts {
		p := &snap.parts[i]
		for j := range p.rows.Sources {
			if s := &p.rows.Sources[j]; p.liveSource(s) {
				indexed[s.Path] = true
			}
		}
	}
	missing := map[string]bool{}
	for _, q := range queries {
		for _, l := range q.Relevant {
			if !indexed[path.Join(like.Within, l.Path)] {
				missing[l.Path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(missing)), snap.release()
}
