package endpoint

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"callgate/internal/rpc"
	"callgate/internal/tenants"
	"callgate/proxy"
)

// A server may be called messages: like all others, its hosts' sessions are found by their header.
func TestWhereHostsOfTheOldTransportPost(t *testing.T) {
	for path, want := range map[string]bool{
		"/messages": true, "/t/acme/messages": true,
		"/mcp/messages": false, "/mcp/agents/messages": false, "/sse/messages": false, "/t/acme/mcp/messages": false, "/t/messages": false, "/t/acme/x/messages": false,
	} {
		if isOldPost(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
}

// A request that comes while its session ends is not counted longer than the session.
func TestNothingBeginsInASessionThatHasEnded(t *testing.T) {
	ended := 0
	session := newSession(t.Context(), visit{who: Guest{Principal: "alice"}, room: &Room{}}, func() { ended++ })
	session.peer = closedPeer{}
	session.close()
	_, err := session.begin([]byte("1"), false, func() { ended++ })
	if err == nil || statusOf(err) != http.StatusNotFound || ended != 2 {
		t.Errorf("%v, and %d ended", err, ended)
	}
}

type closedPeer struct{ proxy.Peer }

func (closedPeer) Close() {}

// A host that goes away while its initialize waits for a turn leaves no session behind.
func TestNoSessionIsLeftOfAnInitializeThatIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := tenants.NewTurns(1)
		share := tenants.NewShare(tenants.Tenant{Name: "acme", Limits: tenants.Limits{InFlight: 1, Sessions: 1, Weight: 1}}, turns)
		turn, err := turns.Take(t.Context(), "flood", 1)
		if err != nil {
			t.Fatal(err)
		}
		defer turn()
		end, err := share.Session()
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{log: slog.New(slog.DiscardHandler)}
		s.open.sessions = map[string]*Session{}
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(""))
		v := visit{w: httptest.NewRecorder(), r: r, who: Guest{Principal: "alice"}, room: &Room{Tenant: "acme", Share: share}, held: &held{end: func() {}}}
		session := newSession(t.Context(), v, end)
		session.peer = closedPeer{}
		if err := s.open.register(session, v.held); err != nil {
			t.Fatal(err)
		}
		cancel()
		m, err := rpc.ParseRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
		if err != nil {
			t.Fatal(err)
		}
		s.answer(v, session, m)
		if n := share.Quota.Sessions(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// A token that was moved to another tenant opens nothing at the earlier one.
func TestATokenOfAnotherTenantIsNotKnown(t *testing.T) {
	door := NewTokens(Token{Name: "laptop", Tenant: "beta"})
	if door.knows("laptop", "acme") || !door.knows("laptop", "beta") || !door.knows("laptop", "") || door.knows("other", "beta") {
		t.Error("it is known where it is not for, or is not where it is")
	}
}
