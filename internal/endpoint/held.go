package endpoint

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"callgate/internal/rpc"
)

// held is what a host holds open with one request: the request while it is served, and the connection on which it
// listens after that. It ends when the host is not let in any more. The server's open guards it.
type held struct {
	who        Principal
	tenants    []string // that the credential named
	tenant     string   // whose room the request is in; "" until it is in one
	credential []string // the Authorization header
	end        func()   // may be called more than once, and does not wait
	ended      bool     // nothing more is begun by it
	listens    bool     // the request has been served, and left a line
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
	return err == nil && who.Principal == h.who && slices.Equal(who.Tenants, h.tenants)
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

// expel ends what is open of hosts that the door does not let in any more: requests and streams whose credential it
// refuses, sessions of which it knows nobody, and both of a tenant that is none any more.
func (s *Server) expel(door Door) {
	s.open.endUnless(func(h *held) bool {
		tenant := s.open.tenantOf(h)
		return (tenant == "" || s.o.Rooms.Knows(tenant)) && h.let(s.ctx, door)
	})
	known := func(session *Session) bool {
		return door.knows(session.who, session.room.Tenant) && s.o.Rooms.Knows(session.room.Tenant)
	}
	for _, session := range s.open.ofOthers(known) {
		s.log.Info("a session ends: its host is not let in any more", "host", session.who)
		s.wg.Go(func() { s.open.drop(session) })
	}
	s.wg.Go(func() { s.o.Rooms.Expel(func(tenant, who string) bool { return door.knows(Principal(who), tenant) }) })
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
