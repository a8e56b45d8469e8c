package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrSessionLost says that the server does not know the session any more: the conversation is over.
var ErrSessionLost = errors.New("the server has ended the session")

// ErrNotRun is what a request hears that was refused because of that: it may be sent again in another session.
var ErrNotRun = errors.New("the server has ended the session, and did not run the request")

// AuthError says that the server wants to know who calls.
type AuthError struct {
	Err error // why there is no credential; nil when the server refused one, or none was there
}

func (e *AuthError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "it requires a login (HTTP 401)"
}

func (e *AuthError) Unwrap() error { return e.Err }

// PassingError is a temporary error of Config.Authorize. Nobody has to do anything, and it says nothing about the
// server.
type PassingError struct{ Err error }

func (e *PassingError) Error() string { return e.Err.Error() }
func (e *PassingError) Unwrap() error { return e.Err }

// Refusal is what a server says to a request that does not have the right credential.
type Refusal struct {
	Credential string   // that was sent, "" for none
	Status     int      // 401 or 403
	Challenge  []string // the WWW-Authenticate headers
}

// Unknown reports whether the server wants to know who calls. Otherwise it knows that, but does not allow the request.
func (r *Refusal) Unknown() bool { return r.Status == http.StatusUnauthorized }

// refusal returns what the response to a request with the credential says of it; nil when that is nothing.
func refusal(response *http.Response, credential string) *Refusal {
	challenge := response.Header.Values("WWW-Authenticate")
	if response.StatusCode != http.StatusUnauthorized && (response.StatusCode != http.StatusForbidden || len(challenge) == 0) {
		return nil
	}
	return &Refusal{Credential: credential, Status: response.StatusCode, Challenge: challenge}
}

// StatusError is an HTTP response that is not an MCP message.
type StatusError struct {
	Code int
	Body string // its beginning
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers HTTP %d %s", e.Code, http.StatusText(e.Code))
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text
}

// errNoAnswer is for requests whose stream ended too early.
var errNoAnswer = errors.New("the connection ended before the answer; the server may or may not have run the request")

func statusError(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 600)) // what cannot be read does not explain anything
	return &StatusError{Code: response.StatusCode, Body: excerpt(body)}
}

// excerpt is the beginning of text of the server, on one line and without control characters.
func excerpt(text []byte) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), 300)]), "\uFFFD")
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)), " ")
}
