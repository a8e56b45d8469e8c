package rag

import (
	"fmt"
	"path"
	"strings"

	"callgate/rag/ignore"
)

// filter says which rows a query is about: those alive, of the sources it asks for.
type filter struct {
	snapshot *snapshot
	query    *Query
	open     bool     // every live source is asked for
	glob     []string // of the path, in segments; nil: any
	sources  [][]state
}

// state is what is known of a source.
type state uint8

const (
	unknown state = iota
	wanted
	unwanted
)

func (f *filter) prepare(snap *snapshot, q *Query) error {
	f.snapshot, f.query, f.glob = snap, q, nil
	f.open = q.Path == "" && q.Language == "" && q.Kind == ""
	if q.Path != "" {
		var err error
		if f.glob, err = parseGlob(q.Path); err != nil {
			return err
		}
	}
	if !f.open {
		f.sources = grown(f.sources, len(snap.parts))
		for i := range snap.parts {
			f.sources[i] = zeroed(f.sources[i], len(snap.parts[i].rows.Sources))
		}
	}
	return nil
}

// parseGlob splits a glob at slashes. One without is for names, at any depth.
func parseGlob(glob string) ([]string, error) {
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	segments := ignore.SplitGlob(glob)
	if len(segments) == 1 {
		segments = []string{"**", segments[0]}
	}
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, fmt.Errorf("%w: path %q: %w", ErrQuery, glob, err)
		}
	}
	return segments, nil
}

// allows reports whether the row of part i is one to look at.
func (f *filter) allows(i, row int) bool {
	p := &f.snapshot.parts[i]
	if p.dead.Contains(uint32(row)) {
		return false
	}
	if f.open {
		return true
	}
	of := p.rows.Source[row]
	known := &f.sources[i][of]
	if *known == unknown {
		*known = unwanted
		if f.wants(&p.rows.Sources[of]) {
			*known = wanted
		}
	}
	return *known == wanted
}

func (f *filter) wants(s *source) bool {
	q := f.query
	return (q.Kind == "" || s.Kind == q.Kind) && (q.Language == "" || strings.EqualFold(s.Language, q.Language)) &&
		(f.glob == nil || ignore.MatchPath(f.glob, s.Path))
}
