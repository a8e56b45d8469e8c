package rag_test

import (
	"context"
	"fmt"
	"os"

	"callgate/rag"
)

func Example() {
	dir, err := os.MkdirTemp("", "rag")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	index, err := rag.Open(dir, rag.Options{})
	if err != nil {
		panic(err)
	}
	defer index.Close()
	ctx := context.Background()
	if err := index.Add(ctx, rag.Document{ID: "deploy", Title: "How we deploy", Text: "Deployments run from the release branch."},
		rag.Document{ID: "tea", Title: "Tea", Text: "The kettle stands in the kitchen."}); err != nil {
		panic(err)
	}
	hits, err := index.Search(ctx, rag.Query{Text: "which branch do we release from"})
	if err != nil {
		panic(err)
	}
	fmt.Println(hits[0].Path, hits[0].Title)
	// Output: deploy How we deploy
}
