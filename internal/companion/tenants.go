package companion

import (
	"context"
	"net/http"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Tenants has the companions of tenants. Who comes in at the one in front of them with a credential of a tenant is led
// to that tenant's, and sees nothing of the others.
type Tenants interface {
	// People returns the companion of the tenant whose credential the token is, and what it opens there now. The tenant
	// stays open until leave. The companion is nil when the tenant cannot be opened now, and so is may when it is not a
	// tenant's.
	People(ctx context.Context, token string) (people *Server, may func() credentials.Credential, leave func())
	// Store has the credentials of a tenant; of a name that is not a tenant's, none.
	Store(tenant string) *credentials.Store
	// SignIn gives a person a credential of one of the tenants that the provider named: the chosen
	// one, which may be "" when there is but one.
	SignIn(ctx context.Context, named []string, chosen string, role credentials.Credential, person, account string) (credential credentials.Credential, tenant string, err error)
}

// here are the paths that the front itself answers for everybody.
var here = map[string]bool{"/api/proof": true, "/api/pair": true, "/api/pair/redeem": true, "/api/signin": true, signInPath: true, signedInPath: true}

// lead answers a request with the companion of the tenant whose credential it shows. It is false for all other
// requests.
func (s *Server) lead(d *hub.Door, w http.ResponseWriter, r *http.Request, token string) bool {
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

// storeOf has the credentials of a tenant; those of this companion when there are no tenants.
func (f fronted) storeOf(tenant string) *credentials.Store {
	if tenants := f.all(); tenants != nil {
		return tenants.Store(tenant)
	}
	return f.credentials
}

// fronted are the tenants that a companion stands in front of, and its own credentials.
type fronted struct {
	tenants     func() Tenants // nil, or what it returns is, without tenants
	credentials *credentials.Store
}

func (f fronted) all() Tenants {
	if f.tenants == nil {
		return nil
	}
	return f.tenants()
}

// serveFor answers a client whom the front has let in by its door. Clients of one tenant wait for none of another.
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
