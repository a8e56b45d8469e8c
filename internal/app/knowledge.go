package app

import (
	"context"

	"callgate/internal/cluster"
	"callgate/rag"
)

// shareKnowledge shares the knowledge base in a folder with all replicas.
func (r *replica) shareKnowledge(dir string, o rag.Options) error {
	if r == nil {
		return nil
	}
	kb, err := rag.OpenKB(dir, o)
	if err != nil {
		return err
	}
	stop := cluster.ShareKnowledge(r.cluster, notes{kb}, dir+".shared.json",
		r.problems.of("the cluster's knowledge base", "documents cannot be shared with the other replicas: "))
	r.onClose(func() error { stop(); return kb.Close() })
	return nil
}

// notes is a knowledge base as its cluster knows it.
type notes struct{ kb *rag.KB }

var _ cluster.Notes = notes{}

func (n notes) Version() (string, error) { return n.kb.Version() }

func (n notes) All() ([]cluster.Note, error) {
	documents, err := n.kb.Documents()
	if err != nil {
		return nil, err
	}
	all := make([]cluster.Note, len(documents))
	for i, d := range documents {
		all[i] = cluster.Note{ID: d.ID, Text: d.Text, Metadata: d.Metadata}
	}
	return all, nil
}

func (n notes) Put(ctx context.Context, note cluster.Note) error {
	return n.kb.Put(ctx, rag.Document{ID: note.ID, Text: note.Text, Metadata: note.Metadata})
}

func (n notes) Remove(ctx context.Context, id string) error {
	_, err := n.kb.Remove(ctx, id)
	return err
}
