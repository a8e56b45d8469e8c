package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gomcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
)

const updates = "file:///a"

// Changes after the answer to resources/subscribe are heard, because a modern server has by then agreed to announce
// them.
func TestNothingIsMissedAfterASubscription(t *testing.T) {
	t.Parallel()
	subscribed := func(context.Context, *gomcp.SubscribeRequest) error { return nil }
	gosdk := gomcp.NewServer(&gomcp.Implementation{Name: "go-sdk", Version: "1"}, &gomcp.ServerOptions{
		SupportedProtocolVersions: []string{modernVersion}, SubscribeHandler: subscribed,
		UnsubscribeHandler: func(context.Context, *gomcp.UnsubscribeRequest) error { return nil },
	})
	gosdk.AddResource(&gomcp.Resource{URI: updates, Name: "a"}, func(context.Context, *gomcp.ReadResourceRequest) (*gomcp.ReadResourceResult, error) {
		return &gomcp.ReadResourceResult{}, nil
	})
	web := httptest.NewServer(gomcp.NewStreamableHTTPHandler(func(*http.Request) *gomcp.Server { return gosdk }, &gomcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	h := newHost(t)
	u := open(t, Config{Name: "s", URL: web.URL}, Options{Events: h.events()})
	for range 20 {
		if got := call(t, u, "resources/subscribe", fmt.Sprintf(`{"uri":%q}`, updates)); got != "{}" {
			t.Fatal(got)
		}
		if err := gosdk.ResourceUpdated(t.Context(), &gomcp.ResourceUpdatedNotificationParams{URI: updates}); err != nil {
			t.Fatal(err)
		}
		if line := h.wait("notification notifications/resources/updated"); !strings.Contains(line, updates) {
			t.Error(line)
		}
		if got := call(t, u, "resources/unsubscribe", fmt.Sprintf(`{"uri":%q}`, updates)); got != "{}" {
			t.Fatal(got)
		}
	}
}

// listened returns a modern server that answers a subscriptions/listen with the text that say returns.
func listened(say func(m rpc.Message) (text []byte)) func(context.Context, io.Reader, io.Writer) error {
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		var mu sync.Mutex
		write := func(text []byte) error {
			mu.Lock()
			defer mu.Unlock()
			_, err := out.Write(append(text, '\n'))
			return err
		}
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m, err := rpc.Parse([]byte(lines.Text()))
			switch {
			case err != nil:
				return err
			case m.ID == nil:
				continue
			case m.Method == "server/discover":
				err = write(rpc.Result(m.ID, []byte(modernHello)))
			case m.Method == "subscriptions/listen":
				if text := say(m); text != nil {
					err = write(text)
				}
			default:
				err = write(rpc.Result(m.ID, []byte(`{"tools":[]}`)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func acknowledgement(id []byte, notifications string) []byte {
	return rpc.Request(nil, "notifications/subscriptions/acknowledged", fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":%s}`, subscriptionID, id, notifications))
}

// The host is told of a subscription that the server refuses, and the server is not asked again.
func TestSubscriptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	wants := func(m rpc.Message) bool { return strings.Contains(string(m.Params), updates) }
	for name, c := range map[string]struct {
		say  func(m rpc.Message) []byte
		want string
	}{
		"agrees to less": {func(m rpc.Message) []byte { return acknowledgement(m.ID, `{"toolsListChanged":true}`) }, "does not announce"},
		"agrees to another": {func(m rpc.Message) []byte {
			return acknowledgement(m.ID, `{"resourceSubscriptions":["file:///b"]}`)
		}, "does not announce"},
		"refuses it": {func(m rpc.Message) []byte {
			if wants(m) {
				return []byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32603,"message":"not today","data":{"a":1}}}`)
			}
			return acknowledgement(m.ID, `{"toolsListChanged":true}`)
		}, `{"code":-32603,"message":"not today","data":{"a":1}}`},
		"does not know it": {func(m rpc.Message) []byte { return rpc.Error(m.ID, rpc.CodeMethodNotFound, "what?") }, "what?"},
	} {
		t.Run(name, func(t *testing.T) {
			u := open(t, Config{Name: "s", Serve: listened(c.say)}, Options{})
			for range 2 {
				m, err := u.Request(short(t), "resources/subscribe", fmt.Appendf(nil, `{"uri":%q}`, updates))
				if err != nil || !strings.Contains(string(m.Error), c.want) {
					t.Errorf("%s, %v", m.Raw, err)
				}
			}
			in := u.current.Load()
			in.modern.mu.Lock()
			defer in.modern.mu.Unlock()
			if len(in.modern.watched) > 0 {
				t.Errorf("%d resources are still watched", len(in.modern.watched))
			}
		})
	}
}

// A message that is not an acknowledgement, or acknowledges another request, does not count. A host that gives up is
// released.
func TestSubscriptionThatIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(m rpc.Message) []byte{
		"silence": func(rpc.Message) []byte { return nil },
		"another's": func(rpc.Message) []byte {
			return acknowledgement([]byte(`"x"`), `{"resourceSubscriptions":["`+updates+`"]}`)
		},
		"nobody's": func(rpc.Message) []byte {
			return rpc.Request(nil, "notifications/subscriptions/acknowledged", []byte(`{"notifications":{"resourceSubscriptions":["`+updates+`"]}}`))
		},
		"not a list":  func(m rpc.Message) []byte { return acknowledgement(m.ID, `{"resourceSubscriptions":7}`) },
		"not a thing": func(m rpc.Message) []byte { return acknowledgement(m.ID, `7`) },
	} {
		t.Run(name, func(t *testing.T) {
			u := open(t, Config{Name: "s", Serve: listened(say)}, Options{})
			if _, err := u.Ready(short(t)); err != nil {
				t.Fatal(err)
			}
			ctx := short(t)
			if name != "not a thing" { // only this one gets an answer
				soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				ctx = soon
			}
			m, err := u.Request(ctx, "resources/subscribe", fmt.Appendf(nil, `{"uri":%q}`, updates))
			switch name {
			case "not a thing": // an acknowledgement of nothing
				if err != nil || m.Error == nil {
					t.Errorf("%s, %v", m.Raw, err)
				}
			default:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, %v", m.Raw, err)
				}
			}
		})
	}
}

// A host that gives up waiting for a subscription ends none of another host.
func TestGivingUpLeavesOthersSubscriptions(t *testing.T) {
	t.Parallel()
	var answered atomic.Bool
	u := open(t, Config{Name: "s", Serve: listened(func(m rpc.Message) []byte {
		if strings.Contains(string(m.Params), updates) && answered.CompareAndSwap(false, true) {
			return acknowledgement(m.ID, `{"resourceSubscriptions":["`+updates+`"]}`)
		}
		return nil
	})}, Options{})
	if got := call(t, u, "resources/subscribe", fmt.Sprintf(`{"uri":%q}`, updates)); got != "{}" {
		t.Fatal(got)
	}
	c := u.current.Load().modern
	over, cancel := context.WithCancel(t.Context())
	cancel()
	waiting, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.watch(waiting, "file:///b")
		ended <- err
	}()
	watched := func() (uris []string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, w := range c.watched {
			uris = append(uris, w.uri)
		}
		return uris
	}
	both := []string{updates, "file:///b"}
	waits.Until(t, "the other resource to be asked for", func() bool { return slices.Equal(watched(), both) })
	for _, uri := range both {
		if _, err := c.watch(over, uri); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if got := watched(); !slices.Equal(got, both) {
		t.Errorf("%q are watched, want %q", got, both)
	}
	giveUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := watched(); !slices.Equal(got, both[:1]) {
		t.Errorf("in the end %q are watched, want %q", got, both[:1])
	}
}
