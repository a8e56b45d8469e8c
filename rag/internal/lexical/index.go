package lexical

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
)

// Index is an open, immutable index. It is safe for concurrent use.
type Index struct {
	bleve   bleve.Index
	reader  index.IndexReader
	onDisk  bool
	rows    []uint32  // by bleve's document number, which follows no order
	numbers []uint32  // by row
	lengths []float32 // in terms, by document number
	owners  atomic.Int32
}

// batchSize is how many documents bleve builds at a time. Memory grows with it.
const batchSize = 4096

// Build makes an index in the new folder dir. Row i is docs[i]. docs MUST NOT be empty.
func Build(dir string, docs []Document) error {
	return build(dir, func(add func(row int, d *Document) error) error {
		for i := range docs {
			if err := add(i, &docs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func build(dir string, each func(add func(row int, d *Document) error) error) error {
	b, err := bleve.NewBuilder(dir, newMapping(), map[string]any{"buildPathPrefix": dir, "batchSize": batchSize})
	if err == nil {
		err = each(func(row int, d *Document) error { return b.Index(idOf(row), d) })
	}
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		return fmt.Errorf("rag: build the word index: %w", err)
	}
	return nil
}

// InMemory makes an index in memory.
func InMemory(docs []Document) (*Index, error) {
	b, err := bleve.NewUsing("", newMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	batch := b.NewBatch()
	for i := range docs {
		if err := batch.Index(idOf(i), &docs[i]); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	if err := b.Batch(batch); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	lengths := make([]uint32, len(docs))
	for i := range docs {
		lengths[i] = uint32(docs[i].Length)
	}
	return open(b, lengths)
}

// Open opens the index in the folder dir. lengths are the lengths of its rows, in terms. bleve takes a shared lock, so
// any number of processes can open it.
func Open(dir string, lengths []uint32) (*Index, error) {
	b, err := bleve.OpenUsing(dir, map[string]any{"read_only": true})
	if err != nil {
		return nil, err
	}
	x, err := open(b, lengths)
	if err != nil {
		return nil, err
	}
	x.onDisk = true
	return x, nil
}

var opened atomic.Uint64

// open takes over b. It closes b after an error.
func open(b bleve.Index, lengths []uint32) (*Index, error) {
	b.SetName(strconv.FormatUint(opened.Add(1), 10)) // an alias tells its indexes apart by name
	x := &Index{bleve: b}
	x.owners.Store(1)
	err := x.read(lengths)
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *Index) read(lengths []uint32) error {
	i, err := x.bleve.Advanced()
	if err != nil {
		return err
	}
	if x.reader, err = i.Reader(); err != nil {
		return err
	}
	n, err := x.reader.DocCount()
	if err != nil {
		return err
	}
	if n != uint64(len(lengths)) {
		return fmt.Errorf("%d documents, not %d", n, len(lengths))
	}
	x.rows, x.numbers, x.lengths = make([]uint32, n), make([]uint32, n), make([]float32, n)
	seen := make([]bool, n)
	id := index.NewIndexInternalID(nil, 0)
	for number := range n {
		id.SetValue(number)
		name, err := x.reader.ExternalID(id)
		if err != nil {
			return err
		}
		row := rowOf(name)
		if row < 0 || row >= len(seen) || seen[row] {
			return fmt.Errorf("document %d of %d is called %q", number, n, name)
		}
		seen[row] = true
		x.rows[number], x.numbers[row], x.lengths[number] = uint32(row), uint32(number), float32(lengths[row])
	}
	return nil
}

// Rows returns the number of rows.
func (x *Index) Rows() int { return len(x.rows) }

// Rest releases the memory of mapped files, if there are any.
func (x *Index) Rest() error {
	snapshot, ok := x.reader.(*scorch.IndexSnapshot)
	if !ok || !x.onDisk {
		return nil
	}
	var failed []error
	for _, s := range snapshot.Segments() {
		if file, ok := s.Segment().(interface{ Data() []byte }); ok {
			failed = append(failed, releasePages(file.Data()))
		}
	}
	return errors.Join(failed...)
}

// Retain adds an owner, which MUST close the index too.
func (x *Index) Retain() *Index {
	x.owners.Add(1)
	return x
}

// Close closes the index once its last owner has called it.
func (x *Index) Close() error {
	if x.owners.Add(-1) > 0 {
		return nil
	}
	var err error
	if x.reader != nil {
		err = x.reader.Close()
	}
	return errors.Join(err, x.bleve.Close())
}

// eachPosting calls do with every document that has the term, and its number in bleve.
func eachPosting(ctx context.Context, r index.IndexReader, term []byte, do func(number uint64, d *index.TermFieldDoc)) error {
	found, err := r.TermFieldReader(ctx, term, textField, true, false, false)
	if err != nil {
		return err
	}
	return eachOf(found, do)
}

func eachOf(found index.TermFieldReader, do func(number uint64, d *index.TermFieldDoc)) (err error) {
	defer func() { err = errors.Join(err, found.Close()) }()
	var d index.TermFieldDoc
	for {
		next, err := found.Next(&d)
		if err != nil || next == nil {
			return err
		}
		do(next.ID.Value(), next)
	}
}

// Merge makes an index of the rows of all indexes in the new folder dir. moved[i][row] is the new number of a row, or
// -1 to leave it out.
func Merge(dir string, from []*Index, moved [][]int) error {
	return build(dir, func(add func(row int, d *Document) error) error {
		for i, x := range from {
			docs, err := x.documents(moved[i])
			if err != nil {
				return err
			}
			for row := range docs {
				if to := moved[i][row]; to >= 0 {
					if err := add(to, &docs[row]); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// documents rebuilds the documents of the rows that moved keeps.
func (x *Index) documents(moved []int) (docs []Document, err error) {
	docs = make([]Document, len(x.rows))
	for i := range docs {
		docs[i].Terms = index.TokenFrequencies{}
	}
	dictionary, err := x.reader.FieldDict(textField)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dictionary.Close()) }()
	for {
		entry, err := dictionary.Next()
		if err != nil || entry == nil {
			return docs, err
		}
		term := []byte(entry.Term)
		err = eachPosting(context.Background(), x.reader, term, func(number uint64, d *index.TermFieldDoc) {
			row := x.rows[number]
			if moved[row] < 0 {
				return
			}
			freq := &index.TokenFreq{Term: term}
			freq.SetFrequency(int(d.Freq))
			docs[row].Terms[entry.Term] = freq
			docs[row].Length += int(d.Freq)
		})
		if err != nil {
			return nil, err
		}
	}
}
