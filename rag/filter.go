package rag

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/rag/chunks"
	"callgate/rag/ignore"
)

// ErrQuery means that a query is malformed.
var ErrQuery = errors.New("not a query")

// Check returns an error that wraps ErrQuery if the query has an invalid glob or an unknown kind or language.
func (q *Query) Check() error {
	if _, err := parseGlob(q.Path); err != nil {
		return err
	}
	if kinds := []Kind{KindCode, KindDoc, KindConfig, KindNote, KindTool}; q.Kind != "" && !slices.Contains(kinds, q.Kind) {
		return fmt.Errorf("%w: kind %q: use %s", ErrQuery, q.Kind, kinds)
	}
	if _, known := chunks.Named(q.Language); !known && q.Language != "" {
		return fmt.Errorf("%w: language %q: use %s", ErrQuery, q.Language, strings.Join(chunks.Names(), ", "))
	}
	return nil
}

// filter decides which rows a query may return: live rows of the sources that it asks for.
type filter struct {
	snapshot *snapshot
	query    *Query
	open     bool     // every live source is allowed
	glob     []string // of the path, in segments; nil: any
	whole    []string // of the absolute path; nil: only glob counts
	within   string   // the folder, with a slash; "": the workspace
	language string
	sources  [][]state
}

// state caches whether a query wants a source.
type state uint8

const (
	unknown state = iota
	wanted
	unwanted
)

func (f *filter) prepare(snap *snapshot, q *Query) error {
	f.snapshot, f.query, f.glob, f.whole, f.within = snap, q, nil, nil, ""
	f.language, _ = chunks.Named(q.Language)
	if within := path.Clean(q.Within); within != "." {
		f.within = within + "/"
	}
	var err error
	if q.Path != "" {
		f.glob, err = parseGlob(q.Path)
	}
	if err == nil && filepath.IsAbs(q.Path) {
		f.whole, err = parseGlob(resolveGlob(q.Path))
	}
	if err != nil {
		return err
	}
	f.open = q.Path == "" && q.Language == "" && q.Kind == "" && f.within == ""
	if !f.open {
		f.sources = grown(f.sources, len(snap.parts))
		for i := range snap.parts {
			f.sources[i] = zeroed(f.sources[i], len(snap.parts[i].rows.Sources))
		}
	}
	return nil
}

// resolveGlob returns an absolute glob with links resolved in the folders before the first wildcard. A glob that names
// a folder stands for its files. It asks no other machine: it leaves alone a share's name, which a model may give.
func resolveGlob(glob string) string {
	if glob = filepath.ToSlash(glob); strings.HasPrefix(glob, "//") {
		return glob
	}
	literal := glob
	if at := strings.IndexAny(glob, `*?[\`); at >= 0 {
		literal = glob[:strings.LastIndexByte(glob[:at], '/')+1]
	}
	target, err := filepath.EvalSymlinks(filepath.FromSlash(literal))
	if err != nil {
		return glob
	}
	rest := glob[len(literal):]
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		rest = "/" + cmp.Or(rest, "**")
	}
	return filepath.ToSlash(target) + rest
}

// parseGlob splits a glob at slashes. A glob without slashes matches names at any depth.
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

// allows reports whether the query may return the row of part i.
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
	if q.Kind != "" && s.Kind != q.Kind || q.Language != "" && s.Language != f.language {
		return false
	}
	name, inside := strings.CutPrefix(s.Path, f.within)
	if f.within != "" && (s.Document || !inside) {
		return false
	}
	return f.glob == nil || ignore.MatchPath(f.glob, name) || f.whole != nil && !s.Document && ignore.MatchPath(f.whole, f.absolute(s))
}

// absolute returns the absolute path of a file without the leading slash, as parseGlob reads globs.
func (f *filter) absolute(s *source) string {
	return strings.TrimPrefix(path.Join(filepath.ToSlash(f.snapshot.manifest.Root), s.Path), "/")
}
