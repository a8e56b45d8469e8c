package endpoint

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy"
)

// Session is one connection of a host that began with initialize. It ends with a DELETE, with the endpoint, or after a
// long time without use. It carries messages to the host.
//
// Each request of the host has its own stream for everything that belongs to it. Other messages go to the standalone
// stream, which the host reads with a GET.
type Session struct {
	id   string
	who  Guest       // the guest that began it, with the latest expiry of its credentials
	door func() Door // returns the current door
	room *Room
	view proxy.View
	peer proxy.Peer

	asked rpc.Requests
	ctx   context.Context // ends with the session
	stop  context.CancelFunc
	end   func() // ends the counting of the session

	standalone *stream
	single     bool // all messages go there, as in the 2024-11-05 transport

	mu      sync.Mutex
	version string              // the negotiated version of the protocol; "" before that
	byID    map[string]*running // running requests, by id as spelled
	streams map[string]*stream  // streams that can be resumed, by id
	recent  []string            // ids of streams, oldest first
	number  uint64
	closed  bool      // no new request may begin
	users   int       // HTTP requests being served
	idle    time.Time // since when there are no users
}

// maxStreams bounds the resumable streams of one session.
const maxStreams = 32

func newSession(ctx context.Context, v visit, end func()) *Session {
	s := &Session{id: rand.Text(), who: v.who, room: v.room, view: v.view, end: end, standalone: newStream("0"), byID: map[string]*running{}, streams: map[string]*stream{}, idle: time.Now()}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// running is a running request.
type running struct {
	st  *stream
	end func() // ends the counting of the request
}

// belongs reports whether the visitor began the session, with the same secret and in the same tenant.
func (s *Session) belongs(v visit) bool {
	return s.who.Principal == v.who.Principal && s.who.secret == v.who.secret && s.room.Tenant == v.room.Tenant
}

// renew notes that the host came with a credential that expires later.
func (s *Session) renew(who Guest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if who.until.After(s.who.until) {
		s.who.until = who.until
	}
}

// Admitted implements proxy.Vouched.
func (s *Session) Admitted() error {
	s.mu.Lock()
	who := s.who
	s.mu.Unlock()
	return credentialError(s.door(), who)
}

// lasts reports whether the session goes on although the credential that began it has expired, because its host has
// come with another since, or calls are running.
func (s *Session) lasts() bool {
	if s.Admitted() == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID) > 0
}

// maxRunning bounds the running requests of one session.
const maxRunning = 1024

// begin opens the stream of a request. It returns an error if a request with that id is running, or too many are. A
// sparse stream gets only the response. end is called when the request is over, or begin fails.
func (s *Session) begin(id []byte, sparse bool, end func()) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		end()
		return nil, &httpError{http.StatusNotFound, codeNoSession, "session not found: initialize again"}
	}
	if _, twice := s.byID[string(id)]; twice {
		end()
		return nil, &httpError{http.StatusBadRequest, rpc.CodeInvalidRequest, "a request with this id is still running"}
	}
	if len(s.byID) >= maxRunning {
		end()
		return nil, &httpError{http.StatusBadRequest, rpc.CodeInvalidRequest, fmt.Sprintf("%d requests of this session run already: wait until one has ended", maxRunning)}
	}
	st := s.standalone
	if !s.single {
		s.number++
		st = newStream(strconv.FormatUint(s.number, 36))
		st.sparse = sparse
	}
	s.byID[string(id)] = &running{st, end}
	return st, nil
}

// keep makes a stream resumable.
func (s *Session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st.id] = st
	s.recent = append(s.recent, st.id)
	for i := 0; len(s.recent) > maxStreams && i < len(s.recent); {
		if old := s.streams[s.recent[i]]; old == nil || old.finished() {
			delete(s.streams, s.recent[i])
			s.recent = append(s.recent[:i:i], s.recent[i+1:]...)
		} else {
			i++
		}
	}
}

// resumable returns the stream with that id, or nil.
func (s *Session) resumable(id string) *stream {
	if id == s.standalone.id {
		return s.standalone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// streamOf returns the stream for a message about the request: the request's own while it is running, or the standalone
// one.
func (s *Session) streamOf(about []byte) *stream {
	if about == nil {
		return s.standalone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.byID[string(about)]; r != nil && !r.st.sparse {
		return r.st
	}
	return s.standalone
}

// Respond implements proxy.Line.
func (s *Session) Respond(id, response []byte) error {
	s.mu.Lock()
	r := s.byID[string(id)]
	delete(s.byID, string(id))
	if s.version == "" {
		s.version = agreedVersion(response)
	}
	s.mu.Unlock()
	if r == nil {
		return errEnded // only running requests are answered
	}
	r.end()
	switch {
	case response != nil:
		return r.st.put(response, !s.single, s.ctx.Done())
	case !s.single:
		r.st.end()
	}
	return nil
}

// Notify implements proxy.Line.
func (s *Session) Notify(about, message []byte) error {
	return s.streamOf(about).put(message, false, s.ctx.Done())
}

// Ask implements proxy.Line.
func (s *Session) Ask(about []byte, _ string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	return s.asked.Send(func(id []byte) error { return s.streamOf(about).put(compose(id), false, s.ctx.Done()) })
}

// Waits implements proxy.Line.
func (s *Session) Waits(about []byte) {
	s.mu.Lock()
	r := s.byID[string(about)]
	s.mu.Unlock()
	if r != nil {
		r.end()
	}
	if st := s.streamOf(about); st.more != nil {
		st.more()
	}
}

// Hurry implements proxy.Line. Nothing waits for a reader any more.
func (s *Session) Hurry() {
	s.stop()
	s.asked.Abandon()
}

// use counts an HTTP request that is being served. The session is not idle until done is called.
func (s *Session) use() (done func()) {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.users--
		s.idle = time.Now()
	}
}

// idleSince returns since when nobody uses the session. ok is false if somebody does, or a request is running.
func (s *Session) idleSince() (since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idle, s.users == 0 && len(s.byID) == 0
}

// agreedVersion returns the protocol version that the response to initialize names, or "".
func agreedVersion(response []byte) string {
	m, err := rpc.Parse(response)
	if err != nil {
		return ""
	}
	text, _ := jsonx.String(jsonx.At(m.Result, "protocolVersion"))
	return text
}

// initialized reports whether the host and the session have agreed on a version of the protocol.
func (s *Session) initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version != ""
}

// primes reports whether the host understands events without data, which let it resume before the first message.
func (s *Session) primes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version >= "2025-11-25"
}

// close ends the session: its peer first, then the rest of its streams.
func (s *Session) close() {
	s.peer.Close()
	s.stop()
	s.asked.Abandon()
	s.standalone.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.byID {
		r.end()
		r.st.end()
	}
	s.end()
}
