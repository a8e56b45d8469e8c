package rag

import (
	"math"
	"strings"

	index "github.com/blevesearch/bleve_index_api"
)

// analyzer turns texts into terms. It remembers every word that it has seen and the terms that it is made of, so
// that a word costs one look-up: taking it apart, stemming and the static table are paid once. It is not safe for
// concurrent use: each worker has its own.
type analyzer struct {
	table *staticTable     // nil: no vectors wanted
	words map[string]made  // as they are written
	made  []int32          // the terms of all words: a part's id, or ^id of a whole identifier
	ids   map[string]int32 // of tokens
	stems map[string]int32
	terms []term

	// The text at hand.
	touched []int32
	length  int
	sum     []float32
}

// made is where the terms of a word are, [from, to) of analyzer.made.
type made struct{ from, to uint32 }

// term is a stem and how often it is in the text at hand.
type term struct {
	stem  string
	bytes []byte // the stem again, as bleve wants it
	row   int32  // of the static table, -1: none
	count int32
	parts int32 // count without whole identifiers, which the table does not know
}

// maxTerms bounds the memory of an analyzer: beyond that many tokens, or words, it forgets.
const maxTerms = 1 << 16

func newAnalyzer(table *staticTable) *analyzer {
	a := &analyzer{table: table}
	a.forget()
	if table != nil {
		a.sum = make([]float32, table.dim)
	}
	return a
}

func (a *analyzer) forget() {
	a.words, a.made = map[string]made{}, nil
	a.ids, a.stems, a.terms = map[string]int32{}, map[string]int32{}, nil
}

// begin starts a new text.
func (a *analyzer) begin() {
	for _, id := range a.touched {
		a.terms[id].count, a.terms[id].parts = 0, 0
	}
	a.touched, a.length = a.touched[:0], 0
	if len(a.ids) > maxTerms || len(a.words) > maxTerms {
		a.forget()
	}
}

// add adds s to the text.
func (a *analyzer) add(s string) {
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

// takeApart learns the terms of a word.
func (a *analyzer) takeApart(word string) made {
	of := made{from: uint32(len(a.made))}
	tokenizeWord(word,
		func(token []byte) { a.made = append(a.made, a.id(token)) },
		func(token []byte) { a.made = append(a.made, ^a.id(token)) })
	of.to = uint32(len(a.made))
	a.words[strings.Clone(word)] = of // not to hold on to the file's text
	return of
}

func (a *analyzer) id(token []byte) int32 {
	if id, ok := a.ids[string(token)]; ok {
		return id
	}
	return a.learn(string(token))
}

func (a *analyzer) count(id int32) *term {
	t := &a.terms[id]
	if t.count == 0 {
		a.touched = append(a.touched, id)
	}
	t.count++
	a.length++
	return t
}

// learn gives the token the id of its stem.
func (a *analyzer) learn(token string) int32 {
	s := stem(token)
	id, ok := a.stems[s]
	if !ok {
		id = int32(len(a.terms))
		t := term{stem: s, bytes: []byte(s), row: -1}
		if a.table != nil {
			t.row = a.table.row(s)
		}
		a.terms = append(a.terms, t)
		a.stems[s] = id
	}
	a.ids[token] = id
	return id
}

// frequencies returns the terms of the text for bleve.
func (a *analyzer) frequencies() index.TokenFrequencies {
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

// vector returns the unit vector of the text by the static table, valid until the next call. A text of which
// the table knows no word has the zero vector.
func (a *analyzer) vector() []float32 {
	clear(a.sum)
	for _, id := range a.touched {
		if t := &a.terms[id]; t.row >= 0 && t.parts > 0 {
			a.table.addTo(a.sum, t.row, float32(math.Sqrt(float64(t.parts))))
		}
	}
	normalize(a.sum)
	return a.sum
}
