package rag

import "context"

// Embedder turns texts into vectors. It must be safe for concurrent use.
type Embedder interface {
	// ID names the model and its dimension. Vectors can be compared only if their embedders have the same ID. An index
	// with vectors of another ID gets new ones with the next Sync.
	ID() string
	Dim() int
	// Embed returns a vector of length Dim for each text, in order.
	Embed(ctx context.Context, purpose Purpose, texts []string) ([][]float32, error)
}

// Purpose is the side of a search that a text is on, for models that distinguish the two.
type Purpose uint8

const (
	ForDocument Purpose = iota
	ForQuery
)
