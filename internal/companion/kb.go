package companion

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"callgate/rag"

	"github.com/gorilla/websocket"
)

// KBAdd adds a document to the session's knowledge base.
type KBAdd struct {
	Head
	Content  string   `json:"content"`
	Metadata metadata `json:"metadata,omitempty"`
}

// KBSearch searches it. Documents with a score below Threshold, which is from 0 to 1, are left out.
type KBSearch struct {
	Head
	Query     string  `json:"query"`
	Limit     int     `json:"limit,omitempty"` // default 5
	Threshold float64 `json:"threshold,omitempty"`
}

// KBList lists it.
type KBList struct{ Head }

// KBRemove removes a document.
type KBRemove struct {
	Head
	DocumentID string `json:"documentId"`
}

// KBAdded answers KBAdd.
type KBAdded struct {
	Head
	DocumentID string `json:"documentId"`
}

// KBSearchResult answers KBSearch, best first.
type KBSearchResult struct {
	Head
	Results []rag.KBHit `json:"results"`
}

// KBListResult answers KBList, oldest first.
type KBListResult struct {
	Head
	Documents  []rag.KBDocument `json:"documents"`
	TotalCount int              `json:"totalCount"`
}

// KBRemoved answers KBRemove.
type KBRemoved struct {
	Head
	DocumentID string `json:"documentId"`
	Found      bool   `json:"found"`
}

// metadata is what is remembered of a document, as texts. A member that is no text is kept as its JSON.
type metadata map[string]string

func (m *metadata) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return errors.New("metadata is not an object")
	}
	*m = make(metadata, len(members))
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		}
		(*m)[name] = text
	}
	return nil
}

// questions are those of a client that are being answered beside the reading goroutine: an embedder on the network,
// or a model, must not keep an approval from being heard. begin is the reader's; end comes after the last of it.
type questions struct {
	running sync.WaitGroup
	slots   chan struct{} // nil until the first question
	ctx     context.Context
	stop    context.CancelFunc
}

// maxQuestions bounds the questions of one client that are answered at once.
const maxQuestions = 4

// begin answers on a goroutine of its own, until ctx ends. It is false when most are being answered already. What answer
// returns tells the client; its place is free before, so that who has an answer can ask again. A client that cannot be
// answered because answer panics is sent away.
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
				c.bye(websocket.CloseInternalServerErr, failedText)
			}
		}()
		defer c.server.survive("a question of a client")
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

// knowledge does what a kb_ frame asks for. To ask takes the credential that answers: knowledge bases hold whole texts.
func (c *socket) knowledge(head Head, data []byte) *refusal {
	if c.server.retrieval == nil {
		return refuse(CodeBadMessage, "knowledge bases are off: set rag.enabled in the configuration")
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
			refused = refuse(CodeInternal, failedText)
		}
		return func() { c.reply(refused, head.SessionID, "") }
	})
	if !begun {
		return refuse(CodeBadMessage, "%d questions to the knowledge base are being answered: wait for one of them", maxQuestions)
	}
	return nil
}

// question reads the frame into what has to be asked.
func (c *socket) question(common Head, data []byte) (func(context.Context) (any, error), *refusal) {
	r, session := c.server.retrieval, common.SessionID
	switch common.Type {
	case TypeKBAdd:
		var f KBAdd
		if refused := decode(data, &f); refused != nil {
			return nil, refused
		}
		if f.Content == "" {
			return nil, refuse(CodeBadMessage, "content is missing")
		}
		return func(ctx context.Context) (any, error) {
			id, err := r.AddDocument(ctx, session, f.Content, f.Metadata, c.who)
			return KBAdded{head(TypeKBAdded, session), id}, err
		}, nil
	case TypeKBSearch:
		var f KBSearch
		if refused := decode(data, &f); refused != nil {
			return nil, refused
		}
		if refused := f.check(); refused != nil {
			return nil, refused
		}
		return func(ctx context.Context) (any, error) {
			hits, err := r.SearchDocuments(ctx, session, f.Query, f.Limit, f.Threshold)
			return KBSearchResult{head(TypeKBSearchResult, session), list(hits)}, err
		}, nil
	case TypeKBList:
		return func(context.Context) (any, error) {
			documents, err := r.Documents(session)
			return KBListResult{head(TypeKBListResult, session), list(documents), len(documents)}, err
		}, nil
	default:
		var f KBRemove
		if refused := decode(data, &f); refused != nil {
			return nil, refused
		}
		if f.DocumentID == "" {
			return nil, refuse(CodeBadMessage, "documentId is missing")
		}
		return func(ctx context.Context) (any, error) {
			found, err := r.RemoveDocument(ctx, session, f.DocumentID, c.who)
			return KBRemoved{head(TypeKBRemoved, session), f.DocumentID, found}, err
		}, nil
	}
}

func (f *KBSearch) check() *refusal {
	switch {
	case f.Query == "":
		return refuse(CodeBadMessage, "query is missing")
	case f.Limit < 0:
		return refuse(CodeBadMessage, "limit must be positive")
	case f.Threshold < 0 || f.Threshold > 1:
		return refuse(CodeBadMessage, "threshold must be between 0 and 1")
	}
	return nil
}

// kbRoutes are answered by the process that serves the session, which all of them name: `?sessionId=`.
func (s *Server) kbRoutes(path func(string, methods)) {
	path("/api/kb", methods{"GET": s.viewer(s.handleKBList), "POST": s.approver(s.handleKBAdd)})
	path("/api/kb/{id}", methods{"DELETE": s.approver(s.handleKBRemove)})
	path("/api/kb/search", methods{"POST": s.approver(s.handleKBSearch)})
}

// kbSession returns the session that a request names. When it is "" the response is written.
func (s *Server) kbSession(w http.ResponseWriter, r *http.Request) string {
	if !s.retrieves(w) {
		return ""
	}
	session := r.URL.Query().Get("sessionId")
	if refused := oneSession(session); refused != nil {
		writeError(w, http.StatusBadRequest, refused.code, refused.message)
		return ""
	}
	return session
}

func (s *Server) handleKBAdd(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	var f KBAdd
	if session == "" || !s.body(w, r, &f) {
		return
	}
	if f.Content == "" {
		writeError(w, http.StatusBadRequest, CodeBadMessage, "content is missing")
		return
	}
	id, err := s.retrieval.AddDocument(r.Context(), session, f.Content, f.Metadata, authorOf(r))
	if err != nil {
		s.failRetrieval(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, map[string]string{"documentId": id})
}

func (s *Server) handleKBSearch(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	var f KBSearch
	if session == "" || !s.body(w, r, &f) {
		return
	}
	if refused := f.check(); refused != nil {
		writeError(w, http.StatusBadRequest, refused.code, refused.message)
		return
	}
	hits, err := s.retrieval.SearchDocuments(r.Context(), session, f.Query, f.Limit, f.Threshold)
	if err != nil {
		s.failRetrieval(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"results": list(hits)})
}

// kbPage is how many documents a list has at most.
const kbPage = 1000

func (s *Server) handleKBList(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	if session == "" {
		return
	}
	limit := kbPage
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > kbPage {
			writeError(w, http.StatusBadRequest, CodeBadMessage, "limit must be between 1 and "+strconv.Itoa(kbPage))
			return
		}
		limit = n
	}
	documents, err := s.retrieval.Documents(session)
	if err != nil {
		s.failRetrieval(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"documents": list(documents[:min(len(documents), limit)]), "totalCount": len(documents)})
}

func (s *Server) handleKBRemove(w http.ResponseWriter, r *http.Request) {
	session := s.kbSession(w, r)
	if session == "" {
		return
	}
	found, err := s.retrieval.RemoveDocument(r.Context(), session, r.PathValue("id"), authorOf(r))
	if err != nil {
		s.failRetrieval(w, r, err)
		return
	}
	if !found {
		writeError(w, http.StatusNotFound, CodeBadMessage, "there is no such document")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"documentId": r.PathValue("id"), "found": true})
}
