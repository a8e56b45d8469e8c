package proxy

import (
	"strings"
	"testing"

	"callgate/internal/upstream"
)

func TestSharedServer(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{
		Capabilities: `{"tools":{},"logging":{},"resources":{"subscribe":true}}`,
		Lists: map[string]string{
			"tools/list": oneTool, "resources/list": `{"resources":[{"uri":"x:a","name":"a"}]}`,
			"resources/subscribe": "{}", "resources/unsubscribe": `{"n":1}`,
		},
	})
	w.proxy.o.Servers[0].Shared = true
	const hello = `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"h","version":"1"}}`
	join := func() *testHost {
		h := w.connect().collect()
		h.greet(hello)
		h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		h.quiet()
		return h
	}
	a, b := join(), join()

	// There is one process, which tells about both hosts' calls.
	a.calls("1", "s_do", `{"text":"from a"}`)
	a.text("1")
	b.calls("1", "s_do", `{"do":"received"}`)
	if got, _ := b.text("1"); !strings.Contains(got, "from a") {
		t.Errorf("the call before that of b was %s", got)
	}

	// Both use the same progress token, and each hears of its own call.
	for _, h := range []*testHost{a, b} {
		h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_do","arguments":{"do":"progress"},"_meta":{"progressToken":"T","k":1.0}}}`)
		h.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"T","progress":1}}`)
		h.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"T","progress":2}}`)
		m := h.next()
		if strings.Contains(string(m.Raw), `"progress":3`) { // late for the server, but not yet for the host
			m = h.next()
		}
		if string(m.ID) != "2" || m.Result == nil {
			t.Fatalf("%s", m.Raw)
		}
		h.calls("3", "s_do", `{"do":"received"}`)
		if got, _ := h.text("3"); !strings.Contains(got, `"progressToken":"cg-progress-`) || !strings.Contains(got, `"k":1.0`) {
			t.Errorf("the server got %s", got)
		}
	}
	a.quiet()
	b.quiet()

	// The server may not ask, because nobody could say whom.
	a.calls("4", "s_do", `{"do":"ask","text":"elicitation/create"}`)
	if got, _ := a.text("4"); !strings.Contains(got, "-32601") {
		t.Errorf("asked: %s", got)
	}

	// Changes of a resource go to its subscribers. Messages go to the host whose call is running, to all if no call is
	// running, and to nobody if calls of several are.
	say := func(method, params string) string {
		return `{"do":"write","text":"{\"jsonrpc\":\"2.0\",\"method\":\"` + method + `\",\"params\":` + strings.ReplaceAll(params, `"`, `\"`) + `}\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[]}}"}`
	}
	a.send(`{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"x:a"}}`)
	a.want(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	updated := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:a"}}`
	b.calls("6", "s_do", say("notifications/resources/updated", `{"uri":"x:a"}`))
	b.want(`{"jsonrpc":"2.0","id":6,"result":{"content":[]}}`)
	a.want(updated)
	message := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`
	b.calls("7", "s_do", say("notifications/message", `{"data":1}`))
	b.want(message)
	b.want(`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`)
	a.quiet() // nothing is running
	b.quiet()

	// The server hears only of the last host that unsubscribes.
	b.send(`{"jsonrpc":"2.0","id":8,"method":"resources/subscribe","params":{"uri":"x:a"}}`)
	b.want(`{"jsonrpc":"2.0","id":8,"result":{}}`)
	a.send(`{"jsonrpc":"2.0","id":8,"method":"resources/unsubscribe","params":{"uri":"x:a"}}`)
	a.want(`{"jsonrpc":"2.0","id":8,"result":{}}`)
	b.send(`{"jsonrpc":"2.0","id":9,"method":"resources/unsubscribe","params":{"uri":"x:a"}}`)
	b.want(`{"jsonrpc":"2.0","id":9,"result":{"n":1}}`)

	// A host that leaves takes nothing with it, and a new host finds the process.
	a.close()
	b.calls("10", "s_do", `{"text":"still"}`)
	if got, _ := b.text("10"); got != "do still" {
		t.Error(got)
	}
	c := join()
	c.calls("1", "s_do", `{"do":"received"}`)
	if got, _ := c.text("1"); !strings.Contains(got, "still") {
		t.Errorf("another process: %s", got)
	}
	b.close()
	c.close()
	up := w.proxy.set.Load().shared["s"].Up
	if state := up.Status().State; state != upstream.Ready {
		t.Errorf("without hosts it is %v", state)
	}
	w.proxy.Close()
	if state := up.Status().State; state != upstream.Closed {
		t.Errorf("in the end it is %v", state)
	}
}
