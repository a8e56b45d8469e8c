package companion

import (
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"callgate/audit"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/idp"
)

// People sign in at an OpenID Connect provider. GET /signin sends their browser there, and GET /signin/done takes it
// back. A person who has signed in gets a personal credential that expires, and the page is paired with it.

const (
	signInPath   = "/signin"
	signedInPath = "/signin/done"
	// signInCookie binds a sign-in to the browser that began it.
	signInCookie = "callgate-signin"
)

// signInAPI serves the sign-in over REST.
type signInAPI struct {
	api
	tenantFront
	identity *idp.Provider
	pairings *pairings
	log      *slog.Logger
}

func (s signInAPI) routes(path func(string, methods)) {
	path("/api/signin", methods{"GET": func(w http.ResponseWriter, _ *http.Request) { // the page asks whether there is a provider
		issuer := ""
		if s.identity != nil {
			issuer = s.identity.Issuer()
		}
		rest.WriteJSON(w, http.StatusOK, map[string]string{"issuer": issuer})
	}})
	if s.identity == nil {
		return
	}
	path(signInPath, methods{"GET": s.handleSignIn})
	path(signedInPath, methods{"GET": s.handleSignedIn})
}

// handleSignIn redirects the browser to the provider. It needs no credential.
func (s signInAPI) handleSignIn(w http.ResponseWriter, r *http.Request) {
	d := hub.DoorOf(r)
	if d == nil {
		notSignedIn(w, http.StatusNotFound, "people sign in at the hub")
		return
	}
	location, state, err := s.identity.Begin(d.Origin(r.Host) + signedInPath)
	if err != nil {
		s.log.Error("companion: nobody can sign in", "error", err)
		notSignedIn(w, http.StatusBadGateway, "the sign-in provider does not answer; the log says why")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: signInCookie, Value: state + "|" + r.URL.Query().Get("tenant"), Path: signInPath, MaxAge: 600, HttpOnly: true, Secure: d.Remote, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, location, http.StatusFound)
}

// signIn gives the person a credential of this companion or of a tenant.
func (s signInAPI) signIn(r *http.Request, person idp.Person, chosen string, role credentials.Credential) (credential credentials.Credential, tenant string, err error) {
	account := s.identity.Issuer() + " " + person.Subject
	if len(person.Tenants) == 0 {
		credential, err = s.credentials.SignIn(role, person.Name, account)
		return credential, "", err
	}
	tenants := s.all()
	if tenants == nil {
		return "", "", errors.New("the tenants are not open yet: try again")
	}
	return tenants.SignIn(r.Context(), person.Tenants, chosen, role, person.Name, account)
}

// handleSignedIn takes the browser back from the provider and links it to the page with a pairing code.
func (s signInAPI) handleSignedIn(w http.ResponseWriter, r *http.Request) {
	d := hub.DoorOf(r)
	query := r.URL.Query()
	state := query.Get("state")
	cookie, err := r.Cookie(signInCookie)
	begun, chosen := "", ""
	if err == nil {
		begun, chosen, _ = strings.Cut(cookie.Value, "|")
	}
	if d == nil || err != nil || state == "" || begun != state {
		notSignedIn(w, http.StatusForbidden, "this browser has begun no such sign-in")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: signInCookie, Path: signInPath, MaxAge: -1, HttpOnly: true, Secure: d.Remote, SameSite: http.SameSiteLaxMode})
	if refused := query.Get("error"); refused != "" {
		notSignedIn(w, http.StatusForbidden, "the provider refused the sign-in: "+refused)
		return
	}
	person, err := s.identity.Finish(r.Context(), d.Origin(r.Host)+signedInPath, state, query.Get("code"))
	if err != nil {
		s.log.Warn("companion: a sign-in was refused", "error", err)
		notSignedIn(w, http.StatusForbidden, err.Error())
		return
	}
	role := credentials.View
	if person.Approve {
		role = credentials.Approve
	}
	credential, tenant, err := s.signIn(r, person, chosen, role)
	if err == nil {
		err = s.backend.Gate.Note("Signed in at "+s.identity.Issuer()+" as "+string(credential)+".", audit.Author{By: approverName(wire.ClientInfo{Kind: "web", Name: person.Name}), From: hub.ClientAddress(r)})
	}
	if err != nil {
		s.log.Warn("companion: a sign-in was refused", "name", person.Name, "error", err)
		notSignedIn(w, http.StatusForbidden, err.Error())
		return
	}
	page := "/#pair=" + url.QueryEscape(s.pairings.mint(credential, tenant, person.Name))
	// A redirect would count as a request from another site, which guard refuses.
	show(w, http.StatusOK, `<meta http-equiv="refresh" content="0;url=`+page+`"><p>Signed in as `+html.EscapeString(person.Name)+`. <a href="`+page+`">Go on</a>`)
}

// notSignedIn tells a person in a browser why, and offers another attempt.
func notSignedIn(w http.ResponseWriter, status int, why string) {
	show(w, status, `<p>You are not signed in: `+html.EscapeString(why)+`.</p><p><a href="`+signInPath+`">Sign in again</a></p>`)
}

// show writes a small page for a person.
func show(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	const head = `<!doctype html><meta name="viewport" content="width=device-width"><title>callgate</title>`
	_, _ = io.WriteString(w, head+body) // the client may be gone
}
