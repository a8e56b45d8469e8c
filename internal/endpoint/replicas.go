package endpoint

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"callgate/internal/forward"
	"callgate/internal/rpc"
	"callgate/proxy"
)

// Replicas are the servers behind one address. A host may reach any of them. A session lives at the server that began
// it.
type Replicas interface {
	// SessionID returns a new id for a session of this server, which tells where the session lives.
	SessionID() string
	// Home returns which process of which server has the session with that id. elsewhere is false for this server's own
	// sessions, and for other ids.
	Home(id string) (name, epoch string, elsewhere bool)
	// DialHosts opens a connection to that process' ServeReplicas.
	DialHosts(ctx context.Context, name, epoch string) (net.Conn, error)
}

// relay passes requests on to other replicas. It is nil if there are none.
type relay struct {
	replicas Replicas
	proxy    *httputil.ReverseProxy
}

func newRelay(replicas Replicas, log *slog.Logger) *relay {
	if replicas == nil {
		return nil
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			name, epoch, err := parseHome(address)
			if err != nil {
				return nil, err
			}
			return replicas.DialHosts(ctx, name, epoch)
		},
		MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}
	return &relay{replicas, &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", homeOf(p.In.Context()).address
			p.Out.Body = forward.Body(p.Out.Body)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			to := homeOf(r.Context())
			switch {
			case r.Context().Err() != nil: // the host is gone, or no longer admitted
				expelled(w, to.request)
			case errors.Is(err, ErrGone) && to.request != nil:
				writeJSON(w, http.StatusOK, rpc.Error(to.request, rpc.CodeInvalidParams, "the "+to.what+" is lost: the replica that it ran at is gone. It may have had effects, and is not run again"))
			case errors.Is(err, ErrGone):
				refuse(w, http.StatusNotFound, nil, codeNoSession, "session not found: the replica that it lived at is gone: initialize again")
			default:
				log.Warn("a request could not be passed on to another replica", "error", err)
				w.Header().Set("Retry-After", "1")
				refuse(w, http.StatusServiceUnavailable, to.request, rpc.CodeInternal, "the replica that this belongs to cannot be reached; try again")
			}
		},
	}}
}

// passOn passes a request on to another replica's process, which checks the credential and the tenant too.
func (r *relay) passOn(v visit, name, epoch string, to home) {
	to.address = hex.EncodeToString([]byte(name)) + "." + epoch
	expect(v.w, 0) // the other replica sets the same limit
	r.proxy.ServeHTTP(v.w, v.r.WithContext(context.WithValue(v.r.Context(), homeKey{}, to)))
}

// sessions passes on requests of sessions that live elsewhere, if the door admits the sender, see Server.known. All
// other requests go to next.
func (r *relay) sessions(known func(serve func(visit)) http.HandlerFunc, next http.Handler) http.Handler {
	if r == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		id := req.Header.Get(headerSession)
		if isOldPost(req.URL.Path) {
			id = req.URL.Query().Get("sessionId")
		}
		name, epoch, elsewhere := "", "", false
		if id != "" {
			name, epoch, elsewhere = r.replicas.Home(id)
		}
		if !elsewhere {
			next.ServeHTTP(w, req)
			return
		}
		known(func(v visit) { r.passOn(v, name, epoch, home{}) })(w, req)
	})
}

// isOldPost reports whether the path is where hosts of the 2024-11-05 transport post. A server can be called messages
// too.
func isOldPost(path string) bool {
	if named, ok := strings.CutPrefix(path, "/t/"); ok {
		_, path, _ = strings.Cut(named, "/")
		path = "/" + path
	}
	return path == "/messages"
}

// exchange passes on a stateless host's request that continues a call or tasks, if all of those run at one other
// replica. It returns false if this server must serve the request.
func (r *relay) exchange(v visit, m rpc.Message) bool {
	if r == nil || !m.IsRequest() {
		return false
	}
	type process struct{ name, epoch string }
	var at process
	for i, id := range proxy.Places(m) {
		name, epoch, elsewhere := r.replicas.Home(id)
		if !elsewhere || i > 0 && at != (process{name, epoch}) {
			return false
		}
		at = process{name, epoch}
	}
	if at.epoch == "" {
		return false
	}
	what := "call"
	if strings.HasPrefix(m.Method, "tasks/") || m.Method == "subscriptions/listen" {
		what = "task"
	}
	v.r.Body, v.r.ContentLength = io.NopCloser(bytes.NewReader(m.Raw)), int64(len(m.Raw))
	r.passOn(v, at.name, at.epoch, home{what: what, request: m.ID})
	return true
}

// home says where a request goes, and how to answer it if that process is gone.
type home struct {
	address string
	what    string // what the request continues; "" for a session
	request []byte // the request's id; nil for a session
}

// ErrGone is what DialHosts returns for a process that has ended.
var ErrGone = errors.New("the replica is gone")

type homeKey struct{}

func homeOf(ctx context.Context) home { return ctx.Value(homeKey{}).(home) }

// parseHome reads an address that passOn made.
func parseHome(address string) (name, epoch string, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", "", err
	}
	text, epoch, _ := strings.Cut(host, ".")
	raw, err := hex.DecodeString(text)
	if err != nil {
		return "", "", fmt.Errorf("%q names no replica: %w", address, err)
	}
	return string(raw), epoch, nil
}

// ServeReplicas answers what other replicas pass on. Whoever connects MUST have proven to be a replica, because that
// replica has made all checks that come before the credential. ServeReplicas returns when the listener or the server is
// closed.
func (s *Server) ServeReplicas(listener net.Listener) {
	server := &http.Server{
		Handler: timed(http.HandlerFunc(s.route)), ReadHeaderTimeout: headerPatience, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(s.ctx, func() { server.Close() })()
	_ = server.Serve(listener) // ends when either is closed
	server.Close()
}

// timed bounds how long a request may take to arrive completely.
func timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		expect(w, bodyPatience)
		next.ServeHTTP(w, r)
	})
}
