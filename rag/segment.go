package rag

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"callgate/internal/durable"
	"callgate/rag/internal/lexical"
)

// segment is an immutable part of an index: words, rows and vectors of the same chunks. An index changes by adding
// segments and marking rows of older ones dead.
type segment struct {
	name     string
	embedder string    // ID of the embedder of the vectors, "" if it failed
	files    []fileSum // as written: rows, vectors, then the files of the words' folder; nil in memory
	words    *lexical.Index
	rows     *rows
	vectors  *vectors

	refs atomic.Int32

	turnOnce sync.Once
	byRow    rowIndex // the rows' symbol table, built on first use
}

// defines returns the names that the row defines, as indices into rows.Names.
func (s *segment) defines(row int) []uint32 {
	s.turnOnce.Do(func() { s.byRow = s.rows.byRow() })
	return s.byRow.of(row)
}

// File name suffixes of a segment. The vectors have their own file because a new embedder replaces only them.
const (
	wordsSuffix   = ".bleve" // a folder
	rowsSuffix    = ".rows"
	vectorsSuffix = ".vec"
)

func (s *segment) retain() *segment {
	s.refs.Add(1)
	return s
}

// release gives up a reference. The last one closes the files.
func (s *segment) release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	return s.words.Close()
}

// part is a segment as part of a snapshot.
type part struct {
	*segment
	dead *roaring.Bitmap // dead rows; never nil, never changed once a snapshot has it
}

func (p *part) live() int { return p.rows.len() - int(p.dead.GetCardinality()) }

// liveSource reports whether the source is live. A source has at least one row, and its rows live and die together.
func (p *part) liveSource(s *source) bool { return !p.dead.Contains(uint32(s.First)) }

// vectorsOf reports whether the part's vectors can be compared with e's.
func (p *part) vectorsOf(e Embedder) bool { return p.embedder == e.ID() && p.vectors.Dim == e.Dim() }

// write stores the segment and opens it. build makes the folder of words.
func (s *segment) write(d *disk, build func(dir string) error) error {
	words, err := d.folder(s.name+wordsSuffix, build)
	if err != nil {
		return err
	}
	rows, err := d.write(s.name+rowsSuffix, s.rows.encode)
	if err != nil {
		return err
	}
	vectors, err := d.write(s.name+vectorsSuffix, s.vectors.encode)
	if err != nil {
		return err
	}
	s.files = append([]fileSum{rows, vectors}, words...)
	s.words, err = lexical.Open(d.path(s.name+wordsSuffix), s.rows.Length) // this frees what it was built from
	return err
}

// errDamaged means that a file does not hold what was written.
var errDamaged = errors.New("damaged")

// openSegment opens the segment of a manifest entry. It checks every byte first, because bleve trusts its files.
func openSegment(d *disk, e *entry) (*segment, error) {
	words := e.wordsFolder()
	if words == "" {
		return nil, fmt.Errorf("segment %s: %w: files of the segment are missing", e.Name, errDamaged)
	}
	for _, want := range e.Files {
		if err := d.verify(want); err != nil {
			return nil, err
		}
	}
	s := &segment{name: e.Name, embedder: e.Embedder, files: e.Files, rows: &rows{}, vectors: &vectors{}}
	if err := decode(d.path(e.Files[0].Name), s.rows); err != nil {
		return nil, err
	}
	if err := decode(d.path(e.Files[1].Name), s.vectors); err != nil {
		return nil, err
	}
	if !s.rows.valid() || !s.vectors.valid() || s.vectors.len() != s.rows.len() {
		return nil, fmt.Errorf("segment %s: %w: its numbers do not fit together", e.Name, errDamaged)
	}
	var err error
	if s.words, err = lexical.Open(d.path(words), s.rows.Length); err != nil {
		for _, want := range e.Files { // another process may have removed it, which bleve does not report
			if err := d.verify(want); err != nil {
				return nil, err
			}
		}
		return nil, fmt.Errorf("segment %s: %w: %w", e.Name, errDamaged, err)
	}
	return s, nil
}

func (r *rows) encode(w io.Writer) error    { return encode(w, r) }
func (m *vectors) encode(w io.Writer) error { return encode(w, m) }

func encode(w io.Writer, v any) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := gob.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	return b.Flush()
}

func decode(path string, v any) error {
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := gob.NewDecoder(bufio.NewReaderSize(f, 1<<16)).Decode(v); err != nil {
		return fmt.Errorf("%s: %w: %w", path, errDamaged, err)
	}
	return nil
}

// mergeRows returns the live rows of all parts, in order, with their vectors. For each part it also returns the new
// number of each row, or -1 if the row is left out. Sources without a live row are left out.
func mergeRows(parts []part) (*rows, *vectors, [][]int) {
	all := make([][]int, len(parts))
	r, m := &rows{}, &vectors{Dim: parts[0].vectors.Dim}
	table := symbols{}
	for i := range parts {
		p := &parts[i]
		moved := make([]int, p.rows.len())
		all[i] = moved
		for j := range p.rows.Sources {
			s := p.rows.Sources[j]
			if !p.liveSource(&s) {
				for row := s.First; row < s.First+s.Rows; row++ {
					moved[row] = -1
				}
				continue
			}
			from, n := s.First, s.Rows
			s.First, s.Rows = r.len(), 0
			r.Sources = append(r.Sources, s)
			for row := from; row < from+n; row++ {
				moved[row] = r.len()
				r.appendRow(p.rows, row)
				m.appendRow(p.vectors, row)
			}
		}
		for j, name := range p.rows.Names {
			for _, row := range p.rows.definedAt(j) {
				if moved[row] >= 0 {
					table.add(name, moved[row])
				}
			}
		}
	}
	table.writeTo(r)
	m.fit()
	return r, m, all
}
