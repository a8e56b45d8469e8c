package hub

import (
	"context"
	"net/http"

	"callgate/gate/tools"
	"callgate/internal/companion/credentials"
)

// fromHeader is the header in which the hub passes on a client's address.
const fromHeader = "Callgate-From"

// ClientAddress returns the address of a request's client, for the record. It trusts the hub's header, not a client's.
func ClientAddress(r *http.Request) string {
	if membershipOf(r) != nil {
		return tools.Visible(r.Header.Get(fromHeader))
	}
	return r.RemoteAddr
}

// In these headers the hub tells a process which page a client is on, and which person's credential it has shown.
const (
	pageHeader   = "Callgate-Page"
	personHeader = "Callgate-Person"
)

// PageOf returns the origin of the page that sent a request, as the door knows it, or "". The origin that the browser
// itself names is part of what a passkey signs.
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

// PersonOf returns the person whose credential the client has shown, or "". It trusts the hub's header, not a client's.
func PersonOf(r *http.Request) string {
	if membershipOf(r) != nil {
		return r.Header.Get(personHeader)
	}
	person, _ := r.Context().Value(personKey{}).(string)
	return person
}

// WithPerson returns the request with the person whose credential the client has shown.
func WithPerson(r *http.Request, person string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), personKey{}, person))
}

// Vouched returns the client's credential according to the hub. ok is false if the client came through a door of this
// process.
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
