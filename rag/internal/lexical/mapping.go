// Package lexical builds, merges and searches immutable bleve indexes of chunks.
//
// The documents of an index are the rows of a segment; a document's ID is its row number.
package lexical

import (
	"encoding/binary"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/registry"
	"github.com/blevesearch/bleve/v2/search/collector"
	index "github.com/blevesearch/bleve_index_api"

	"callgate/rag/internal/terms"
)

// textField is the only field: the terms of a chunk.
const textField = "text"

// analyzerName is the analyzer's name in bleve's registry.
const analyzerName = "callgate"

func init() {
	collector.PreAllocSizeSkipCap = 16 // for each of many indexes, few of which have that many hits
	err := registry.RegisterAnalyzer(analyzerName, func(map[string]any, *registry.Cache) (analysis.Analyzer, error) {
		return analyzer{}, nil
	})
	if err != nil {
		panic(err) // the name is taken: there are two copies of this package
	}
}

// analyzer splits code and prose as package terms does, but lists tokens instead of counting them.
type analyzer struct{}

func (analyzer) Analyze(text []byte) analysis.TokenStream {
	var tokens analysis.TokenStream
	add := func(token []byte) {
		tokens = append(tokens, &analysis.Token{Term: []byte(terms.Stem(string(token))), Position: len(tokens) + 1})
	}
	terms.Tokenize(string(text), add, add)
	return tokens
}

// Document is a chunk with its terms counted.
type Document struct {
	Terms  index.TokenFrequencies
	Length int // in terms
}

// counted is a mapping for Documents. A chunk's terms are counted once, for its vector too, instead of being listed as
// tokens for bleve to count.
type counted struct{ *mapping.IndexMappingImpl }

func newMapping() counted {
	text := bleve.NewTextFieldMapping()
	text.Analyzer, text.Store, text.IncludeInAll, text.IncludeTermVectors, text.DocValues = analyzerName, false, false, false, false
	m := bleve.NewIndexMapping()
	m.DefaultMapping = bleve.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt(textField, text)
	m.DefaultField, m.DefaultAnalyzer, m.ScoringModel = textField, analyzerName, index.BM25Scoring
	return counted{m}
}

func (counted) MapDocument(doc *document.Document, data any) error {
	doc.AddField((*field)(data.(*Document)))
	return nil
}

// field presents a Document as a field of bleve.
type field Document

func (f *field) Name() string                                     { return textField }
func (f *field) Value() []byte                                    { return nil }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return index.IndexField }
func (f *field) AnalyzedLength() int                              { return f.Length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.Terms }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }
func (f *field) Size() int                                        { return 0 }

// idOf returns the document ID of a row. rowOf returns the row of an ID, or -1.
func idOf(row int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(row))) }

func rowOf(id string) int {
	if len(id) != 4 {
		return -1
	}
	return int(binary.BigEndian.Uint32([]byte(id)))
}
