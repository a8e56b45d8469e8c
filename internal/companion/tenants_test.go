package companion

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/testserver/waits"
)

// A tenant's approver who asks too often has to wait, but approvers of other tenants do not.
func TestClientsOfOneTenantWait(t *testing.T) {
	acme, beta := start(t, newFakeBackend("s1")), start(t, newFakeBackend("s1"))
	ask := func(r *http.Request, s *Server) int {
		w := httptest.NewRecorder()
		s.serveFor(&hub.Door{}, w, r, func() credentials.Credential { return credentials.View })
		return w.Code
	}
	r := httptest.NewRequest("GET", "/api/sessions", nil)
	r.RemoteAddr = "127.0.0.1:1"
	waits.Until(t, "one who asks too often waits", func() bool {
		for acme.paces.allow(string(credentials.View) + " 127.0.0.1") {
		}
		return ask(r.Clone(t.Context()), acme.Server) == http.StatusTooManyRequests // otherwise enough time had passed for one more
	})
	if status := ask(r.Clone(t.Context()), beta.Server); status != http.StatusOK {
		t.Errorf("one of another tenant: %d", status)
	}
}
