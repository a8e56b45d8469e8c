package rest

import (
	"bufio"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"

	"callgate/internal/companion/wire"
)

// A bug in one request MUST NOT end the process, which serves others too. Every goroutine that works for a client or
// another process survives a panic.

// FailedText is what clients are told of it.
const FailedText = "callgate could not do that; its log says why"

// Recover logs a panic and ends it. It MUST be deferred itself; what says what failed.
func Recover(log *slog.Logger, what string) {
	if p := recover(); p != nil {
		Panicked(log, what, p)
	}
}

// RecoverAs is Recover for work whose client is told of a refusal.
func RecoverAs(log *slog.Logger, refused **wire.Refusal, what string) {
	if p := recover(); p != nil {
		Panicked(log, what, p)
		*refused = wire.Refuse(wire.CodeInternal, FailedText)
	}
}

func Panicked(log *slog.Logger, what string, p any) {
	log.Error("companion: callgate failed: please report this", "at", what, slog.Any("panic", p), "stack", string(debug.Stack()))
}

// Recovering answers 500 when next panics. An answer that has begun is cut off instead.
func Recovering(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := &begun{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				Panicked(log, r.Method+" "+r.URL.Path, p)
			}
			if begun.yes {
				panic(http.ErrAbortHandler) // the HTTP server takes it
			}
			WriteError(w, http.StatusInternalServerError, wire.CodeInternal, FailedText)
		}()
		next.ServeHTTP(begun, r)
	})
}

// begun notes whether an answer was begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int) {
	b.yes = b.yes || status >= 200
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(data []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the rest.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// Hijack is what WebSockets look for.
func (b *begun) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	b.yes = true
	return http.NewResponseController(b.ResponseWriter).Hijack()
}
