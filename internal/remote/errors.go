package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ErrSessionLost is returned if the server no longer knows the session. The conversation is over.
var ErrSessionLost = errors.New("the server has ended the session")

// ErrNotRun is the error of a request that was refused for that reason. It may be sent again in another session.
var ErrNotRun = errors.New("the server has ended the session, and did not run the request")

// AuthError is returned if the server requires a credential.
type AuthError struct {
	Err error // why there is no credential; nil if the server refused one, or none was sent
}

func (e *AuthError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "it requires a login (HTTP 401)"
}

func (e *AuthError) Unwrap() error { return e.Err }

// PassingError is a temporary error of Config.Authorize. Nobody has to act, and it says nothing about the server.
type PassingError struct{ Err error }

func (e *PassingError) Error() string { return e.Err.Error() }
func (e *PassingError) Unwrap() error { return e.Err }

// Refusal is a server's answer to a request without the right credential.
type Refusal struct {
	Credential string   // the credential that was sent; may be ""
	Status     int      // 401 or 403
	Challenge  []string // the WWW-Authenticate headers
}

// Unknown reports whether the server does not know who calls. If false, it knows, but does not allow the request.
func (r *Refusal) Unknown() bool { return r.Status == http.StatusUnauthorized }

// refusal returns how the response refuses the credential, or nil if it does not.
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

// errNoAnswer is the error for a request whose stream ended too early.
var errNoAnswer = errors.New("the connection ended before the answer; the server may or may not have run the request")

func statusError(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 600)) // a body that cannot be read explains nothing
	return &StatusError{Code: response.StatusCode, Body: excerpt(body)}
}

// excerpt returns the beginning of a server's text, on one line and without control characters.
func excerpt(text []byte) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), 300)]), "\uFFFD")
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)), " ")
}
