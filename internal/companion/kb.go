package companion

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/rag"
)

// questions answers a client's questions in the background, so that a slow embedder or model does not delay an
// approval. The reading goroutine calls begin and, after the last begin, end.
type questions struct {
	running sync.WaitGroup
	slots   chan struct{} // nil until the first question
	ctx     context.Context
	stop    context.CancelFunc
}

// maxQuestions bounds the questions of one client that are answered at the same time.
const maxQuestions = 4

// begin calls answer in a new goroutine. It returns false if most questions are already being answered. The slot is
// freed before tell, which sends the answer, so that a client that has its answer can ask again. If answer panics the
// client is disconnected.
func (q *questions) begin(c *socket, most int, answer func(context.Context) (tell func())) bool {
	if q.slots == nil {
		q.slots = make(chan struct{}, most)
		q.ctx, q.stop = context.WithCancel(c.server.ctx)
	}
	select {
	case q.slots <- struct{}{}:
	default:
		return false
	}
	q.running.Go(func() {
		answered := false
		defer func() {
			if !answered {
				c.bye(websocket.CloseInternalServerErr, rest.FailedText)
			}
		}()
		defer rest.Recover(c.server.log, "a question of a client")
		tell := func() func() {
			defer func() { <-q.slots }()
			return answer(q.ctx)
		}()
		tell()
		answered = true
	})
	return true
}

// end stops the running answers and waits for them.
func (q *questions) end() {
	if q.slots != nil {
		q.stop()
		q.running.Wait()
	}
}

// knowledge handles a kb_ frame. It needs the approve credential, because knowledge bases hold whole texts.
func (c *socket) knowledge(head wire.Head, data []byte) *wire.Refusal {
	if refused := c.server.backend.absent(partKnowledge); refused != nil {
		return refused
	}
	ask, refused := c.question(head, data)
	if refused != nil {
		return refused
	}
	if refused := c.mutate(head.SessionID, func() error { return nil }); refused != nil {
		return refused
	}
	begun := c.questions.begin(c, maxQuestions, func(ctx context.Context) func() {
		frame, err := ask(ctx)
		if err == nil {
			return func() { c.give(frame) }
		}
		refused := retrievalRefusal(err)
		if refused == nil {
			c.server.log.Error("companion: frame failed", "client", c.who.By, "session", head.SessionID, slog.Any("error", err))
			refused = wire.Refuse(wire.CodeInternal, rest.FailedText)
		}
		return func() { c.reply(refused, head.SessionID, "") }
	})
	if !begun {
		return wire.Refuse(wire.CodeBadMessage, "%d questions to the knowledge base are being answered: wait for one of them", maxQuestions)
	}
	return nil
}

// question decodes the frame and returns the function that answers it.
func (c *socket) question(common wire.Head, data []byte) (func(context.Context) (any, error), *wire.Refusal) {
	r, session := c.server.backend.Retrieval, common.SessionID
	switch common.Type {
	case wire.TypeKBAdd:
		var f wire.KBAdd
		if refused := rest.Decode(data, &f); refused != nil {
			return nil, refused
		}
		if f.Content == "" {
			return nil, wire.Refuse(wire.CodeBadMessage, "content is missing")
		}
		return func(ctx context.Context) (any, error) {
			id, err := r.AddDocument(ctx, session, f.Content, f.Metadata, c.who)
			return wire.KBAdded{Head: wire.NewHead(wire.TypeKBAdded, session), DocumentID: id}, err
		}, nil
	case wire.TypeKBSearch:
		var f wire.KBSearch
		if refused := rest.Decode(data, &f); refused != nil {
			return nil, refused
		}
		if refused := f.Check(); refused != nil {
			return nil, refused
		}
		return func(ctx context.Context) (any, error) {
			hits, err := r.SearchDocuments(ctx, session, f.Query, f.Limit, f.Threshold)
			return wire.KBSearchResult{Head: wire.NewHead(wire.TypeKBSearchResult, session), Results: wire.List(converted(hits, hitOf))}, err
		}, nil
	case wire.TypeKBList:
		return func(context.Context) (any, error) {
			documents, err := r.Documents(session)
			return wire.KBListResult{Head: wire.NewHead(wire.TypeKBListResult, session), Documents: wire.List(converted(documents, func(d rag.KBDocument) wire.KBDocument { return wire.KBDocument(d) })), TotalCount: len(documents)}, err
		}, nil
	default:
		var f wire.KBRemove
		if refused := rest.Decode(data, &f); refused != nil {
			return nil, refused
		}
		if f.DocumentID == "" {
			return nil, wire.Refuse(wire.CodeBadMessage, "documentId is missing")
		}
		return func(ctx context.Context) (any, error) {
			found, err := r.RemoveDocument(ctx, session, f.DocumentID, c.who)
			return wire.KBRemoved{Head: wire.NewHead(wire.TypeKBRemoved, session), DocumentID: f.DocumentID, Found: found}, err
		}, nil
	}
}

// knowledgeAPI serves knowledge bases over REST.
type knowledgeAPI struct{ api }

// routes adds the routes of knowledge bases. Requests MUST name a session (`?sessionId=`), and its process answers.
func (s knowledgeAPI) routes(path func(string, methods)) {
	path("/api/kb", methods{"GET": s.viewer(s.of(s.list)), "POST": s.patient(s.of(s.add))})
	path("/api/kb/{id}", methods{"DELETE": s.approver(s.of(s.remove))})
	path("/api/kb/search", methods{"POST": s.patient(s.of(s.search))})
}

// of wraps a handler that needs the session of the request.
func (s knowledgeAPI) of(h func(*http.Request, string) (any, error)) handler {
	return s.searching(func(r *http.Request) (any, error) {
		session := r.URL.Query().Get("sessionId")
		if refused := wire.OneSession(session); refused != nil {
			return nil, refused
		}
		return h(r, session)
	})
}

func (s knowledgeAPI) add(r *http.Request, session string) (any, error) {
	var f wire.KBAdd
	if err := body(r, &f); err != nil {
		return nil, err
	}
	if f.Content == "" {
		return nil, badMessage("content is missing")
	}
	id, err := s.backend.Retrieval.AddDocument(r.Context(), session, f.Content, f.Metadata, authorOf(r))
	return answer{http.StatusCreated, map[string]string{"documentId": id}}, err
}

func (s knowledgeAPI) search(r *http.Request, session string) (any, error) {
	var f wire.KBSearch
	if err := body(r, &f); err != nil {
		return nil, err
	}
	if refused := f.Check(); refused != nil {
		return nil, refused
	}
	hits, err := s.backend.Retrieval.SearchDocuments(r.Context(), session, f.Query, f.Limit, f.Threshold)
	return map[string]any{"results": wire.List(hits)}, err
}

// kbPage bounds the documents in a list.
const kbPage = 1000

func (s knowledgeAPI) list(r *http.Request, session string) (any, error) {
	limit, err := limitOf(r.URL.Query().Get("limit"), kbPage, kbPage)
	if err != nil {
		return nil, err
	}
	documents, err := s.backend.Retrieval.Documents(session)
	return map[string]any{"documents": wire.List(documents[:min(len(documents), limit)]), "totalCount": len(documents)}, err
}

func (s knowledgeAPI) remove(r *http.Request, session string) (any, error) {
	id := r.PathValue("id")
	found, err := s.backend.Retrieval.RemoveDocument(r.Context(), session, id, authorOf(r))
	if err == nil && !found {
		err = failed(http.StatusNotFound, wire.CodeBadMessage, "there is no such document")
	}
	return map[string]any{"documentId": id, "found": true}, err
}

func hitOf(h rag.KBHit) wire.KBHit {
	passages := converted(h.Passages, func(p rag.KBPassage) wire.KBPassage { return wire.KBPassage(p) })
	return wire.KBHit{DocumentID: h.DocumentID, Content: h.Content, Passages: passages, Score: h.Score, Metadata: h.Metadata}
}
