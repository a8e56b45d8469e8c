package shared

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// While one host ends its subscription another one begins: the server hears of the two in their turn, so that it tells
// who still listens.
func TestSubscriptionsThatEndAndBeginAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string // the requests about subscriptions, as they came
		sh := New(upstream.Config{Name: "s", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
			for lines := bufio.NewScanner(in); lines.Scan(); {
				m, err := rpc.Parse(lines.Bytes())
				if err != nil || !m.IsRequest() {
					continue
				}
				result := "{}"
				if m.Method == "initialize" {
					result = `{"protocolVersion":"2025-06-18","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}`
				} else if m.Params != nil {
					told = append(told, m.Method)
				}
				if _, err := fmt.Fprintf(out, "%s\n", rpc.Result(m.ID, []byte(result))); err != nil {
					return err
				}
			}
			return nil
		}}, upstream.Options{Logger: slog.New(slog.DiscardHandler)}, func(any) User { return nil })
		defer sh.Up.Close()
		sh.Up.Start(upstream.Hello{ProtocolVersion: "2025-06-18", Capabilities: []byte("{}"), ClientInfo: []byte(`{"name":"h","version":"1"}`), Era: upstream.Legacy})
		a, b := &host{}, &host{}
		sh.Join(a)
		sh.Join(b)
		send := func(s User, method string, before func()) {
			times := 0
			_, err := sh.Forward(t.Context(), s, func(id []byte) []byte {
				if times++; times == 2 { // as it is sent
					before()
				}
				return rpc.Request(id, method, []byte(`{"uri":"x:a"}`))
			})
			if err != nil {
				t.Error(err)
			}
		}
		nothing := func() {}
		send(a, "resources/subscribe", nothing)
		var others sync.WaitGroup
		send(a, "resources/unsubscribe", func() {
			others.Go(func() { send(b, "resources/subscribe", nothing) })
			synctest.Wait()
		})
		others.Wait()
		if !slices.Equal(told, []string{"resources/subscribe", "resources/unsubscribe", "resources/subscribe"}) {
			t.Errorf("the server heard %q", told)
		}
	})
}

// A server that has ended is not started to end the subscriptions of a host that leaves.
func TestLeavingStartsNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, die := 0, make(chan struct{})
		sh := New(upstream.Config{Name: "s", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
			starts++
			go func() {
				for lines := bufio.NewScanner(in); lines.Scan(); {
					if m, err := rpc.Parse(lines.Bytes()); err == nil && m.IsRequest() {
						result := `{"protocolVersion":"2025-06-18","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}`
						fmt.Fprintf(out, "%s\n", rpc.Result(m.ID, []byte(result)))
					}
				}
			}()
			<-die
			return errors.New("crashed")
		}}, upstream.Options{Logger: slog.New(slog.DiscardHandler)}, func(any) User { return nil })
		defer sh.Up.Close()
		sh.Up.Start(upstream.Hello{ProtocolVersion: "2025-06-18", Capabilities: []byte("{}"), ClientInfo: []byte(`{"name":"h","version":"1"}`), Era: upstream.Legacy})
		a := &host{}
		sh.Join(a)
		if _, err := sh.Forward(t.Context(), a, func(id []byte) []byte { return rpc.Request(id, "resources/subscribe", []byte(`{"uri":"x:a"}`)) }); err != nil {
			t.Fatal(err)
		}
		close(die)
		synctest.Wait()
		var work sync.WaitGroup
		time.Sleep(time.Minute) // a server that crashes at once is not started again at once
		sh.Leave(a, "s", &work)
		work.Wait()
		if starts != 1 {
			t.Errorf("started %d times", starts)
		}
	})
}
