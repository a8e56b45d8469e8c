package endpoint

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy"
)

// headerClient is how clients of one principal that want sessions apart tell them apart.
const headerClient = "Callgate-Session"

// exchange is one request of the revision without sessions, and its response.
type exchange struct {
	st        *stream
	r         *http.Request
	gone      <-chan struct{} // closed when nobody reads any more
	sparse    bool            // the host reads nothing but the response
	malformed atomic.Bool     // the response says that the request is not one of the revision
	waits     atomic.Bool     // the request waits for a person, or did
	begins    chan struct{}   // closed when an event stream begins, if there is no response before
	begin     func()          // closes it
	admitted  func() error    // why its host would not be let in any more
	end       func()          // no longer counts the request in
}

var _ proxy.Exchange = (*exchange)(nil)

func newExchange(r *http.Request, reads reading, end func()) *exchange {
	x := &exchange{end: end, st: newStream(""), r: r, gone: r.Context().Done(), sparse: !reads.stream, begins: make(chan struct{})}
	x.begin = sync.OnceFunc(func() { close(x.begins) })
	return x
}

// Respond implements proxy.Exchange.
func (x *exchange) Respond(response []byte) error {
	x.end()
	if response == nil {
		x.st.end()
		return nil
	}
	return x.st.put(response, true, x.gone)
}

// Admitted implements proxy.Vouched.
func (x *exchange) Admitted() error { return x.admitted() }

// Reject implements proxy.Exchange.
func (x *exchange) Reject(response []byte) error {
	x.malformed.Store(true)
	return x.Respond(response)
}

// Waits implements proxy.Exchange.
func (x *exchange) Waits() {
	x.end()
	x.waits.Store(true)
	x.begin()
}

// Notify implements proxy.Exchange.
func (x *exchange) Notify(message []byte) error {
	if x.sparse {
		return nil
	}
	return x.st.put(message, false, x.gone)
}

// Header implements proxy.Exchange.
func (x *exchange) Header(name string) (value string, sent bool) {
	values := x.r.Header.Values(name)
	if len(values) != 1 {
		return "", len(values) > 0
	}
	return values[0], true
}

// exchange serves a message of the revision without sessions. A host that closes the connection takes its
// request back.
func (s *Server) exchange(v visit, m rpc.Message) {
	ctx := v.r.Context()
	reads := accepts(v.r)
	from := proxy.Sender{View: v.view, Principal: string(v.who.Principal), Session: v.r.Header.Get(headerClient)}
	switch {
	case m.Method == "notifications/cancelled" && m.ID == nil: // SDKs send it beside closing the connection, which says the same
		v.w.WriteHeader(http.StatusAccepted)
		return
	case !m.IsRequest():
		refuse(v.w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "hosts of this revision send requests: to take one back, close its connection")
		return
	}
	if m.Method == "subscriptions/listen" {
		s.open.follow(v.held, nil)
	}
	if s.relay.exchange(v, m) {
		return
	}
	end, ok := s.admit(v, m)
	if !ok {
		return
	}
	defer end() // who goes away takes the request back
	x := newExchange(v.r, reads, end)
	x.admitted = func() error { return good(s.set.Load().Door, v.who) }
	v.room.Proxy.Exchange(ctx, from, x, m)
	whole, none := x.first(ctx)
	status := x.status(whole)
	switch {
	case none:
		v.w.WriteHeader(http.StatusAccepted)
	case whole != nil && (reads.plain || status != http.StatusOK):
		writeJSON(v.w, status, whole)
	case ctx.Err() == nil:
		out := beginEvents(v.w)
		if out.comment() == nil { // the host knows at once that its request is being looked at
			out.follow(ctx, x.st, 1, "", false)
		}
	default: // the host is gone, or not let in any more
		expelled(v.w, m.ID)
	}
}

// first waits until it is clear how the response begins. The status of a refusal does not depend on how long it took:
// an event stream begins, with status 200, when there is something to say before the response, when a person is asked,
// or when the response is so late that somebody on the way may take the connection for dead.
func (x *exchange) first(ctx context.Context) (whole []byte, none bool) {
	if x.sparse {
		return x.st.first(ctx, nil)
	}
	defer time.AfterFunc(keepAlive, x.begin).Stop()
	return x.st.first(ctx, x.begins)
}

// status is the HTTP status that the revision wants for a response.
func (x *exchange) status(response []byte) int {
	if x.malformed.Load() {
		return http.StatusBadRequest
	}
	if x.waits.Load() {
		return http.StatusOK // the event stream may have begun
	}
	m, err := rpc.Parse(response)
	if err != nil {
		return http.StatusOK
	}
	switch string(jsonx.At(m.Error, "code")) {
	case "-32601":
		return http.StatusNotFound
	case "-32700", "-32600", "-32020", "-32021", "-32022":
		return http.StatusBadRequest
	}
	return http.StatusOK
}
