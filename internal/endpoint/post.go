package endpoint

import (
	"bytes"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"callgate/internal/budget"
	"callgate/internal/rpc"
	"callgate/internal/tenants"
	"callgate/proxy"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerLast    = "Last-Event-ID"

	// codeNoSession is the code at which hosts know to begin a new session.
	codeNoSession = -32001
)

// prompt is how long a response may take to be sent as plain JSON. A later one comes in an event stream, which can be
// kept alive and resumed.
const prompt = 50 * time.Millisecond

// greeting replaces prompt for initialize, which every host wants answered at once.
const greeting = 10 * time.Second

// post takes one message from a host.
func (s *Server) post(v visit) {
	m, err := s.read(v)
	if err != nil {
		s.malformed(v, err)
		return
	}
	stateless := proxy.IsStateless(m) || v.r.Header.Get(headerVersion) >= proxy.StatelessVersion
	if s.log.Enabled(v.r.Context(), slog.LevelDebug) {
		s.log.Debug("message of a host", "from", v.who.Principal, "method", m.Method, "id", string(m.ID), "stateless", stateless)
	}
	if stateless {
		s.exchange(v, m)
		return
	}
	session, err := s.sessionFor(v, m)
	if err != nil {
		s.turnAway(v, m.ID, err)
		return
	}
	defer session.use()()
	switch {
	case m.IsRequest():
		s.answer(v, session, m)
		return
	case m.IsResponse() && session.asked.Answer(m): // its asker has it now
	default:
		session.peer.Handle(m)
	}
	v.w.WriteHeader(http.StatusAccepted)
}

// httpError is an error with the HTTP status and the code for the host.
type httpError struct {
	status, code int
	text         string
}

func (e *httpError) Error() string { return e.text }

func statusOf(err error) int {
	var e *httpError
	switch {
	case errors.As(err, &e):
		return e.status
	case errors.As(err, new(*proxy.QuotaError)), errors.As(err, new(*tenants.QuotaError)):
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

func codeOf(err error) int {
	var e *httpError
	if errors.As(err, &e) {
		return e.code
	}
	return rpc.CodeInternal
}

// read reads the message from the body.
func (s *Server) read(v visit) (rpc.Message, error) {
	if !isJSON(v.r.Header.Get("Content-Type")) {
		return rpc.Message{}, &httpError{http.StatusUnsupportedMediaType, rpc.CodeInvalidRequest, "the Content-Type has to be application/json"}
	}
	if encoding := v.r.Header.Get("Content-Encoding"); encoding != "" { // a decoder would read another message
		return rpc.Message{}, &httpError{http.StatusUnsupportedMediaType, rpc.CodeInvalidRequest, "a message cannot have a Content-Encoding"}
	}
	text := budget.Buffer{Budget: v.room.Budget, Done: v.r.Context().Done(), Expect: int(min(max(v.r.ContentLength, 0), int64(s.o.MaxMessage))) + 1, Max: s.o.MaxMessage + 1}
	_, err := text.ReadFrom(http.MaxBytesReader(v.w, v.r.Body, int64(s.o.MaxMessage)))
	body := text.Bytes()
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return rpc.Message{}, &httpError{http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest, "a message is longer than " + strconv.Itoa(s.o.MaxMessage) + " bytes"}
	case errors.As(err, new(*budget.Error)):
		v.w.Header().Set("Retry-After", "5")
		return rpc.Message{}, &httpError{http.StatusServiceUnavailable, rpc.CodeInternal, err.Error()}
	case err != nil:
		return rpc.Message{}, &httpError{http.StatusBadRequest, rpc.CodeParse, "the message did not arrive whole: " + err.Error()}
	}
	expect(v.w, 0) // the response may take its time
	m, err := proxy.ParseMessage(body)
	if err != nil {
		code := rpc.CodeInvalidRequest
		if !looksLikeObject(body) {
			code = rpc.CodeParse
		}
		return m, &httpError{http.StatusBadRequest, code, err.Error()}
	}
	if line, changed := oneLine(body); changed {
		return proxy.ParseMessage(line) // servers get one message per line
	}
	return m, nil
}

// oneLine returns a message without line ends, which are white space between its tokens. In a stream of lines or events
// they would end the message.
func oneLine(message []byte) (line []byte, changed bool) {
	if bytes.IndexByte(message, '\n') < 0 && bytes.IndexByte(message, '\r') < 0 { // ten times as fast as ContainsAny
		return message, false
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, message), true
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

func looksLikeObject(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) }

// malformed answers a body that is not a message. If it came in a session, it is recorded.
func (s *Server) malformed(v visit, err error) {
	if session := s.open.find(v.r.Header.Get(headerSession), v); session != nil {
		session.peer.Malformed(err)
	}
	refuse(v.w, statusOf(err), nil, codeOf(err), err.Error())
}

// sessionFor returns the session that a message belongs to, or begins one for an initialize.
func (s *Server) sessionFor(v visit, m rpc.Message) (*Session, error) {
	id := v.r.Header.Get(headerSession)
	if version := v.r.Header.Get(headerVersion); version != "" && !slices.Contains(proxy.Versions(), version) {
		return nil, &httpError{http.StatusBadRequest, rpc.CodeInvalidRequest, "unknown protocol version " + strconv.Quote(version) + ": callgate speaks " + strings.Join(proxy.SupportedVersions(), ", ")}
	}
	if id != "" {
		session := s.open.find(id, v)
		if session == nil {
			return nil, &httpError{http.StatusNotFound, codeNoSession, "session not found: initialize again"}
		}
		return session, nil
	}
	if m.Method != "initialize" || !m.IsRequest() {
		return nil, &httpError{http.StatusBadRequest, rpc.CodeInvalidRequest, "a " + headerSession + " header is needed: begin with initialize"}
	}
	session, err := s.begin(v)
	if err != nil {
		return nil, err
	}
	if err := s.open.register(session, v.held); err != nil {
		session.close()
		return nil, err
	}
	return session, nil
}

// answer handles a request and writes the outcome: one JSON document if only the response comes, and soon, or else a
// stream of events that ends with the response. A host that disconnects meanwhile has not cancelled anything, and may
// come back for the rest.
func (s *Server) answer(v visit, session *Session, m rpc.Message) {
	reads := accepts(v.r)
	limit := prompt
	if !session.initialized() {
		limit = greeting
		defer func() {
			if !session.initialized() { // it was refused or taken back, and nobody else would end the session
				s.open.drop(session)
			}
		}()
	}
	end, ok := s.admit(v, m)
	if !ok {
		return
	}
	st, err := session.begin(m.ID, !reads.stream, end)
	if err != nil {
		refuse(v.w, statusOf(err), m.ID, codeOf(err), err.Error())
		return
	}
	v.w.Header().Set(headerSession, session.id)
	out := &response{v: v, session: session, st: st, written: make(chan struct{})}
	switch {
	case !reads.plain:
		out.stream()
	case reads.stream:
		defer time.AfterFunc(limit, out.stream).Stop()
		st.more = out.stream
	}
	session.peer.Serve(m, out.whole)
	<-out.written
}

// response is how a request is answered. The first of two calls begins it: whole, if there is only the response, or
// stream, if there is more or it takes long.
type response struct {
	v       visit
	session *Session
	st      *stream
	begun   atomic.Bool
	written chan struct{} // closed when nothing more will be written
}

// whole writes the response as one document. It sends a short one at once, on the request's goroutine, because the
// remaining work there comes after it. A long one, which a slow host may take long to read, goes to a new goroutine
// that holds nothing else.
func (r *response) whole() {
	if !r.begun.CompareAndSwap(false, true) {
		return
	}
	message := r.st.only()
	if len(message) > budget.Free {
		go r.write(message)
		return
	}
	r.write(message)
	_ = http.NewResponseController(r.v.w).Flush() // for a host that is gone, the response is kept
}

func (r *response) write(message []byte) {
	defer close(r.written)
	if message == nil {
		r.v.w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(r.v.w, http.StatusOK, message)
}

// stream has a new goroutine write the messages as events.
func (r *response) stream() {
	if !r.begun.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer close(r.written)
		r.session.keep(r.st)
		out := beginEvents(r.v.w)
		if out.prime(r.st, 1, r.session.primes()) == nil {
			out.follow(r.v.r.Context(), r.st, 1, "", true)
		}
	}()
}

// reading says which kinds of response a host can read.
type reading struct {
	plain  bool // one JSON document; also false if the host names event streams first
	stream bool // an event stream
}

// accepts reads the Accept header. A host that sends none can read everything.
func accepts(r *http.Request) reading {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	events, json := strings.Index(accept, "text/event-stream"), strings.Index(accept, "application/json")
	switch {
	case events >= 0 && (json < 0 || events < json):
		return reading{stream: true}
	case events < 0 && json >= 0 && !strings.Contains(accept, "*/*"):
		return reading{plain: true}
	}
	return reading{plain: true, stream: true}
}

// writeJSON writes one message. It gives up on a reader that is stuck.
func writeJSON(w http.ResponseWriter, status int, message []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(message)))
	w.WriteHeader(status)
	deadline := http.NewResponseController(w)
	for len(message) > 0 {
		n := min(len(message), piece)
		if deadline.SetWriteDeadline(time.Now().Add(stuck)) != nil {
			return
		}
		if _, err := w.Write(message[:n]); err != nil {
			return
		}
		message = message[n:]
	}
}

// get lets the host read the messages that belong to no request, or, with Last-Event-ID, what it has missed of a
// stream.
func (s *Server) get(v visit) {
	session, err := s.open.visited(v)
	if err != nil {
		refuse(v.w, statusOf(err), nil, codeOf(err), err.Error())
		return
	}
	if !accepts(v.r).stream {
		refuse(v.w, http.StatusNotAcceptable, nil, rpc.CodeInvalidRequest, "a GET is answered with text/event-stream")
		return
	}
	st := session.standalone
	from := st.unread()
	if last := v.r.Header.Get(headerLast); last != "" {
		id, next, ok := parseEventID(last)
		if st = session.resumable(id); !ok || st == nil {
			refuse(v.w, http.StatusNotFound, nil, rpc.CodeInvalidRequest, "there is no such event to go on after")
			return
		}
		from = next
	}
	s.open.follow(v.held, nil)
	done := session.use()
	v.w.Header().Set(headerSession, session.id)
	out := beginListening(v)
	if v.r.Header.Get(headerLast) == "" && out.prime(st, from, session.primes()) != nil {
		done()
		return
	}
	s.listen(v, out, listener{of: st, from: from, resumable: true, done: done})
}

// delete ends the session.
func (s *Server) delete(v visit) {
	session, err := s.open.visited(v)
	if err != nil {
		refuse(v.w, statusOf(err), nil, codeOf(err), err.Error())
		return
	}
	s.open.drop(session)
	v.w.WriteHeader(http.StatusNoContent)
}

// visited returns the session that a GET or DELETE names. Hosts of the stateless revision have none.
func (s *open) visited(v visit) (*Session, error) {
	if v.r.Header.Get(headerVersion) >= proxy.StatelessVersion {
		v.w.Header().Set("Allow", "POST")
		return nil, &httpError{http.StatusMethodNotAllowed, rpc.CodeInvalidRequest, "this revision has neither streams nor sessions: POST requests"}
	}
	id := v.r.Header.Get(headerSession)
	if id == "" {
		return nil, &httpError{http.StatusBadRequest, rpc.CodeInvalidRequest, "a " + headerSession + " header is needed"}
	}
	if session := s.find(id, v); session != nil {
		return session, nil
	}
	return nil, &httpError{http.StatusNotFound, codeNoSession, "session not found: initialize again"}
}
