package rag

import (
	"context"
	"maps"
	"math"
	"slices"

	"callgate/rag/internal/lexical"
	"callgate/rag/internal/terms"
)

// unseen is how many further chunks without any of the query's terms BM25 assumes. Without them, in an index of a
// handful of documents, known terms would weigh almost nothing beside unknown ones.
const unseen = 10

// compoundWeight is the weight of a term that only shares a word with a term of the query.
const compoundWeight = 0.5

// byWords returns the best rows by BM25. Term frequencies are over all live rows.
func (s *search) byWords(ctx context.Context, text string) ([]lexical.Scored, error) {
	snap := s.snapshot
	parts := make([]lexical.Part, len(snap.parts))
	for i := range parts {
		p := &snap.parts[i]
		parts[i] = lexical.Part{Index: p.words, First: snap.first[i], Allows: func(row int) bool { return s.filter.allows(i, row) }}
		if !p.dead.IsEmpty() {
			parts[i].Live = func(row int) bool { return !p.dead.Contains(uint32(row)) }
		}
	}
	stems, counts := queryTerms(text)
	found, err := s.matches.Begin(ctx, parts, snap.rows, stems)
	if err != nil {
		return nil, err
	}
	asked := len(stems)
	var unknown []string
	for i, n := range found {
		if n == 0 {
			unknown = append(unknown, stems[i])
		}
	}
	related, err := s.matches.Compounds(ctx, unknown)
	if err != nil {
		return nil, err
	}
	related = slices.DeleteFunc(related, func(term string) bool { return counts[term] > 0 || terms.Stop[term] })
	if len(related) > 0 {
		stems = append(stems, related...)
		if err := s.matches.End(); err != nil {
			return nil, err
		}
		if found, err = s.matches.Begin(ctx, parts, snap.rows, stems); err != nil {
			return nil, err
		}
	}
	s.most, s.rarity = 0, make(map[string]float64, len(stems))
	weights := make([]float64, len(stems))
	for i, n := range found {
		rarity := math.Log(1 + (float64(snap.live+unseen)-float64(n)+0.5)/(float64(n)+0.5))
		if i >= asked {
			weights[i] = compoundWeight * rarity
			continue
		}
		s.rarity[stems[i]] = rarity
		weights[i] = float64(counts[stems[i]]) * rarity
		s.most += weights[i] * (lexical.K + 1)
	}
	return s.matches.Best(ctx, weights, snap.length, depth)
}

// queryTerms splits the query into stems and counts each, up to maxQueryTerms of them. Stop words count only if the
// query has no other words.
func queryTerms(text string) (stems []string, counts map[string]int) {
	tokens := map[string]int{}
	var all []string // in the query's order
	add := func(token []byte) {
		if tokens[string(token)]++; tokens[string(token)] == 1 {
			all = append(all, string(token))
		}
	}
	terms.Tokenize(text, add, add)
	meaningful := slices.DeleteFunc(slices.Clone(all), func(token string) bool { return terms.Stop[token] })
	if len(meaningful) == 0 {
		meaningful = all
	}
	counts = map[string]int{}
	for _, token := range meaningful {
		if stem := terms.Stem(token); len(counts) < maxQueryTerms || counts[stem] > 0 {
			counts[stem] += tokens[token]
		}
	}
	return slices.Sorted(maps.Keys(counts)), counts // scores are sums: the order must be fixed
}

// maxQueryTerms bounds the work per query.
const maxQueryTerms = 256

// grown returns s with length n. It keeps the old elements so that their memory can be reused.
func grown[T any](s []T, n int) []T {
	s = s[:cap(s)]
	for len(s) < n {
		var zero T
		s = append(s, zero)
	}
	return s[:n]
}

// zeroed returns a zeroed slice of length n, in s's memory if that is large enough.
func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
