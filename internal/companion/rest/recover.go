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

// A bug in one request MUST NOT end the process, which serves others too. So every goroutine that works for a client or
// another process recovers from panics.

// FailedText is what clients are told about a panic.
const FailedText = "callgate could not do that; its log says why"

// Recover logs a panic and stops it. It MUST be deferred directly. what names the work that failed.
func Recover(log *slog.Logger, what string) {
	if p := recover(); p != nil {
		Panicked(log, what, p)
	}
}

// RecoverAs is Recover for work that returns a refusal to the client.
func RecoverAs(log *slog.Logger, refused **wire.Refusal, what string) {
	if p := recover(); p != nil {
		Panicked(log, what, p)
		*refused = wire.Refuse(wire.CodeInternal, FailedText)
	}
}

func Panicked(log *slog.Logger, what string, p any) {
	log.Error("companion: callgate failed: please report this", "at", what, slog.Any("panic", p), "stack", string(debug.Stack()))
}

// Recovering answers 500 if next panics. If the response has already begun, it aborts the response instead.
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
				panic(http.ErrAbortHandler) // the HTTP server handles it
			}
			WriteError(w, http.StatusInternalServerError, wire.CodeInternal, FailedText)
		}()
		next.ServeHTTP(begun, r)
	})
}

// begun records whether the response has begun.
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

// Unwrap lets http.ResponseController reach the wrapped writer.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// Hijack lets a WebSocket take the connection over.
func (b *begun) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	b.yes = true
	return http.NewResponseController(b.ResponseWriter).Hijack()
}
