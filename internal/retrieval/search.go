package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"callgate/rag"
)

// Hit is a passage of a workspace.
type Hit struct {
	Root string `json:"root"` // the workspace, or the folder in it that was searched
	rag.Hit
}

// File returns the absolute path of the file.
func (h *Hit) File() string { return filepath.Join(h.Root, filepath.FromSlash(h.Path)) }

// Answer is the result of a search.
type Answer struct {
	Hits []Hit `json:"hits"` // best first
	// Note says why there may be more to find: an unfinished index, or a workspace that cannot be searched.
	Note string `json:"note,omitempty"`
}

// FileKinds are the kinds that a search of workspaces can ask for.
var FileKinds = []rag.Kind{rag.KindCode, rag.KindDoc, rag.KindConfig}

// check returns an error for a query that no workspace can answer.
func check(q rag.Query) error {
	if q.Kind != "" && !slices.Contains(FileKinds, q.Kind) {
		return fmt.Errorf("%w: kind %q: use code, doc or config", rag.ErrQuery, q.Kind)
	}
	return q.Check()
}

// firstPatience is how long a search waits for an index that is being built.
const firstPatience = 5 * time.Second

// Search searches the workspaces of a session. It fails only if the search of every workspace fails.
func (s *Service) Search(ctx context.Context, sessionID string, q rag.Query) (Answer, error) {
	spaces, err := s.spacesOf(sessionID)
	if err == nil {
		err = check(q)
	}
	if err != nil {
		return Answer{}, err
	}
	var answer Answer
	var found [][]Hit
	var failed []error
	for _, w := range spaces {
		hits, note, err := w.search(ctx, sessionID, q)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if note != "" {
			answer.Note = joined(answer.Note, note)
		}
		found = append(found, HitsOf(w.root, hits))
	}
	if err := errors.Join(failed...); err != nil {
		if len(failed) == len(spaces) {
			return Answer{}, err
		}
		answer.Note = joined(answer.Note, err.Error())
	}
	answer.Hits = Best(q.Limit, found...)
	return answer, nil
}

// HitsOf returns hits with their workspace, root.
func HitsOf(root string, hits []rag.Hit) []Hit {
	of := make([]Hit, len(hits))
	for i, h := range hits {
		of[i] = Hit{root, h}
	}
	return of
}

// Best merges the hits of one query in several workspaces and returns the best, at most limit; 0 means ten. It can
// compare scores across workspaces because each is relative to the best possible score.
func Best(limit int, found ...[]Hit) []Hit {
	hits := slices.Concat([]Hit{}, slices.Concat(found...))
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), cmp.Or(max(0, limit), 10))]
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func (w *space) search(ctx context.Context, sessionID string, q rag.Query) (hits []rag.Hit, note string, err error) {
	w.await(ctx)
	status := w.now()
	if w.index == nil {
		return nil, "", fmt.Errorf("%s cannot be searched: %s", w.root, status.Error)
	}
	switch status.State {
	case Indexing:
		note = fmt.Sprintf("%s is still being indexed, %d of %d files so far: there may be more to find.", w.root, status.IndexedFiles, status.TotalFiles)
	case Failed:
		note = fmt.Sprintf("The index of %s is not up to date: %s", w.root, status.Error)
	case Cleared, Cancelled:
		note = fmt.Sprintf("The index of %s is not complete: it was %s.", w.root, status.State)
	}
	if veto := w.service.o.Veto; veto != nil && sessionID != "" {
		q.Denied = func(path string) bool { return veto(sessionID, w.root, path) }
	}
	hits, err = w.index.Search(ctx, q)
	if status.ChunkCount >= manyChunks {
		w.mu.Lock()
		w.restAfter(afterSearch)
		w.mu.Unlock()
	}
	if _, ok := errors.AsType[*rag.DamagedError](err); ok {
		w.service.o.Logger.Warn("retrieval: the index is damaged and built again", "path", w.root, "error", err)
		w.repair()
		return nil, "", fmt.Errorf("the index of %s was damaged and is being built again: search again in a moment", w.root)
	}
	return hits, note, err
}

// await waits a moment for an index that is being built.
func (w *space) await(ctx context.Context) {
	w.mu.Lock()
	settled := w.settled
	w.mu.Unlock()
	timer := time.NewTimer(firstPatience)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	case <-ctx.Done():
	}
}
