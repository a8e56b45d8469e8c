package rag

import "context"

// Embedder turns texts into vectors. It must be safe for concurrent use.
type Embedder interface {
	// ID names model and dimension. Vectors are compared only when their embedders' IDs are equal; an index
	// whose ID differs gets new vectors on the next Sync.
	ID() string
	Dim() int
	// Embed returns a vector of length Dim for each text, in order.
	Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error)
}

// Purpose says which side of a search a text is on, for models that distinguish them.
type Purpose uint8

const (
	ForDocument Purpose = iota
	ForQuery
)
