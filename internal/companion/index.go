package companion

import (
	"context"
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/wire"
	"callgate/internal/retrieval"
	"callgate/rag"
)

// Retrieval searches workspaces and knowledge bases. Methods take a session id; those for indexes take "" for all
// workspaces of the process. All MUST be safe for concurrent use. They return retrieval.ErrSession or
// retrieval.ErrNoWorkspace if the session or workspace does not exist.
type Retrieval interface {
	Statuses(sessionID string) ([]retrieval.Status, error)
	Search(ctx context.Context, sessionID string, q rag.Query) (retrieval.Answer, error)

	// Reindex, Cancel and Clear change the indexes of all workspaces of the session, or only the one at path.
	Reindex(sessionID, path string, force bool, who audit.Author) ([]retrieval.Status, error)
	Cancel(sessionID, path string, who audit.Author) ([]retrieval.Status, error)
	Clear(ctx context.Context, sessionID, path string, who audit.Author) ([]retrieval.Status, error)

	AddDocument(ctx context.Context, sessionID, content string, metadata map[string]string, who audit.Author) (id string, err error)
	SearchDocuments(ctx context.Context, sessionID, query string, limit int, threshold float64) ([]rag.KBHit, error)
	Documents(sessionID string) ([]rag.KBDocument, error)
	RemoveDocument(ctx context.Context, sessionID, id string, who audit.Author) (found bool, err error)
}

// framed is an event that holds a frame for everybody who follows its session. It travels through the gate's
// subscriptions but does not come from the gate.
type framed interface {
	gate.Event
	frame() any
}

// Indexed is an event about an index, for clients.
type Indexed struct {
	SessionID string
	Event     rag.Event
}

func (e Indexed) Session() string { return e.SessionID }

func (e Indexed) frame() any {
	switch e.Event.Kind {
	case rag.EventStart:
		return wire.IndexStart{Head: wire.NewHead(wire.TypeIndexStart, e.SessionID), Path: e.Event.Path, TotalFiles: e.Event.Total}
	case rag.EventDone:
		return wire.IndexDone{Head: wire.NewHead(wire.TypeIndexDone, e.SessionID), FileCount: e.Event.Summary.Files, ChunkCount: e.Event.Summary.Chunks, Duration: e.Event.Summary.Duration.Milliseconds()}
	default:
		return wire.IndexProgress{Head: wire.NewHead(wire.TypeIndexProgress, e.SessionID), IndexedFiles: e.Event.Indexed, TotalFiles: e.Event.Total, CurrentFile: e.Event.Path}
	}
}

// indexAPI serves indexes and searches over REST.
type indexAPI struct{ api }

// routes adds the routes of indexes. The process of the session (`?sessionId=`) answers. Without one they cover all
// workspaces of the process that answers: that of `?worker=`, or the hub.
func (s indexAPI) routes(path func(string, methods)) {
	path("/api/index", methods{"POST": s.approver(s.searching(reading(s.reindex))), "DELETE": s.approver(s.searching(s.clear))})
	path("/api/index/cancel", methods{"POST": s.approver(s.searching(reading(s.cancel)))})
	path("/api/index/status", methods{"GET": s.viewer(s.searching(s.status))})
	path("/api/search", methods{"POST": s.patient(s.searching(reading(s.search)))})
}

// searching wraps a handler that uses Retrieval.
func (a api) searching(h handler) handler {
	return a.with(partRetrieval, func(r *http.Request) (any, error) {
		done, err := h(r)
		return done, ofRetrieval(err)
	})
}

// ofRetrieval turns an error of Retrieval into one that has the right response.
func ofRetrieval(err error) error {
	refused := retrievalRefusal(err)
	switch {
	case refused == nil:
		return err
	case refused.Code == wire.CodeBadMessage && !errors.Is(err, retrieval.ErrNoWorkspace):
		return refused
	}
	return failed(http.StatusNotFound, refused.Code, refused.Message)
}

// retrievalRefusal translates the error into the protocol's words. It returns nil for a failure of callgate itself.
func retrievalRefusal(err error) *wire.Refusal {
	switch {
	case errors.Is(err, retrieval.ErrSession):
		return wire.Refuse(wire.CodeSessionNotFound, "%v", err)
	case errors.Is(err, retrieval.ErrNoWorkspace), errors.Is(err, retrieval.ErrDenied), errors.Is(err, rag.ErrQuery):
		return wire.Refuse(wire.CodeBadMessage, "%v", err)
	}
	return nil
}

func indexesOf(statuses []retrieval.Status) any {
	return map[string]any{"indexes": wire.List(statuses)}
}

func (s indexAPI) status(r *http.Request) (any, error) {
	statuses, err := s.backend.Retrieval.Statuses(r.URL.Query().Get("sessionId"))
	return indexesOf(statuses), err
}

// indexChange is the body of requests that change indexes. It may be {}.
type indexChange struct {
	Path  string `json:"path"`  // a workspace; "" means all workspaces of the session
	Force bool   `json:"force"` // POST /api/index: read every file again
}

func (s indexAPI) reindex(r *http.Request, f indexChange) (any, error) {
	statuses, err := s.backend.Retrieval.Reindex(r.URL.Query().Get("sessionId"), f.Path, f.Force, authorOf(r))
	return answer{http.StatusAccepted, indexesOf(statuses)}, err
}

func (s indexAPI) cancel(r *http.Request, f indexChange) (any, error) {
	statuses, err := s.backend.Retrieval.Cancel(r.URL.Query().Get("sessionId"), f.Path, authorOf(r))
	return indexesOf(statuses), err
}

func (s indexAPI) clear(r *http.Request) (any, error) {
	query := r.URL.Query()
	statuses, err := s.backend.Retrieval.Clear(r.Context(), query.Get("sessionId"), query.Get("path"), authorOf(r))
	return indexesOf(statuses), err
}

func (s indexAPI) search(r *http.Request, f struct {
	Query     string   `json:"query"`
	Limit     int      `json:"limit"`
	Path      string   `json:"path"`
	Language  string   `json:"language"`
	Kind      rag.Kind `json:"kind"`
	Threshold float64  `json:"threshold"`
}) (any, error) {
	if f.Query == "" {
		return nil, badMessage("query is missing: a question, some words, or the name of a symbol")
	}
	found, err := s.backend.Retrieval.Search(r.Context(), r.URL.Query().Get("sessionId"), rag.Query{
		Text: f.Query, Limit: f.Limit, Path: f.Path, Language: f.Language, Kind: f.Kind, Threshold: f.Threshold, WithText: true,
	})
	found.Hits = wire.List(found.Hits)
	return found, err
}
