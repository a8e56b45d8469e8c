package rag

import (
	"slices"
	"sort"
	"strings"
	"time"

	"callgate/rag/chunks"
	"callgate/rag/internal/terms"
)

// source is a file or a document. Its chunks are added and removed together.
type source struct {
	Path     string // for a file: relative to the workspace, with slashes. For a document: its ID
	Document bool
	Language string
	Kind     Kind
	Aside    bool // a test, an example, a mock: rarely what the user looks for
	Hash     [16]byte
	Size     int64
	ModTime  time.Time
	Read     time.Time // when it was read: a file changed at that moment may have changed again

	// For documents only.
	Title    string
	Text     string
	Metadata map[string]string

	First, Rows int // its rows
}

// rows describes the chunks of a segment. A row's number is also its document number in the postings and its row in the
// vectors.
type rows struct {
	Sources []source
	Source  []uint32 // index into Sources
	Start   []uint32 // lines
	End     []uint32
	Length  []uint32 // in terms
	Symbol  []string

	// The symbol table: Names is sorted, and Names[i] is defined in the rows Defined[Until[i-1]:Until[i]].
	Names   []string
	Until   []uint32
	Defined []uint32
}

func (r *rows) len() int { return len(r.Source) }

// add appends c as a row of the last source.
func (r *rows) add(c *chunks.Chunk, length int) {
	s := len(r.Sources) - 1
	r.Sources[s].Rows++
	r.Source = append(r.Source, uint32(s))
	r.Start = append(r.Start, uint32(c.Start))
	r.End = append(r.End, uint32(c.End))
	r.Length = append(r.Length, uint32(length))
	r.Symbol = append(r.Symbol, strings.Clone(c.Symbol)) // so as not to keep the file's text in memory
}

// appendRow copies row i of from to the last source.
func (r *rows) appendRow(from *rows, i int) {
	r.Sources[len(r.Sources)-1].Rows++
	r.Source = append(r.Source, uint32(len(r.Sources)-1))
	r.Start = append(r.Start, from.Start[i])
	r.End = append(r.End, from.End[i])
	r.Length = append(r.Length, from.Length[i])
	r.Symbol = append(r.Symbol, from.Symbol[i])
}

// symbols is a symbol table under construction: the rows that define each name.
type symbols map[string][]uint32

func (s symbols) add(name string, row int) {
	at, ok := s[name]
	if !ok {
		name = strings.Clone(name)
	}
	if len(at) == 0 || at[len(at)-1] != uint32(row) {
		s[name] = append(at, uint32(row))
	}
}

// writeTo sorts the table and stores it in r.
func (s symbols) writeTo(r *rows) {
	r.Names = make([]string, 0, len(s))
	for name := range s {
		r.Names = append(r.Names, name)
	}
	slices.Sort(r.Names)
	r.Until, r.Defined = make([]uint32, len(r.Names)), nil
	for i, name := range r.Names {
		r.Defined = append(r.Defined, s[name]...)
		r.Until[i] = uint32(len(r.Defined))
	}
}

// defined returns the rows that define name.
func (r *rows) defined(name string) []uint32 {
	i := sort.SearchStrings(r.Names, name)
	if i == len(r.Names) || r.Names[i] != name {
		return nil
	}
	return r.definedAt(i)
}

// definedAt returns the rows that define Names[i].
func (r *rows) definedAt(i int) []uint32 {
	from := uint32(0)
	if i > 0 {
		from = r.Until[i-1]
	}
	return r.Defined[from:r.Until[i]]
}

// rowIndex is a symbol table indexed by row: row defines the names at names[until[row-1]:until[row]].
type rowIndex struct {
	until, names []uint32
}

// byRow returns r's symbol table indexed by row.
func (r *rows) byRow() rowIndex {
	t := rowIndex{until: make([]uint32, r.len()+1), names: make([]uint32, len(r.Defined))}
	for _, row := range r.Defined {
		t.until[row+1]++
	}
	for i := 1; i < len(t.until); i++ {
		t.until[i] += t.until[i-1]
	}
	for name := range r.Names {
		for _, row := range r.definedAt(name) {
			t.names[t.until[row]] = uint32(name)
			t.until[row]++
		}
	}
	return t
}

// of returns the names that the row defines, as indices into rows.Names.
func (t *rowIndex) of(row int) []uint32 {
	from := uint32(0)
	if row > 0 {
		from = t.until[row-1]
	}
	return t.names[from:t.until[row]]
}

// valid reports whether the numbers are consistent, so that no lookup can fail.
func (r *rows) valid() bool {
	n := r.len()
	if len(r.Start) != n || len(r.End) != n || len(r.Length) != n || len(r.Symbol) != n ||
		len(r.Names) != len(r.Until) || !slices.IsSorted(r.Names) || !slices.IsSorted(r.Until) ||
		len(r.Until) > 0 && int(r.Until[len(r.Until)-1]) != len(r.Defined) {
		return false
	}
	next := 0
	for i := range r.Sources {
		s := &r.Sources[i]
		if s.First != next || s.Rows < 1 || s.Rows > n-next {
			return false
		}
		for _, of := range r.Source[next : next+s.Rows] {
			if of != uint32(i) {
				return false
			}
		}
		next += s.Rows
	}
	for _, row := range r.Defined {
		if int(row) >= n {
			return false
		}
	}
	return next == n
}

// aside reports whether path looks like a test, an example, a mock or a mere declaration file.
func aside(path string) bool {
	if strings.HasSuffix(strings.ToLower(path), ".d.ts") {
		return true
	}
	dir, base := "", strings.ToLower(path)
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, base = path[:i], base[i+1:]
	}
	for part := range strings.SplitSeq(dir, "/") {
		if asideDirs[strings.ToLower(part)] || asideDirs[lastWord(part)] {
			return true
		}
	}
	stem, _, _ := strings.Cut(base, ".")
	return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_spec") ||
		strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") ||
		strings.HasSuffix(stem, "tests") || len(stem) > 4 && strings.HasSuffix(stem, "test") || len(stem) > 4 && strings.HasSuffix(stem, "spec")
}

var asideDirs = terms.Set(`test tests __tests__ spec specs testing testdata fixture fixtures mock mocks example examples
	_examples sample samples demo demos docs_src bench benches benchmark benchmarks compat legacy`)

// lastWord returns the last word of a name: tests for Project.Tests, integration-tests and jvmTests.
func lastWord(name string) string {
	last := ""
	terms.Tokenize(name, func(part []byte) { last = string(part) }, func([]byte) {})
	return last
}
