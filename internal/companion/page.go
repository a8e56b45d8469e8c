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

// page holds the build of web/. It is committed, so that callgate builds on a machine without Node.
//
//go:embed page
var page embed.FS

// socketScheme returns the scheme of the page's WebSocket.
func socketScheme(d *hub.Door) string {
	if d != nil && d.Remote {
		return "wss://"
	}
	return "ws://"
}

// pagePolicy returns the page's Content-Security-Policy. The page may run and show what comes from this server, talk to
// it, and nothing else. Trusted Types take away the functions that turn text into HTML. host MUST be one of the
// server's own; it is named because older browsers do not accept 'self' for a WebSocket.
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
		"trusted-types worker", // only makes the URL of the service worker
	}, "; ")
}

// pageAPI serves the page and the protocol's schema.
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
	_, _ = w.Write(data) // the client may be gone
}

// contentType returns the type of a file of the build. It does not depend on the machine's tables.
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

// handleSchema serves the schema of the protocol. It needs no credential, because the schema is public.
func handleSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(docs.ProtocolSchema) // the client may be gone
}
