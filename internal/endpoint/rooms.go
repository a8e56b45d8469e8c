package endpoint

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"callgate/internal/budget"
	"callgate/internal/rpc"
	"callgate/internal/tenants"
	"callgate/proxy"
)

// Room is what admitted hosts get into: one worker's gate, with its servers. Sessions, tasks and handles of one room
// mean nothing in another. Proxy is required.
type Room struct {
	Tenant string // owner of the room; "" if callgate serves one worker
	Proxy  *proxy.Proxy
	Budget *budget.Budget // of messages in flight; nil means no bound
	Share  *tenants.Share // of the resources of all tenants; nil means no bound
}

// Rooms finds the rooms for guests.
type Rooms interface {
	// Enter returns the room of a guest, which stays open until leave is called. path is the tenant that the path
	// names, or "". The error is a *tenants.Refused if the guest may not come in.
	Enter(r *http.Request, who Guest, path string) (room *Room, leave func(), err error)
	// Knows reports whether the tenant still exists.
	Knows(tenant string) bool
	// Expel withdraws the approvals that wait for hosts without a session, except for known hosts. The caller MUST call
	// end, which ends all that the others have open, and waits for it.
	Expel(known func(tenant, who string) bool) (end func())
	// Farewell tells the hosts that listen in any room that the server is closing.
	Farewell()
}

// singleRoom holds the room of a server that has just one.
type singleRoom struct{ Room }

// One returns Rooms with a single room for all guests.
func One(p *proxy.Proxy, b *budget.Budget) Rooms { return &singleRoom{Room{Proxy: p, Budget: b}} }

// Enter implements Rooms.
func (o *singleRoom) Enter(*http.Request, Guest, string) (*Room, func(), error) {
	return &o.Room, func() {}, nil
}

// Knows implements Rooms.
func (o *singleRoom) Knows(string) bool { return true }

// Expel implements Rooms.
func (o *singleRoom) Expel(known func(tenant, who string) bool) (end func()) {
	return o.Proxy.Expel(func(who string) bool { return known("", who) })
}

// Farewell implements Rooms.
func (o *singleRoom) Farewell() { o.Proxy.Farewell() }

// methodCall is the method whose requests count as calls.
const methodCall = "tools/call"

// admit waits for the request's turn among all tenants. If it is a call, it counts until end is called. If ok is false,
// the request has been answered.
func (s *Server) admit(v visit, m rpc.Message) (end func(), ok bool) {
	end, err := v.room.Share.Begin(v.r.Context(), m.Method == methodCall)
	if err != nil {
		s.turnAway(v, m.ID, err)
	}
	return end, err == nil
}

// turnAway answers a request that cannot be served.
func (s *Server) turnAway(v visit, id []byte, err error) {
	var quota *tenants.QuotaError
	if errors.As(err, &quota) {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(max(quota.After, time.Second).Seconds()))))
	}
	refuse(v.w, statusOf(err), id, codeOf(err), err.Error())
}

// enter serves a request in the room that the credential and the path name.
func (s *Server) enter(v visit, serve func(visit)) {
	room, leave, err := s.o.Rooms.Enter(v.r, v.who, v.r.PathValue("tenant"))
	if err != nil {
		status, refused := http.StatusServiceUnavailable, (*tenants.Refused)(nil)
		switch {
		case errors.As(err, &refused):
			status = http.StatusForbidden
			s.refusals.write("a host was not let in to a tenant", "reason", err.Error(), v.r.RemoteAddr)
		case !errors.Is(err, context.Canceled):
			s.log.Error("a tenant could not be opened", "error", err)
			err = errors.New("callgate: this tenant cannot be opened now; the log says why")
		}
		refuse(v.w, status, nil, rpc.CodeInvalidRequest, err.Error())
		return
	}
	defer leave()
	if s.open.enters(v.held, room.Tenant); room.Tenant != "" && !s.o.Rooms.Knows(room.Tenant) { // just removed: Expel may have missed the request
		expelled(v.w, nil)
		return
	}
	v.room, v.view = room, proxy.View{Server: v.r.PathValue("server"), Agent: v.r.PathValue("agent")}
	if err := room.Proxy.Knows(v.view); err != nil {
		refuse(v.w, http.StatusNotFound, nil, rpc.CodeInvalidRequest, err.Error())
		return
	}
	serve(v)
}

// under returns a path in the room that the visitor's path names.
func (v visit) under(path string) string {
	if tenant := v.r.PathValue("tenant"); tenant != "" {
		return "/t/" + tenant + path
	}
	return path
}
