package terms

import (
	"math"
	"strings"

	index "github.com/blevesearch/bleve_index_api"
)

// Table is a word embedding table. A text's vector is the normalized sum of its words' rows.
type Table interface {
	Dim() int
	Row(stem string) int32 // -1: none
	AddTo(sum []float32, row int32, weight float32)
}

// Analyzer turns texts into terms. It caches the terms of every word, so that a known word costs one lookup instead of
// splitting, stemming and a look into the table. It is not safe for concurrent use: each worker has its own.
type Analyzer struct {
	table Table            // nil: make no vectors
	words map[string]made  // by the word as written
	made  []int32          // the terms of all words: the id of a part, or ^id of a whole identifier
	ids   map[string]int32 // of tokens
	stems map[string]int32
	terms []term

	// The current text.
	touched []int32
	length  int
	sum     []float32
}

// made locates the terms of a word: [from, to) of Analyzer.made.
type made struct{ from, to uint32 }

// term is a stem with its count in the current text.
type term struct {
	stem  string
	bytes []byte // the stem again, as bleve wants it
	row   int32  // of the static table, -1: none
	count int32
	parts int32 // count without whole identifiers, which the table does not know
}

// maxTerms bounds the memory of an Analyzer. After that many tokens or words it empties its cache.
const maxTerms = 1 << 16

// New returns an analyzer. Without a table it makes no vectors.
func New(table Table) *Analyzer {
	a := &Analyzer{table: table}
	a.forget()
	if table != nil {
		a.sum = make([]float32, table.Dim())
	}
	return a
}

func (a *Analyzer) forget() {
	a.words, a.made = map[string]made{}, nil
	a.ids, a.stems, a.terms = map[string]int32{}, map[string]int32{}, nil
}

// Begin starts a new text.
func (a *Analyzer) Begin() {
	for _, id := range a.touched {
		a.terms[id].count, a.terms[id].parts = 0, 0
	}
	a.touched, a.length = a.touched[:0], 0
	if len(a.ids) > maxTerms || len(a.words) > maxTerms {
		a.forget()
	}
}

// Add adds s to the text.
func (a *Analyzer) Add(s string) {
	eachWord(s, func(word string) {
		of, ok := a.words[word]
		if !ok {
			of = a.takeApart(word)
		}
		for _, id := range a.made[of.from:of.to] {
			if id < 0 {
				a.count(^id)
			} else {
				a.count(id).parts++
			}
		}
	})
}

// takeApart splits a new word and stores its terms.
func (a *Analyzer) takeApart(word string) made {
	of := made{from: uint32(len(a.made))}
	tokenizeWord(word,
		func(token []byte) { a.made = append(a.made, a.id(token)) },
		func(token []byte) { a.made = append(a.made, ^a.id(token)) })
	of.to = uint32(len(a.made))
	a.words[strings.Clone(word)] = of // so as not to keep the file's text in memory
	return of
}

func (a *Analyzer) id(token []byte) int32 {
	if id, ok := a.ids[string(token)]; ok {
		return id
	}
	return a.learn(string(token))
}

func (a *Analyzer) count(id int32) *term {
	t := &a.terms[id]
	if t.count == 0 {
		a.touched = append(a.touched, id)
	}
	t.count++
	a.length++
	return t
}

// learn maps the token to the id of its stem.
func (a *Analyzer) learn(token string) int32 {
	s := Stem(token)
	id, ok := a.stems[s]
	if !ok {
		id = int32(len(a.terms))
		t := term{stem: s, bytes: []byte(s), row: -1}
		if a.table != nil {
			t.row = a.table.Row(s)
		}
		a.terms = append(a.terms, t)
		a.stems[s] = id
	}
	a.ids[token] = id
	return id
}

// Length returns the number of terms of the text.
func (a *Analyzer) Length() int { return a.length }

// Embeds reports whether the analyzer makes vectors.
func (a *Analyzer) Embeds() bool { return a.table != nil }

// Frequencies returns the terms of the text for bleve.
func (a *Analyzer) Frequencies() index.TokenFrequencies {
	slab := make([]index.TokenFreq, len(a.touched))
	freqs := make(index.TokenFrequencies, len(a.touched))
	for i, id := range a.touched {
		t := &a.terms[id]
		slab[i].Term = t.bytes
		slab[i].SetFrequency(int(t.count))
		freqs[t.stem] = &slab[i]
	}
	return freqs
}

// Vector returns the unit vector of the text, valid until the next call. It is zero if the table knows no word of the
// text.
func (a *Analyzer) Vector() []float32 {
	clear(a.sum)
	for _, id := range a.touched {
		if t := &a.terms[id]; t.row >= 0 && t.parts > 0 {
			a.table.AddTo(a.sum, t.row, float32(math.Sqrt(float64(t.parts))))
		}
	}
	Normalize(a.sum)
	return a.sum
}

// Normalize scales v to length 1. It sets v to zero if that is impossible.
func Normalize(v []float32) {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 || math.IsInf(square, 0) || math.IsNaN(square) {
		clear(v)
		return
	}
	k := float32(1 / math.Sqrt(square))
	for i := range v {
		v[i] *= k
	}
}
