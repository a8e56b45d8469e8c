package endpoint

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"callgate/internal/periodic"
	"callgate/internal/rpc"
)

// held is what a host holds open with one request: the request while it is served, and the connection on which it
// listens after that. It ends when the host is not let in any more. The server's open guards it.
type held struct {
	who        Guest
	tenant     string   // whose room the request is in; "" until it is in one
	credential []string // the Authorization header
	end        func()   // may be called more than once, and does not wait
	ended      bool     // nothing more is begun by it
	listens    bool     // the request has been served, and left a line

	follows bool        // it is for listening, not for an answer
	lasts   func() bool // whether the session that is this line goes on; nil for others
}

// let has the door look at the credential again.
func (h *held) let(ctx context.Context, door Door) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return false
	}
	if h.credential != nil {
		r.Header["Authorization"] = h.credential
	}
	who, err := door.Admit(r)
	return err == nil && who.Principal == h.who.Principal && slices.Equal(who.Tenants, h.who.Tenants)
}

var errExpelled = &httpError{http.StatusUnauthorized, rpc.CodeInvalidRequest, "callgate: the credential of this host is no longer valid"}

// expelled answers a request that ended before its response began. A host that is gone does not read it.
func expelled(w http.ResponseWriter, id []byte) {
	refuse(w, errExpelled.status, id, errExpelled.code, errExpelled.text)
}

// hold registers what a request holds. The caller MUST release it.
func (s *open) hold(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[*held]struct{}{}
	}
	s.held[h] = struct{}{}
}

// enters notes whose room a request is in.
func (s *open) enters(h *held, tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.tenant = tenant
}

// tenantOf is whose room a request is in.
func (s *open) tenantOf(h *held) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.tenant
}

// follow notes that a request is for listening. lasts is nil unless the session ends with it.
func (s *open) follow(h *held, lasts func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.follows, h.lasts = true, lasts
}

// outlives reports whether what is held goes on although its credential has ended by itself. A request is answered,
// because its call may be half done; who listens comes back with the next credential, except where the line is the
// session.
func (s *open) outlives(h *held, door Door) bool {
	s.mu.Lock()
	follows, lasts, tenant := h.follows, h.lasts, h.tenant
	s.mu.Unlock()
	if h.who.until.IsZero() || time.Now().Before(h.who.until) || !door.knows(h.who.Principal, tenant) {
		return false
	}
	return !follows || lasts != nil && lasts()
}

// release is for a request that has been served. A line that it left goes on.
func (s *open) release(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.listens {
		delete(s.held, h)
	}
}

// begin runs f, which follows the line, on a goroutine that Close waits for, unless the server closes or the host is
// not let in any more. F MUST end with unlisten.
func (s *open) begin(f func(), h *held, line *waiting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || h.ended {
		return false
	}
	h.listens, h.end = true, func() { _ = line.conn.Close() }
	s.following.Go(f)
	return true
}

func (s *open) unlisten(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, h)
}

// hangUp ends all that is held. A host that listens, and does not read what it is sent, would be waited for.
func (s *open) hangUp() { s.endUnless(func(*held) bool { return false }) }

// endUnless ends what is held, but for what stays.
func (s *open) endUnless(stays func(*held) bool) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	all = slices.DeleteFunc(all, stays)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range all {
		h.ended = true
		h.end()
	}
}

// evictions end what hosts have open that are not let in any more.
type evictions struct {
	server  *Server
	secrets map[Principal]secretSum // of the hosts, as recheck saw them last
}

// expel ends what is open of hosts that the door does not let in any more: requests and streams whose credential it
// refuses, sessions of which it knows nobody, and both of a tenant that is none any more.
func (e *evictions) expel(door Door) {
	e.turnOut(func(h *held) bool {
		tenant := e.server.open.tenantOf(h)
		return (tenant == "" || e.server.o.Rooms.Knows(tenant)) && (h.let(e.server.ctx, door) || e.server.open.outlives(h, door))
	}, func(session *Session) bool {
		return door.knows(session.who.Principal, session.room.Tenant) && e.server.o.Rooms.Knows(session.room.Tenant)
	}, func(tenant, who string) bool { return door.knows(Principal(who), tenant) })
}

// recheck ends, until the server does, what is open by a credential that was replaced or taken away. Of one that has
// ended by itself it ends what listens: calls that run end as they do, those that wait do not run, and a session goes on,
// because its host comes back with the next credential.
func (e *evictions) recheck() {
	for range periodic.Every(e.server.ctx, fresh) {
		door := e.server.set.Load().Door
		good, before := door.holding(), e.secrets
		e.secrets = door.secrets()
		e.tellReplaced(before)
		e.turnOut(func(h *held) bool { return good(h.who) || e.server.open.outlives(h, door) },
			func(session *Session) bool { return session.who.secret == (secretSum{}) || good(session.who) },
			func(_, who string) bool { return before[Principal(who)] == e.secrets[Principal(who)] })
	}
}

// tellReplaced tells which names have another secret than before, or none any more.
func (e *evictions) tellReplaced(before map[Principal]secretSum) {
	for name, now := range e.secrets {
		if was := before[name]; was != (secretSum{}) && was != now && e.server.o.Replaced != nil {
			e.server.o.Replaced(string(name), now == secretSum{})
		}
	}
}

// turnOut ends what does not stay of requests and streams, sessions, and what hosts have open without a session. What
// waits there for a person is withdrawn first, so that the record does not say that the host did it.
func (e *evictions) turnOut(stays func(*held) bool, session func(*Session) bool, known func(tenant, who string) bool) {
	for _, one := range e.server.open.ofOthers(session) {
		e.server.log.Info("a session ends: its host may no longer connect", "host", one.who.Principal)
		one.peer.Expelled()
	}
	closeRest := e.server.o.Rooms.Expel(known)
	e.server.open.endUnless(stays)
	for _, one := range e.server.open.ofOthers(session) { // also those that the requests began before they were ended
		e.server.wg.Go(func() { e.server.open.drop(one) })
	}
	e.server.wg.Go(closeRest)
}

// good says why a credential is not good any more; nil while it is.
func good(door Door, who Guest) error {
	if !door.holding()(who) {
		return errors.New("the credential of its host is no longer valid")
	}
	return nil
}

// ofOthers are the sessions that are not known.
func (s *open) ofOthers(known func(*Session) bool) (list []*Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if !known(session) {
			list = append(list, session)
		}
	}
	return list
}
