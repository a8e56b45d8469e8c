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

// Room is what hosts come into: one worker's gate, with its servers. Sessions, tasks and handles of one room mean
// nothing in another. Proxy is required.
type Room struct {
	Tenant string // whose it is; "" when callgate serves one worker
	Proxy  *proxy.Proxy
	Budget *budget.Budget // of messages in flight; nil has no bound
	Share  *tenants.Share // of what all tenants use; nil has no bound
}

// Rooms has the rooms.
type Rooms interface {
	// Enter returns the room of a guest, which stays open until leave. path is the tenant that the path names, "" for
	// none. The error is a *tenants.Refused for who may not come in.
	Enter(r *http.Request, who Guest, path string) (room *Room, leave func(), err error)
	// Knows reports whether there still is such a tenant.
	Knows(tenant string) bool
	// Expel withdraws what waits for a person of hosts without a session, but for those who are known. The caller MUST
	// call end, which ends all that they have open, and waits for it.
	Expel(known func(tenant, who string) bool) (end func())
	// Farewell tells those who wait in any room that the server ends.
	Farewell()
}

// only is the room of a server that has one.
type only struct{ Room }

// One has a single room for all guests.
func One(p *proxy.Proxy, b *budget.Budget) Rooms { return &only{Room{Proxy: p, Budget: b}} }

// Enter implements Rooms.
func (o *only) Enter(*http.Request, Guest, string) (*Room, func(), error) {
	return &o.Room, func() {}, nil
}

// Knows implements Rooms.
func (o *only) Knows(string) bool { return true }

// Expel implements Rooms.
func (o *only) Expel(known func(tenant, who string) bool) (end func()) {
	return o.Proxy.Expel(func(who string) bool { return known("", who) })
}

// Farewell implements Rooms.
func (o *only) Farewell() { o.Proxy.Farewell() }

// methodCall is the request that counts as a call.
const methodCall = "tools/call"

// admit waits for the request's turn among all tenants, and counts it in until end if it is a call. A request that
// cannot be served was answered.
func (s *Server) admit(v visit, m rpc.Message) (end func(), ok bool) {
	end, err := v.room.Share.Begin(v.r.Context(), m.Method == methodCall)
	if err != nil {
		s.turnAway(v, m.ID, err)
	}
	return end, err == nil
}

// turnAway answers a request that is not served.
func (s *Server) turnAway(v visit, id []byte, err error) {
	var quota *tenants.QuotaError
	if errors.As(err, &quota) {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(max(quota.After, time.Second).Seconds()))))
	}
	refuse(v.w, statusOf(err), id, codeOf(err), err.Error())
}

// enter lets a guest into the room that the credential and the path name.
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
	if s.open.enters(v.held, room.Tenant); room.Tenant != "" && !s.o.Rooms.Knows(room.Tenant) { // at this moment: who expels may not have seen it
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

// under is a path of the room that the visitor named by it.
func (v visit) under(path string) string {
	if tenant := v.r.PathValue("tenant"); tenant != "" {
		return "/t/" + tenant + path
	}
	return path
}
