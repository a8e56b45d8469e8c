package shared

import (
	"log/slog"
	"testing"

	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

type host struct{ heard int }

func (h *host) Notified(rpc.Message, any)                  { h.heard++ }
func (h *host) Changed(*upstream.Upstream, upstream.State) {}
func (h *host) ListChanged(upstream.Kind)                  {}

// A log message that names no request goes to the host that the server works for, to all hosts if it works for none,
// and to nobody if it works for several.
func TestLogMessagesReachTheRightHosts(t *testing.T) {
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := &host{}, &host{}
	sh := &Server{log: slog.New(slog.DiscardHandler), of: func(cause any) User {
		if cause == nil {
			return nil
		}
		return cause.(User)
	}, users: map[User]*user{}, working: map[User]int{}}
	sh.Join(a)
	sh.Join(b)
	hear := func(cause any, wantA, wantB int) {
		t.Helper()
		a.heard, b.heard = 0, 0
		sh.notified(m, cause)
		if a.heard != wantA || b.heard != wantB {
			t.Errorf("a heard %d, b heard %d, want %d, %d", a.heard, b.heard, wantA, wantB)
		}
	}
	hear(nil, 1, 1)
	done := sh.work(a)
	hear(nil, 1, 0)
	defer sh.work(b)()
	hear(nil, 0, 0)
	hear(b, 0, 1)
	done()
	hear(nil, 0, 1)
}
