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

// held is what a host holds open with one request: the request while it is served, and after that the connection on
// which the host listens. It ends when the host is no longer admitted. open.mu guards it.
type held struct {
	who        Guest
	tenant     string   // tenant of the room that the request is in; may be ""
	credential []string // the Authorization header
	end        func()   // may be called more than once, and does not wait
	ended      bool     // it may begin nothing more
	listens    bool     // the request has been served, and left a connection open

	follows bool        // the request listens, and waits for no answer
	lasts   func() bool // whether the session that consists of this connection goes on; nil for others
}

// let reports whether the door still admits the credential, as the same guest.
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

// expelled answers a request whose host was expelled before its response began. A host that is gone does not read it.
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

// enters notes the tenant of the room that a request is in.
func (s *open) enters(h *held, tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.tenant = tenant
}

// tenantOf returns the tenant of the room that a request is in.
func (s *open) tenantOf(h *held) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.tenant
}

// follow notes that a request listens. lasts is nil unless the session ends with the request.
func (s *open) follow(h *held, lasts func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.follows, h.lasts = true, lasts
}

// outlives reports whether what is held goes on although its credential has expired. A request is answered, because its
// call may be half done. A host that listens comes back with the next credential, so its connection ends, unless that
// is the session.
func (s *open) outlives(h *held, door Door) bool {
	s.mu.Lock()
	follows, lasts, tenant := h.follows, h.lasts, h.tenant
	s.mu.Unlock()
	if h.who.until.IsZero() || time.Now().Before(h.who.until) || !door.knows(h.who.Principal, tenant) {
		return false
	}
	return !follows || lasts != nil && lasts()
}

// release ends the hold of a served request, unless it left a connection open.
func (s *open) release(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.listens {
		delete(s.held, h)
	}
}

// begin runs f, which follows the connection, on a goroutine that Close waits for. It returns false if the server is
// closing or the host is no longer admitted. f MUST end with unlisten.
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

// hangUp ends everything that is held. Otherwise Close would wait for a host that listens and does not read.
func (s *open) hangUp() { s.endUnless(func(*held) bool { return false }) }

// endUnless ends what is held, except that for which stays returns true.
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

// evictions ends the sessions and requests of hosts that may no longer connect.
type evictions struct {
	server  *Server
	secrets map[Principal]secretSum // the hosts' secrets, as recheck last saw them
}

// expel ends what is open for hosts that the door no longer admits: requests and streams whose credential it refuses,
// sessions whose principal it does not know, and both for tenants that no longer exist.
func (e *evictions) expel(door Door) {
	e.turnOut(func(h *held) bool {
		tenant := e.server.open.tenantOf(h)
		return (tenant == "" || e.server.o.Rooms.Knows(tenant)) && (h.let(e.server.ctx, door) || e.server.open.outlives(h, door))
	}, func(session *Session) bool {
		return door.knows(session.who.Principal, session.room.Tenant) && e.server.o.Rooms.Knows(session.room.Tenant)
	}, func(tenant, who string) bool { return door.knows(Principal(who), tenant) })
}

// recheck ends, as long as the server runs, what is open under a credential that was replaced or removed. Under an
// expired credential, it ends what only listens. Running calls finish, and waiting ones will not run. A session goes
// on, because its host comes back with the next credential.
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

// tellReplaced reports the names whose secret was replaced or is gone.
func (e *evictions) tellReplaced(before map[Principal]secretSum) {
	for name, now := range e.secrets {
		if was := before[name]; was != (secretSum{}) && was != now && e.server.o.Replaced != nil {
			e.server.o.Replaced(string(name), now == secretSum{})
		}
	}
}

// turnOut ends the requests and streams for which stays returns false, the sessions for which session does, and what
// unknown hosts have open without a session. It first withdraws what waits there for a person, so that the record does
// not blame the host.
func (e *evictions) turnOut(stays func(*held) bool, session func(*Session) bool, known func(tenant, who string) bool) {
	for _, one := range e.server.open.ofOthers(session) {
		e.server.log.Info("a session ends: its host may no longer connect", "host", one.who.Principal)
		one.peer.Expelled()
	}
	closeRest := e.server.o.Rooms.Expel(known)
	e.server.open.endUnless(stays)
	for _, one := range e.server.open.ofOthers(session) { // also those that requests began before they were ended
		e.server.wg.Go(func() { e.server.open.drop(one) })
	}
	e.server.wg.Go(closeRest)
}

// credentialError returns why a credential is no longer valid, or nil while it is.
func credentialError(door Door, who Guest) error {
	if !door.holding()(who) {
		return errors.New("the credential of its host is no longer valid")
	}
	return nil
}

// ofOthers returns the sessions for which known returns false.
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
