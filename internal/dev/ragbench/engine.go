package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"

	"callgate/rag"
)

// engine answers a query with its ten best hits.
type engine interface {
	search(ctx context.Context, query string) ([]rag.Hit, error)
}

// ours is callgate's index.
type ours struct{ index *rag.Index }

func (o ours) search(ctx context.Context, query string) ([]rag.Hit, error) {
	return o.index.Search(ctx, rag.Query{Text: query, Limit: 10})
}

// plain is bleve with its defaults: the standard analyzer and its own scoring, over the same passages that callgate
// searches.
type plain struct {
	index bleve.Index
	hits  map[string]rag.Hit
}

func newPlain(passages []rag.Hit) (*plain, error) {
	m := bleve.NewIndexMapping()
	document := mapping.NewDocumentStaticMapping()
	text := mapping.NewTextFieldMapping()
	text.Store, text.IncludeInAll, text.IncludeTermVectors, text.DocValues = false, false, false, false
	document.AddFieldMappingsAt("text", text)
	m.DefaultMapping = document
	index, err := bleve.NewMemOnly(m)
	if err != nil {
		return nil, err
	}
	p := &plain{index: index, hits: map[string]rag.Hit{}}
	batch := index.NewBatch()
	for i, h := range passages {
		id := strconv.Itoa(i)
		p.hits[id] = h
		if err := batch.Index(id, map[string]any{"text": h.Text}); err != nil {
			return nil, err
		}
		if batch.Size() == 1000 || i == len(passages)-1 {
			if err := index.Batch(batch); err != nil {
				return nil, err
			}
			batch.Reset()
		}
	}
	return p, nil
}

func (p *plain) search(ctx context.Context, query string) ([]rag.Hit, error) {
	match := bleve.NewMatchQuery(query)
	match.SetField("text")
	result, err := p.index.SearchInContext(ctx, bleve.NewSearchRequest(match))
	if err != nil {
		return nil, err
	}
	var hits []rag.Hit
	for _, h := range result.Hits {
		hits = append(hits, p.hits[h.ID])
	}
	return hits, nil
}

// ripgrep is what an agent does without an index: search for the query's words, and look at the windows of lines that
// contain most of them.
type ripgrep struct{ dir string }

// window is the number of lines of a hit.
const window = 40

func (r ripgrep) search(ctx context.Context, query string) ([]rag.Hit, error) {
	words := strings.FieldsFunc(query, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 4 })
	if len(words) == 0 {
		return nil, nil
	}
	args := []string{"--json", "--ignore-case", "--word-regexp", "--max-columns", "500"}
	for _, w := range words {
		args = append(args, "-e", w)
	}
	cmd := exec.CommandContext(ctx, "rg", append(args, ".")...)
	cmd.Dir = r.dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	hits, err := rankWindows(out)
	if exit := (*exec.ExitError)(nil); errors.As(cmd.Wait(), &exit) && exit.ExitCode() > 1 {
		return nil, exit
	}
	return hits, err
}

// rankWindows reads ripgrep's matches and returns the windows with the most distinct words.
func rankWindows(out interface{ Read([]byte) (int, error) }) ([]rag.Hit, error) {
	type place struct {
		path string
		from int
	}
	found := map[place]map[string]bool{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var m struct {
			Type string
			Data struct {
				Path       struct{ Text string }
				LineNumber int `json:"line_number"`
				Submatches []struct{ Match struct{ Text string } }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.Type != "match" {
			continue
		}
		at := place{filepath.ToSlash(strings.TrimPrefix(m.Data.Path.Text, "./")), (m.Data.LineNumber - 1) / window * window}
		if found[at] == nil {
			found[at] = map[string]bool{}
		}
		for _, s := range m.Data.Submatches {
			found[at][strings.ToLower(s.Match.Text)] = true
		}
	}
	places := make([]place, 0, len(found))
	for at := range found {
		places = append(places, at)
	}
	sort.Slice(places, func(i, j int) bool {
		a, b := places[i], places[j]
		if n, m := len(found[a]), len(found[b]); n != m {
			return n > m
		}
		return a.path < b.path || a.path == b.path && a.from < b.from
	})
	var hits []rag.Hit
	for _, at := range places[:min(10, len(places))] {
		hits = append(hits, rag.Hit{Path: at.path, Start: at.from + 1, End: at.from + window})
	}
	return hits, lines.Err()
}
