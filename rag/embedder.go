package rag

import (
	"context"
	"math"
)

// Embedder turns texts into vectors. It must be safe for concurrent use.
type Embedder interface {
	// ID names model and dimension. Vectors are compared only when their embedders' IDs are equal; an index
	// whose ID differs gets new vectors on the next Sync.
	ID() string
	Dim() int
	// Embed returns a vector of length Dim for each text, in order.
	Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error)
}

// Purpose says which side of a search a text is on: some models want to know.
type Purpose uint8

const (
	ForDocument Purpose = iota
	ForQuery
)

// normalize gives v length 1. The zero vector stays.
func normalize(v []float32) {
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
