package stateless

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"callgate/internal/rpc"
)

// watchable is a host whose servers tell of resources; before is called for each request before they hear of it.
type watchable struct {
	Host
	c      *Client
	before func(method string) (refuse bool)
	heard  []string
}

func (h *watchable) Context() context.Context { return context.Background() }
func (h *watchable) Handle(m rpc.Message) {
	response := rpc.Result(m.ID, []byte("{}"))
	if h.before(m.Method) {
		response = rpc.Error(m.ID, rpc.CodeInvalidParams, "no")
	}
	h.heard = append(h.heard, m.Method)
	_ = h.c.Respond(m.ID, response)
}

// Who begins to listen while another one ends, or is refused, is not taken for one who listens already.
func TestWatchInTurn(t *testing.T) {
	const begin, end = "resources/subscribe", "resources/unsubscribe"
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(nil, clientKey{})
			var other sync.WaitGroup
			var watches bool
			var once sync.Once
			h := &watchable{c: c, before: func(method string) (refuse bool) {
				if refused == (method == begin) {
					once.Do(func() {
						other.Go(func() { watches = c.watch(t.Context(), "x:a") })
						synctest.Wait()
						refuse = refused
					})
				}
				return refuse
			}}
			c.host = h
			if c.watch(t.Context(), "x:a") == refused {
				t.Errorf("refused %t", refused)
			}
			if !refused {
				c.unwatch("x:a")
			}
			other.Wait()
			if !watches || !slices.Equal(h.heard, []string{begin, end, begin}) {
				t.Errorf("refused %t: watches %t, the servers heard %q", refused, watches, h.heard)
			}
		})
	}
}

// A listener's notification has only one _meta, whatever the server wrote.
func TestTagged(t *testing.T) {
	const tag = `"io.modelcontextprotocol/subscriptionId":"s"`
	for params, want := range map[string]string{
		"":                          `{"_meta":{` + tag + `}}`,
		`{"uri":"x"}`:               `{"_meta":{` + tag + `},"uri":"x"}`,
		`{"uri":"x","_meta":{}}`:    `{"uri":"x","_meta":{` + tag + `}}`,
		`{"_meta":{"a":1.0}}`:       `{"_meta":{` + tag + `,"a":1.0}}`,
		`{"_meta":null,"uri":"x"}`:  `{"_meta":{` + tag + `},"uri":"x"}`,
		`{"uri":"x","_meta":[{}] }`: `{"uri":"x","_meta":{` + tag + `} }`,
	} {
		var raw []byte
		if params != "" {
			raw = []byte(params)
		}
		if got := tagged(raw, []byte(`"s"`)); string(got) != want {
			t.Errorf("%s: %s", params, got)
		}
	}
}

// looking is an exchange that looks at each notification before the host has it.
type looking struct {
	Exchange
	look func(message []byte)
}

func (x looking) Notify(message []byte) error {
	x.look(message)
	return nil
}

// Whatever changes once the host has the acknowledgement is reported, and nothing before it.
func TestListensBeforeItIsAcknowledged(t *testing.T) {
	c := &Client{subscriptions: map[*subscription]struct{}{}}
	ctx, leave := context.WithCancel(t.Context())
	r := incoming{Message: rpc.Message{ID: []byte("1"), Params: []byte(`{"notifications":{"toolsListChanged":true}}`)}}
	var got []string
	c.listen(ctx, looking{look: func(message []byte) {
		m, err := rpc.Parse(message)
		if err != nil {
			t.Error(err)
		}
		if got = append(got, m.Method); len(got) > 1 {
			leave()
			return
		}
		changed, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.subscriptions) == 0 {
			t.Error("the host has the acknowledgement before changes reach it")
			leave()
			return
		}
		go c.broadcast(changed)
	}}, r)
	if want := []string{"notifications/subscriptions/acknowledged", "notifications/tools/list_changed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
