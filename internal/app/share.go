package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"callgate/internal/cluster"
	"callgate/internal/retrieval"
	"callgate/internal/upstream"
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
	stop := cluster.Share(r.cluster, cluster.Documents, notes{kb}, dir+".shared.json",
		r.problems.of("the cluster's knowledge base", "documents cannot be shared with the other replicas: "))
	r.onClose(func() error { stop(); return kb.Close() })
	return nil
}

// shareLists shares the last known lists of servers with all replicas. It MUST be called before servers start, so that
// a replica with an empty folder gets the lists early.
func (r *replica) shareLists(cacheDir string) {
	if r == nil {
		return
	}
	stop := cluster.Share(r.cluster, cluster.Lists, lists{upstream.CachedIn(cacheDir)}, cacheDir+".shared.json",
		r.problems.of("the cluster's lists", "lists of servers cannot be shared with the other replicas: "))
	r.onClose(func() error { stop(); return nil })
}

// indexes returns where replicas leave their search indexes, or nil if they do not share them.
func (r *replica) indexes() retrieval.Snapshots {
	if r == nil || !r.config.Cluster.Indexes {
		return nil
	}
	return indexes{r.cluster.Snapshots(), r.log}
}

// indexes holds the search indexes that replicas share, by the names of their folders.
type indexes struct {
	stored *cluster.Snapshots
	log    *slog.Logger
}

// indexEvery is the shortest time between two stored states of an index.
const indexEvery = 10 * time.Minute

func (s indexes) Take(ctx context.Context, dir string) error {
	err := s.stored.Get(ctx, indexName(dir), func(r io.Reader) error {
		restored, err := rag.Restore(ctx, dir, r)
		if restored {
			s.log.Info("cluster: search begins with the index of another replica", "index", filepath.Base(dir))
		}
		return err
	})
	if errors.Is(err, cluster.ErrNoSnapshot) {
		return nil
	}
	return err
}

func (s indexes) Give(ctx context.Context, dir string, index *rag.Index) (current bool, err error) {
	content, err := index.Content()
	if err != nil {
		return false, err
	}
	name := indexName(dir)
	has, at, err := s.stored.Content(ctx, name)
	switch {
	case has == content: // also if there is nothing on either side
		return true, nil
	case err == nil && time.Since(at) < indexEvery:
		return false, nil
	case err != nil && !errors.Is(err, cluster.ErrNoSnapshot):
		return false, err
	}
	if err = s.stored.Put(ctx, name, content, func(w io.Writer) error { return index.Archive(ctx, w) }); err != nil {
		return false, err
	}
	s.log.Info("cluster: other replicas can begin with this index", "index", filepath.Base(dir))
	return true, nil
}

// indexName returns the name of a folder's index. It has the format, so that versions with other formats do not mix.
func indexName(dir string) string { return fmt.Sprintf("%s.%d", filepath.Base(dir), rag.ArchiveFormat) }

// notes presents a knowledge base to the cluster.
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

// lists presents the cache of servers' lists to the cluster.
type lists struct{ upstream.Cached }

var _ cluster.Notes = lists{}

func (l lists) All() ([]cluster.Note, error) {
	servers, err := l.Servers()
	all := make([]cluster.Note, 0, len(servers))
	for key, text := range servers {
		all = append(all, cluster.Note{ID: key, Text: text, Unread: text == ""})
	}
	return all, err
}

func (l lists) Put(_ context.Context, n cluster.Note) error { return l.Cached.Put(n.ID, n.Text) }

func (l lists) Remove(_ context.Context, id string) error { return l.Cached.Remove(id) }
