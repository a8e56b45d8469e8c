// Package rest has what all HTTP responses share: form, refusals, and how a panic fails only its own request.
package rest

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/internal/companion/wire"
	"callgate/internal/jsonx"
)

// SaysJSON reports whether the body is declared as JSON. It returns true for methods other than POST and PUT.
func SaysJSON(r *http.Request) bool {
	return r.Method != http.MethodPost && r.Method != http.MethodPut || JsonBody(r)
}

// JsonBody reports whether the body is declared as JSON. A form on a foreign page cannot declare that.
func JsonBody(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// Patience is how long a request may take that waits for a person, a model or many files.
const Patience = 15 * time.Minute

// Patiently gives the response Patience, instead of the time that the HTTP server gives others. Call it only for clients
// that have shown a credential.
func Patiently(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(Patience)) // a response that is only recorded has no deadline
}

func Unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	WriteError(w, http.StatusUnauthorized, wire.CodeUnauthorized, "a valid credential is required: Authorization: Bearer TOKEN, with a token from the data directory's folder credentials. callgate doctor names files there that cannot be used")
}

func WriteError(w http.ResponseWriter, status int, code, message string) {
	WriteJSON(w, status, map[string]wire.RestError{"error": {Code: code, Message: message}})
}

func WriteJSON(w http.ResponseWriter, status int, v any) {
	data, err := wire.Encode(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"INTERNAL","message":"the answer could not be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may be gone
}

// Bearer returns the token of the request, or "". Browsers cannot set headers for WebSockets, so the token may also be
// the second of the subprotocols "callgate.v1, bearer.TOKEN".
func Bearer(r *http.Request, subprotocols []string) string {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		scheme, token, _ := strings.Cut(values[0], " ")
		if len(values) != 1 || !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return token
	}
	if len(subprotocols) == 2 && subprotocols[0] == wire.Subprotocol {
		token, _ := strings.CutPrefix(subprotocols[1], "bearer.")
		return token
	}
	return ""
}

// Listed returns the answer with a list, and with the problems that make it incomplete.
func Listed(name string, list any, problems []string) any {
	answer := map[string]any{name: list}
	if len(problems) > 0 {
		answer["problems"] = problems
	}
	return answer
}

// Decode decodes JSON from a client's request or frame. Duplicate members and invalid UTF-8 are errors. Names are
// case-sensitive, and unknown members are ignored.
func Decode(data []byte, into any) *wire.Refusal {
	if err := json.Unmarshal(data, into); err != nil {
		return wire.Refuse(wire.CodeBadMessage, "not a valid message: %v", jsonx.Explain(err))
	}
	return nil
}
