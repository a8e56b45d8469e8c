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

// headerClient is the header with which clients of one principal ask for separate sessions.
const headerClient = "Callgate-Session"

// exchange is one request of the stateless revision, and its response.
type exchange struct {
	st        *stream
	r         *http.Request
	gone      <-chan struct{} // closed when nobody reads any more
	sparse    bool            // the host reads only the response
	malformed atomic.Bool     // the response says that the revision does not allow the request
	waits     atomic.Bool     // the request waits for a person, or did
	begins    chan struct{}   // closed when an event stream must begin because there is no response yet
	begin     func()          // closes begins
	admitted  func() error    // returns why the host would no longer be admitted
	end       func()          // ends the counting of the request
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

// Header returns a header's value, for the proxy to compare with the message. A repeated header has no value.
func (x *exchange) Header(name string) (value string, sent bool) {
	values := x.r.Header.Values(name)
	if len(values) != 1 {
		return "", len(values) > 0
	}
	return values[0], true
}

// exchange serves a message of the stateless revision. A host that closes the connection takes its request back.
func (s *Server) exchange(v visit, m rpc.Message) {
	ctx := v.r.Context()
	reads := accepts(v.r)
	from := proxy.Sender{View: v.view, Principal: string(v.who.Principal), Session: v.r.Header.Get(headerClient)}
	switch {
	case m.Method == "notifications/cancelled" && m.ID == nil: // SDKs send it when they close the connection
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
	defer end() // a host that goes away takes its request back
	x := newExchange(v.r, reads, end)
	x.admitted = func() error { return credentialError(s.set.Load().Door, v.who) }
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
		if out.comment() == nil { // so that the host knows at once that its request is being handled
			out.follow(ctx, x.st, 1, "", false)
		}
	default: // the host is gone, or no longer admitted
		expelled(v.w, m.ID)
	}
}

// first waits until it is clear how the response begins. The status of a refusal does not depend on how long it took.
// An event stream, with status 200, begins if there is something to say before the response, if a person is asked, or
// if the response is so late that a proxy may take the connection for dead.
func (x *exchange) first(ctx context.Context) (whole []byte, none bool) {
	if x.sparse {
		return x.st.first(ctx, nil)
	}
	defer time.AfterFunc(keepAlive, x.begin).Stop()
	return x.st.first(ctx, x.begins)
}

// status returns the HTTP status that the revision requires for a response.
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
