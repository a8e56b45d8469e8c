package rag

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// This file is the only one that knows bleve: postings are its segments (zap), which are built, opened and
// merged here without its index around them. An index directory of bleve has one process that holds it open;
// immutable segments can be read by all.

// termsField is the only field: the terms of a chunk.
const termsField = "t"

// postings is an open segment of bleve. It is safe for concurrent use.
type postings struct {
	segment scorch.Segment
}

// posting is a chunk of a term: how often it has it.
type posting struct {
	row   uint32
	count uint32
}

// buildPostings makes a segment in memory. The row of a text is its place in docs.
func buildPostings(docs []index.TokenFrequencies, lengths []uint32) (*postings, error) {
	documents := make([]index.Document, len(docs))
	for i := range docs {
		documents[i] = newDocument(uint32(i), int(lengths[i]), docs[i])
	}
	segment, _, err := new(zap.ZapPlugin).New(documents)
	if err != nil {
		return nil, fmt.Errorf("rag: build postings: %w", err)
	}
	return &postings{segment}, nil
}

func openPostings(path string) (*postings, error) {
	segment, err := new(zap.ZapPlugin).Open(path)
	if err != nil {
		return nil, err
	}
	return &postings{segment}, nil
}

// WriteTo writes a segment that was built, so that openPostings reads it.
func (p *postings) WriteTo(w io.Writer) (int64, error) {
	return p.segment.(io.WriterTo).WriteTo(w)
}

// rest gives up the memory of the file, if there is one.
func (p *postings) rest() error {
	if s, ok := p.segment.(*zap.Segment); ok {
		return giveUp(s.Data())
	}
	return nil
}

func (p *postings) close() error { return p.segment.Close() }

// mergePostings writes to path the live rows of all segments, in order.
func mergePostings(path string, from []*postings, dead []*roaring.Bitmap) error {
	segments := make([]scorch.Segment, len(from))
	for i, p := range from {
		segments[i] = p.segment
	}
	_, _, err := new(zap.ZapPlugin).Merge(segments, dead, path, nil, nil)
	return err
}

// find appends to dst the postings of the term, rows in dead left out.
func (p *postings) find(term string, dead *roaring.Bitmap, dst []posting) ([]posting, error) {
	dictionary, err := p.segment.Dictionary(termsField)
	if err != nil {
		return dst, err
	}
	list, err := dictionary.PostingsList([]byte(term), dead, nil)
	if err != nil {
		return dst, err
	}
	it := list.Iterator(true, false, false, nil)
	for {
		next, err := it.Next()
		if err != nil || next == nil {
			return dst, err
		}
		dst = append(dst, posting{uint32(next.Number()), uint32(next.Frequency())})
	}
}

// document is a chunk as bleve takes it: counted terms, ready made. bleve visits the fields several times.
type document struct {
	id     field
	terms  field
	number string
}

func newDocument(row uint32, length int, freqs index.TokenFrequencies) *document {
	id := binary.BigEndian.AppendUint32(nil, row)
	d := &document{number: string(id)}
	d.id = field{name: "_id", value: id, options: index.IndexField | index.StoreField, length: 1,
		freqs: index.TokenFrequencies{d.number: &index.TokenFreq{Term: id}}}
	d.terms = field{name: termsField, options: index.IndexField, length: length, freqs: freqs}
	return d
}

func (d *document) ID() string                                 { return d.number }
func (d *document) Size() int                                  { return 0 }
func (d *document) VisitComposite(index.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) AddIDField()                                {}
func (d *document) StoredFieldsBytes() uint64                  { return 0 }
func (d *document) Indexed() bool                              { return true }

func (d *document) VisitFields(visit index.FieldVisitor) {
	visit(&d.id)
	visit(&d.terms)
}

type field struct {
	name    string
	value   []byte
	options index.FieldIndexingOptions
	length  int
	freqs   index.TokenFrequencies
}

func (f *field) Name() string                                     { return f.name }
func (f *field) Value() []byte                                    { return f.value }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return f.length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.freqs }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }

var (
	_ index.Document = (*document)(nil)
	_ index.Field    = (*field)(nil)
)
