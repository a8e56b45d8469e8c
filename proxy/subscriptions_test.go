package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// A server that starts again is told what its host wants to hear.
func TestWishesOutliveAServer(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, script{
		Capabilities: `{"tools":{},"logging":{},"resources":{"subscribe":true}}`,
		Lists: map[string]string{
			"tools/list": oneTool, "resources/list": `{"resources":[{"uri":"x:a","name":"a"},{"uri":"x:b","name":"b"}]}`,
			"resources/subscribe": "{}", "resources/unsubscribe": "{}", "logging/setLevel": "{}",
		},
	})
	for i, request := range []string{
		`"resources/subscribe","params":{"uri":"x:a"}`, `"resources/subscribe","params":{"uri":"x:b"}`, `"resources/unsubscribe","params":{"uri":"x:a"}`,
		`"logging/setLevel","params":{"level":"error"}`,
	} {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","method":%s}`, i, request))
		h.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","result":{}}`, i))
	}
	h.calls("1", "s_do", `{"do":"die"}`)
	h.text("1")
	told, id := "", 2
	waits.Until(t, "the new process has been told", func() bool {
		id++
		h.calls(fmt.Sprint(id), "s_do", `{"do":"subscriptions"}`)
		told, _ = h.text(fmt.Sprint(id))
		return strings.Contains(told, `resources/subscribe {"uri":"x:b"}`) && strings.Contains(told, `logging/setLevel {"level":"error"}`)
	})
	if strings.Contains(told, "x:a") {
		t.Errorf("the server was told %s", told)
	}
}

// A server is not stopped as idle while its host waits to hear from it.
func TestServersWithSubscriptionsStay(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared %v", shared), func(t *testing.T) {
			w := newWorld(t, allowAll, false, []string{"s"}, script{
				Capabilities: `{"tools":{},"resources":{"subscribe":true}}`,
				Lists: map[string]string{
					"tools/list": oneTool, "resources/list": `{"resources":[{"uri":"x:a","name":"a"}]}`,
					"resources/subscribe": "{}", "resources/unsubscribe": "{}",
				},
			})
			o := &w.proxy.o.Servers[0]
			o.Shared, o.Upstream.IdleTimeout = shared, 50*time.Millisecond
			h := w.connect().collect()
			h.greet(helloParams)
			tell := func(method string) {
				h.send(`{"jsonrpc":"2.0","id":"1","method":"` + method + `","params":{"uri":"x:a"}}`)
				h.want(`{"jsonrpc":"2.0","id":"1","result":{}}`)
			}
			tell("resources/subscribe")
			time.Sleep(6 * o.Upstream.IdleTimeout)
			if s := w.proxy.Upstreams()[0]; s.Resting {
				t.Errorf("stopped: %+v", s)
			}
			tell("resources/unsubscribe")
			waits.Until(t, "the server is stopped", func() bool { return w.proxy.Upstreams()[0].Resting })
		})
	}
}
