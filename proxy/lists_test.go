package proxy

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"callgate/gate/tools"
	"callgate/internal/testserver/waits"
)

// tableOf waits until a host has that many tools, and returns its table.
func tableOf(t *testing.T, h *host, many int) *table {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) {
		if table := h.offers.now.Load(); len(table.Tools) == many {
			return table
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d tools, want %d", len(h.offers.now.Load().Tools), many)
		}
	}
}

// joined connects a host, waits for its list, and returns the proxy's side of it too.
func (w *world) joined(t *testing.T) (*testHost, *host) {
	t.Helper()
	before := map[*host]bool{}
	w.proxy.mu.Lock()
	for h := range w.proxy.hosts {
		before[h] = true
	}
	w.proxy.mu.Unlock()
	h := w.connect().collect()
	h.greet(helloParams)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	h.next()
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	for h2 := range w.proxy.hosts {
		if !before[h2] {
			return h, h2
		}
	}
	t.Fatal("the host is not known")
	return nil, nil
}

// Sessions that see the same catalogue share it. What one of them sees differently is its own. Each leads to its own
// servers in any case.
func TestSessionsShareWhatTheySee(t *testing.T) {
	lists := map[string]string{"tools/list": `{"tools":[{"name":"a"},{"name":"b"}]}`}
	w := newWorld(t, allowAll, false, []string{"s", "other"}, script{Lists: lists}, script{Lists: map[string]string{"tools/list": `{"tools":[{"name":"c"}]}`}})
	_, one := w.joined(t)
	_, two := w.joined(t)
	var first, second *table
	waits.Until(t, "two sessions hold the same once", func() bool { // once each has all lists, also of prompts and resources
		first, second = tableOf(t, one, 3), tableOf(t, two, 3)
		return first.Catalogue == second.Catalogue
	})
	if a, b := first.tool("s_a"), second.tool("s_a"); a.server == b.server || a.server.host != one || b.server.host != two || a.Tool != b.Tool {
		t.Errorf("the tool of one session leads to the server of another: %p and %p", a.server, b.server)
	}

	w.view.Server = "s"
	_, narrow := w.joined(t)
	third := tableOf(t, narrow, 2)
	if third.Catalogue == first.Catalogue || third.tool("a") == nil || third.tool("s_a") != nil {
		t.Error("a view of one server has the names of another view")
	}

	pins, err := tools.OpenPins(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pins.Accept("", map[string][]byte{"a": []byte(`{"name":"a","title":"another"}`)}); err != nil {
		t.Fatal(err)
	}
	w.view.Server = ""
	w.proxy.o.Pins = pins
	w.proxy.set.Load().maker.Pins = pins
	_, wary := w.joined(t)
	fourth := tableOf(t, wary, 3)
	if fourth.Catalogue == first.Catalogue || w.proxy.set.Load().maker.Redefined(fourth.tool("s_a").Offer) == nil || w.proxy.set.Load().maker.Redefined(first.tool("s_a").Offer) != nil {
		t.Error("a definition that changed for one session is not told from one that did not")
	}
	if a, b := fourth.tool("s_a"), first.tool("s_a"); a.Tool != b.Tool {
		t.Error("the same definition is two tools")
	}
}

// Calls of a tool that nobody has listed yet wait for it, and the host's other messages do not wait for these calls.
func TestCallsBeforeToolsAreKnown(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{Lists: map[string]string{"tools/list": ""}})
	h := w.connect().collect()
	h.greet(helloParams)
	began := time.Now()
	for id := range 200 {
		h.calls(strconv.Itoa(id), "s_do", "{}")
	}
	h.quiet()
	if took := time.Since(began); took > time.Second {
		t.Errorf("calls that wait held a ping up for %v", took)
	}
}
