package lexical

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"
)

// BM25's usual parameters.
const (
	K = 1.2
	b = 0.75
)

// Part is an index as part of a search.
type Part struct {
	*Index
	First  int                // number of its first row among the rows of all parts
	Live   func(row int) bool // reports false for deleted rows; nil: there are none
	Allows func(row int) bool // reports false for deleted rows and for those that the query excludes

	readers []index.TermFieldReader // by term; nil once read, or if no row has it
	scores  []float32               // by bleve's document number
}

// Search is a search in progress, with memory that the next one reuses.
type Search struct {
	parts   []Part
	views   map[mapping.IndexMapping]*Part // key: the mapping, by which bleve identifies an index
	weights []float64                      // by term
	average float64
	scores  []float32
	mu      sync.Mutex
	best    *Top
}

// Begin starts a search for the terms in parts, which have rows rows in all. It returns how many live rows have each
// term. The caller MUST call End, also after an error.
func (s *Search) Begin(ctx context.Context, parts []Part, rows int, terms []string) ([]int, error) {
	if cap(s.scores) < rows {
		s.scores = make([]float32, rows)
	}
	s.scores = s.scores[:rows]
	clear(s.scores)
	s.parts = parts
	s.views = make(map[mapping.IndexMapping]*Part, len(parts))
	counts, errs := make([][]int, len(parts)), make([]error, len(parts))
	var all sync.WaitGroup
	for i := range parts {
		p := &parts[i]
		p.scores = s.scores[p.First:][:p.Rows()]
		s.views[p.bleve.Mapping()] = p
		all.Go(func() { counts[i], errs[i] = p.find(ctx, terms) })
	}
	all.Wait()
	sums := make([]int, len(terms))
	for i := range counts {
		for t, n := range counts[i] {
			sums[t] += n
		}
	}
	return sums, errors.Join(errs...)
}

// find opens the postings of the terms and returns how many live rows have each.
func (p *Part) find(ctx context.Context, terms []string) ([]int, error) {
	counts := make([]int, len(terms))
	p.readers = make([]index.TermFieldReader, len(terms))
	for t, term := range terms {
		found, err := p.reader.TermFieldReader(ctx, []byte(term), textField, true, false, false)
		if err != nil {
			return nil, err
		}
		counts[t] = int(found.Count())
		if counts[t] == 0 {
			if err := found.Close(); err != nil {
				return nil, err
			}
			continue
		}
		p.readers[t] = found
		if p.Live == nil {
			continue
		}
		counts[t] = 0
		err = eachPosting(ctx, p.reader, []byte(term), func(number uint64, _ *index.TermFieldDoc) {
			if p.Live(int(p.rows[number])) {
				counts[t]++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// End closes the readers of the search.
func (s *Search) End() error {
	var failed []error
	for i := range s.parts {
		for _, r := range s.parts[i].readers {
			if r != nil {
				failed = append(failed, r.Close())
			}
		}
	}
	s.parts, s.views, s.weights, s.best = nil, nil, nil, nil
	return errors.Join(failed...)
}

// Score returns the BM25 score of a row, numbered across all parts. Call it after Best.
func (s *Search) Score(row int) float32 {
	p := &s.parts[sort.Search(len(s.parts), func(i int) bool { return s.parts[i].First > row })-1]
	return p.scores[p.numbers[row-p.First]]
}

// Best returns the n rows with the highest scores, best first. The weight of a term is its inverse document frequency
// times its count in the query. average is the mean length of a chunk in terms.
func (s *Search) Best(ctx context.Context, weights []float64, average float64, n int) ([]Scored, error) {
	s.weights, s.average, s.best = weights, average, NewTop(n)
	all := bleve.NewIndexAlias()
	first := make(map[string]int, len(s.parts))
	for i := range s.parts {
		all.Add(s.parts[i].bleve)
		first[s.parts[i].bleve.Name()] = s.parts[i].First
	}
	// Ask for more than n, because hits of equal score come in no order.
	result, err := all.SearchInContext(ctx, bleve.NewSearchRequestOptions((*bm25)(s), 10*n, 0, false))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var failed []error
	for _, err := range result.Status.Errors {
		failed = append(failed, err)
	}
	best := NewTop(n)
	for _, hit := range result.Hits {
		best.Add(Scored{first[hit.Index] + rowOf(hit.ID), float32(hit.Score)})
	}
	return best.Sorted(), errors.Join(failed...)
}

// bm25 is the query. bleve's own scoring takes the root of frequencies and squares the weights, which finds a third
// less. This is the formula from the literature, with frequencies and the average length taken over all parts.
type bm25 Search

// Searcher scores the documents of an index, term by term, and returns those that may be among the best overall.
func (q *bm25) Searcher(ctx context.Context, r index.IndexReader, m mapping.IndexMapping, _ search.SearcherOptions) (search.Searcher, error) {
	p := q.views[m]
	if p == nil {
		return nil, errors.New("an index is searched that is not part of the search")
	}
	scores := p.scores
	perTerm := float32(K * b / q.average)
	for t, found := range p.readers {
		if found == nil {
			continue
		}
		weight := float32(q.weights[t] * (K + 1))
		p.readers[t] = nil
		err := eachOf(found, func(number uint64, d *index.TermFieldDoc) {
			n := float32(d.Freq)
			scores[number] += weight * n / (n + K*(1-b) + perTerm*p.lengths[number])
		})
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	q.mu.Lock()
	least := q.best.Least
	q.mu.Unlock()
	best := NewTop(q.best.n)
	best.Least = max(0, math.Nextafter32(least, 0))
	for number, score := range scores {
		if score > best.Least {
			if row := int(p.rows[number]); p.Allows(row) {
				best.Add(Scored{row, score})
			}
		}
	}
	q.mu.Lock()
	for _, s := range best.heap {
		if s.Row += p.First; s.Score >= q.best.Least {
			q.best.Add(s)
		}
	}
	least = q.best.Least
	q.mu.Unlock()
	found := &matches{}
	for _, s := range best.heap {
		if s.Score >= least {
			found.list = append(found.list, Scored{int(p.numbers[s.Row]), s.Score})
		}
	}
	slices.SortFunc(found.list, func(a, b Scored) int { return a.Row - b.Row })
	return found, nil
}

// matches holds the documents found, in order of bleve's document number.
type matches struct {
	list []Scored
	next int
}

func (f *matches) Next(c *search.SearchContext) (*search.DocumentMatch, error) {
	if f.next == len(f.list) {
		return nil, nil
	}
	found := f.list[f.next]
	f.next++
	d := c.DocumentMatchPool.Get()
	d.IndexInternalID = index.NewIndexInternalID(d.IndexInternalID, uint64(found.Row))
	d.Score = float64(found.Score)
	return d, nil
}

func (f *matches) Advance(c *search.SearchContext, id index.IndexInternalID) (*search.DocumentMatch, error) {
	for f.next < len(f.list) && uint64(f.list[f.next].Row) < id.Value() {
		f.next++
	}
	return f.Next(c)
}

func (f *matches) Close() error               { return nil }
func (f *matches) Weight() float64            { return 0 }
func (f *matches) SetQueryNorm(float64)       {}
func (f *matches) Count() uint64              { return uint64(len(f.list)) }
func (f *matches) Min() int                   { return 0 }
func (f *matches) Size() int                  { return 0 }
func (f *matches) DocumentMatchPoolSize() int { return 0 }
