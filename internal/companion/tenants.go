package companion

import (
	"context"
	"net/http"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Tenants gives access to the companions of tenants. A client that connects to the front companion with a tenant's
// credential is served by that tenant's companion, and sees nothing of the others.
type Tenants interface {
	// People returns the companion of the tenant that the token belongs to, and a function that returns the token's
	// current credential there. The tenant stays open until leave is called. people is nil if the tenant cannot be
	// opened now. may is nil if the token belongs to no tenant.
	People(ctx context.Context, token string) (people *Server, may func() credentials.Credential, leave func())
	// Store returns the credentials of a tenant. For an unknown tenant the store is empty.
	Store(tenant string) *credentials.Store
	// SignIn gives a person a credential of one of the tenants that the provider named. chosen picks one; it may be ""
	// if there is only one.
	SignIn(ctx context.Context, named []string, chosen string, role credentials.Credential, person, account string) (credential credentials.Credential, tenant string, err error)
}

// here lists the paths that the front companion itself answers for everybody.
var here = map[string]bool{"/api/proof": true, "/api/pair": true, "/api/pair/redeem": true, "/api/signin": true, signInPath: true, signedInPath: true}

// serveTenant serves a request with a tenant's credential by that tenant's companion. It returns false for all others.
func (s *Server) serveTenant(d *hub.Door, w http.ResponseWriter, r *http.Request, token string) bool {
	tenants := s.tenants.all()
	if tenants == nil || token == "" {
		return false
	}
	people, may, leave := tenants.People(r.Context(), token)
	switch {
	case may == nil:
		return false
	case people == nil:
		w.Header().Set("Retry-After", "5")
		rest.WriteError(w, http.StatusServiceUnavailable, wire.CodeInternal, "this tenant cannot be opened now; the log says why")
		return true
	}
	defer leave()
	if here[r.URL.Path] {
		rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, "a credential of a tenant opens nothing of the others: ask at the tenant's own address")
		return true
	}
	people.serveFor(d, w, r, may)
	return true
}

// storeOf returns the credentials of a tenant, or those of this companion if there are no tenants.
func (f tenantFront) storeOf(tenant string) *credentials.Store {
	if tenants := f.all(); tenants != nil {
		return tenants.Store(tenant)
	}
	return f.credentials
}

// tenantFront holds the tenants behind a companion, and the companion's own credentials.
type tenantFront struct {
	tenants     func() Tenants // without tenants it is nil or returns nil
	credentials *credentials.Store
}

func (f tenantFront) all() Tenants {
	if f.tenants == nil {
		return nil
	}
	return f.tenants()
}

// serveFor serves a client that the front companion has let in. Clients of one tenant do not wait for another's.
func (s *Server) serveFor(d *hub.Door, w http.ResponseWriter, r *http.Request, may func() credentials.Credential) {
	if !s.enter() {
		rest.WriteError(w, http.StatusServiceUnavailable, wire.CodeInternal, "this tenant closes")
		return
	}
	defer s.serving.Done()
	shown := may()
	if s.tooFast(d, w, r, shown) {
		return
	}
	person, refused := s.may.proven(r, shown)
	if refused != nil {
		rest.WriteError(w, http.StatusForbidden, refused.Code, refused.Message)
		return
	}
	r = hub.WithPerson(hub.WithVouched(r, func() credentials.Credential { return may().Role() }), person)
	s.hub.Route(s.api).ServeHTTP(w, r)
}
