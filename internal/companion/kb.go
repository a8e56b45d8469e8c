package companion

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/rag"
)

// questions are a client's questions that are being answered in the background, so that a slow embedder or model does
// not delay an approval. The reading goroutine calls begin, and end after the last begin.
type questions struct {
	running sync.WaitGroup
	slots   chan struct{} // nil until the first question
	ctx     context.Context
	stop    context.CancelFunc
}

// maxQuestions bounds the questions of one client that are answered at once.
const maxQuestions = 4

// begin answers on a goroutine of its own, until ctx ends. It is false when most are being answered already. What
// answer returns tells the client; its place is free before, so that who has an answer can ask again. A client that
// cannot be answered because answer panics is sent away.
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

// end stops the answers under way and waits for them.
func (q *questions) end() {
	if q.slots != nil {
		q.stop()
		q.running.Wait()
	}
}

// knowledge does what a kb_ frame asks for. It needs the approve credential, because knowledge bases hold whole texts.
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

// question reads the frame into what has to be asked.
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

// knowledgeAPI answers REST about knowledge bases.
type knowledgeAPI struct{ api }

// routes are answered by the process that serves the session, which all of them name: `?sessionId=`.
func (s knowledgeAPI) routes(path func(string, methods)) {
	path("/api/kb", methods{"GET": s.may.viewer(s.handleKBList), "POST": s.may.approver(s.handleKBAdd)})
	path("/api/kb/{id}", methods{"DELETE": s.may.approver(s.handleKBRemove)})
	path("/api/kb/search", methods{"POST": s.may.approver(s.handleKBSearch)})
}

// kbSession returns the session that a request names. When it is "" the response is written.
func (s knowledgeAPI) kbSession(w http.ResponseWriter, r *http.Request) string {
	if !s.backend.offers(w, partRetrieval) {
		return ""
	}
	session := r.URL.Query().Get("sessionId")
	if refused := wire.OneSession(session); refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return ""
	}
	return session
}

func (s knowledgeAPI) handleKBAdd(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	var f wire.KBAdd
	if session == "" || !s.reply.body(w, r, &f) {
		return
	}
	if f.Content == "" {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "content is missing")
		return
	}
	id, err := s.backend.Retrieval.AddDocument(r.Context(), session, f.Content, f.Metadata, authorOf(r))
	if err != nil {
		s.reply.failRetrieval(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusCreated, map[string]string{"documentId": id})
}

func (s knowledgeAPI) handleKBSearch(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	var f wire.KBSearch
	if session == "" || !s.reply.body(w, r, &f) {
		return
	}
	if refused := f.Check(); refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	hits, err := s.backend.Retrieval.SearchDocuments(r.Context(), session, f.Query, f.Limit, f.Threshold)
	if err != nil {
		s.reply.failRetrieval(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, map[string]any{"results": wire.List(hits)})
}

// kbPage is how many documents a list has at most.
const kbPage = 1000

func (s knowledgeAPI) handleKBList(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	if session == "" {
		return
	}
	limit := kbPage
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > kbPage {
			rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "limit must be between 1 and "+strconv.Itoa(kbPage))
			return
		}
		limit = n
	}
	documents, err := s.backend.Retrieval.Documents(session)
	if err != nil {
		s.reply.failRetrieval(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, map[string]any{"documents": wire.List(documents[:min(len(documents), limit)]), "totalCount": len(documents)})
}

func (s knowledgeAPI) handleKBRemove(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	if session == "" {
		return
	}
	found, err := s.backend.Retrieval.RemoveDocument(r.Context(), session, r.PathValue("id"), authorOf(r))
	if err != nil {
		s.reply.failRetrieval(w, r, err)
		return
	}
	if !found {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "there is no such document")
		return
	}
	rest.WriteJSON(w, http.StatusOK, map[string]any{"documentId": r.PathValue("id"), "found": true})
}

func hitOf(h rag.KBHit) wire.KBHit {
	passages := converted(h.Passages, func(p rag.KBPassage) wire.KBPassage { return wire.KBPassage(p) })
	return wire.KBHit{DocumentID: h.DocumentID, Content: h.Content, Passages: passages, Score: h.Score, Metadata: h.Metadata}
}
