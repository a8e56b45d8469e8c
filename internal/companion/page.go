package companion

import (
	"cmp"
	"embed"
	"net/http"
	"path"
	"strings"

	"callgate/docs"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// page holds what web/ builds. It is committed, so that a machine without Node builds callgate.
//
//go:embed page
var page embed.FS

// socketScheme is the scheme of the page's WebSocket.
func socketScheme(d *hub.Door) string {
	if d != nil && d.Remote {
		return "wss://"
	}
	return "ws://"
}

// pagePolicy is what the page may do: run and show what comes from this server, talk to it, and nothing else.
// Trusted Types take the functions that make HTML of text away from its scripts. host MUST be one of the
// server's own; it is named because older browsers do not take 'self' for a WebSocket.
func pagePolicy(scheme, host string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self'",
		"img-src 'self'",
		"manifest-src 'self'",
		"connect-src 'self' " + scheme + host,
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types worker", // which makes the address of the service worker alone
	}, "; ")
}

// pageAPI answers REST about the page.
type pageAPI struct{}

func (s pageAPI) routes(path func(string, methods)) {
	path("/{$}", methods{"GET": s.handlePage})
	path("/page/{file}", methods{"GET": s.handlePage})
	path("/protocol.schema.json", methods{"GET": handleSchema})
}

func (s pageAPI) handlePage(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(r.PathValue("file"), "index.html")
	data, err := page.ReadFile("page/" + name)
	if err != nil {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "there is nothing at this path: docs/reference.txt lists the requests")
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy(socketScheme(hub.DoorOf(r)), r.Host)) // guard has checked Host
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Type", contentType(name))
	if name == "sw.js" {
		h.Set("Service-Worker-Allowed", "/")
	}
	_, _ = w.Write(data) // a client that is gone gets nothing
}

// contentType is of the files that the build makes, and depends on no table of the machine.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// handleSchema serves the schema of the protocol. It is the same for everybody and holds no secret, so no
// credential is asked for.
func handleSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(docs.ProtocolSchema) // a client that is gone gets nothing
}
