package hub

import (
	"context"
	"net/http"

	"callgate/gate/tools"
	"callgate/internal/companion/credentials"
)

// fromHeader is where the hub says that the client of a request which it passes on came from.
const fromHeader = "Callgate-From"

// ClientAddress is where the client of a request is, for the record: the address that it came from. The hub's word
// counts, a client's does not.
func ClientAddress(r *http.Request) string {
	if membershipOf(r) != nil {
		return tools.Visible(r.Header.Get(fromHeader))
	}
	return r.RemoteAddr
}

// By these headers the hub says to a process on which page a client is, and whose credential it has shown.
const (
	pageHeader   = "Callgate-Page"
	personHeader = "Callgate-Person"
)

// PageOf is the origin of the page that a request comes from, as the door knows it. The browser's own word is signed.
func PageOf(r *http.Request) string {
	if membershipOf(r) != nil {
		return r.Header.Get(pageHeader)
	}
	if d := DoorOf(r); d != nil {
		return d.Origin(r.Host)
	}
	return ""
}

type personKey struct{}

// PersonOf is whose credential the client has shown, "" when it is nobody's in particular. The hub's word counts, a
// client's does not.
func PersonOf(r *http.Request) string {
	if membershipOf(r) != nil {
		return r.Header.Get(personHeader)
	}
	person, _ := r.Context().Value(personKey{}).(string)
	return person
}

// WithPerson has the request say whose credential the client has shown.
func WithPerson(r *http.Request, person string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), personKey{}, person))
}

// Vouched is what the hub says that the client of a request may do; it is not ok when the client came in by a door of
// this process.
func Vouched(r *http.Request) (may credentials.Credential, ok bool) {
	if may, ok := r.Context().Value(vouchedKey{}).(func() credentials.Credential); ok {
		return may(), true
	}
	m := membershipOf(r)
	if m == nil {
		return "", false
	}
	return m.credential(r), true
}
