package stateless

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/rpc"
)

// expellable is a host that records how it ends.
type expellable struct {
	Host
	c    *Client
	note func(what string)
}

func (h expellable) Handle(m rpc.Message) {
	if m.ID != nil {
		_ = h.c.Respond(m.ID, rpc.Result(m.ID, []byte(`{"capabilities":{}}`)))
	}
}
func (h expellable) Welcome(string) []byte    { return nil }
func (h expellable) Context() context.Context { return context.Background() }
func (h expellable) Expelled()                { h.note("expelled " + h.c.key.from.Principal) }
func (h expellable) Close()                   { h.note("closed " + h.c.key.from.Principal) }

// A host that is no longer let in is ended at once, even while another session is being opened.
func TestExpelWaitsForNoOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var noted []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			noted = append(noted, what)
		}
		slow := make(chan struct{})
		all, err := New(Options{Versions: []string{"2025-11-25", "2026-07-28"}, IdleTimeout: time.Hour, Logger: slog.New(slog.DiscardHandler), Open: func(_ context.Context, c *Client, from Sender, _ Opening) (Host, error) {
			if from.Principal == "slow" {
				<-slow
			}
			return expellable{c: c, note: note}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		open := func(principal string) {
			if c, err := all.client(Sender{Principal: principal}, incoming{capabilities: []byte("{}")}); err == nil {
				c.leave()
			}
		}
		open("quick")
		go open("slow")
		synctest.Wait()
		ended := make(chan func(), 1)
		go func() { ended <- all.Expel(func(string) bool { return false }) }()
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(noted, []string{"expelled quick"}) || len(ended) == 0 {
			t.Errorf("while one is opened: %q, %d", noted, len(ended))
		}
		mu.Unlock()
		close(slow)
		(<-ended)()
		slices.Sort(noted)
		if !slices.Equal(noted, []string{"closed quick", "closed slow", "expelled quick", "expelled slow"}) {
			t.Errorf("in the end: %q", noted)
		}
		all.Close()
	})
}
