package rag

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"callgate/rag/internal/terms"
)

// The table's model card is embed/README.md.
//
//go:embed embed/code-256.bin
var staticModel string

// staticTable is a word embedding table. A text's vector is the normalized sum of its words' rows.
type staticTable struct {
	dim    int
	rows   map[string]int32
	scales string // float32 of each row, little endian
	values string // int8, row by row
}

const staticMagic = 0x53454D31

// loadStatic parses the built-in table on the first call. The numbers stay in the program's image.
var loadStatic = sync.OnceValues(func() (*staticTable, error) { return parseStatic(staticModel) })

func parseStatic(model string) (*staticTable, error) {
	const header = 12
	if len(model) < header || le32(model) != staticMagic {
		return nil, fmt.Errorf("rag: not an embedding table")
	}
	words, dim := int(le32(model[4:])), int(le32(model[8:]))
	scales := model[header:]
	if dim == 0 || words <= 0 || len(scales)/(dim+4) < words {
		return nil, fmt.Errorf("rag: embedding table of %d × %d is cut off", words, dim)
	}
	t := &staticTable{dim: dim, rows: make(map[string]int32, words), scales: scales[:4*words], values: scales[4*words:][:words*dim]}
	n := int32(0)
	for word := range strings.SplitSeq(scales[4*words+words*dim:], "\n") {
		t.rows[word] = n
		n++
	}
	if int(n) != words {
		return nil, fmt.Errorf("rag: embedding table has %d rows and %d words", words, n)
	}
	return t, nil
}

func (t *staticTable) Dim() int { return t.dim }

// Row returns the row of the stemmed word, or -1 if there is none.
func (t *staticTable) Row(word string) int32 {
	if r, ok := t.rows[word]; ok {
		return r
	}
	return -1
}

// AddTo adds the row, times weight, to sum.
func (t *staticTable) AddTo(sum []float32, row int32, weight float32) {
	weight *= math.Float32frombits(le32(t.scales[4*row:]))
	values := t.values[int(row)*t.dim:][:len(sum)]
	for i := range sum {
		sum[i] += weight * float32(int8(values[i]))
	}
}

func le32(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s[:4])) }

// static is the embedder of the built-in table.
type static struct{ table *staticTable }

// Static returns the built-in embedder. It uses a table in the program and no network, and takes microseconds per text.
func Static() (Embedder, error) {
	table, err := loadStatic()
	if err != nil {
		return nil, err
	}
	return &static{table}, nil
}

func (s *static) ID() string { return "static/code-256" }
func (s *static) Dim() int   { return s.table.dim }

func (s *static) Embed(ctx context.Context, _ Purpose, texts []string) ([][]float32, error) {
	a := terms.New(s.table)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		a.Begin()
		a.Add(text)
		vectors[i] = append([]float32(nil), a.Vector()...)
	}
	return vectors, ctx.Err()
}

// Subwords returns the stemmed words by which the built-in table knows a text, in order. Training the table needs them.
func Subwords(text string) []string {
	var words []string
	terms.Tokenize(text, func(token []byte) { words = append(words, terms.Stem(string(token))) }, func([]byte) {})
	return words
}
