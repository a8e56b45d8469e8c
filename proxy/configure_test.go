package proxy

import (
	"strings"
	"testing"
)

// remake applies what a test changed in the options.
func (p *Proxy) remake() {
	if err := p.Configure(p.set.Load().Settings, false); err != nil {
		panic(err)
	}
}

// TestConfigure changes the servers under a session that is open: it keeps its own, and the next one gets the new ones.
func TestConfigure(t *testing.T) {
	w := newWorld(t, `{"*": "allow"}`, false, []string{"s"}, script{})
	_, before := w.joined(t)
	next := w.proxy.set.Load().Settings
	next.Servers = append(next.Servers[:0:0], next.Servers...)
	next.Servers[0].Tools.Name = "other"
	if err := w.proxy.Configure(next, true); err != nil {
		t.Fatal(err)
	}
	_, after := w.joined(t)
	if before.server("s") == nil || before.server("other") != nil {
		t.Error("a session that was open has other servers than before")
	}
	if after.server("other") == nil || after.server("s") != nil {
		t.Error("a new session has the old servers")
	}
	if states := w.proxy.Upstreams(); len(states) != 1 || states[0].Name != "other" {
		t.Errorf("people see %v", states)
	}
	next.Servers = append(next.Servers[:1:1], next.Servers[0])
	next.Servers[1].Tools.Name = "other_x"
	if err := w.proxy.Configure(next, true); err == nil || !strings.Contains(err.Error(), "other_x") || w.proxy.Knows(View{Server: "other_x"}) == nil {
		t.Errorf("servers that mean two things took over: %v", err)
	}
}

// TestConfigureShared replaces a server that hosts share at the moment in which a host begins with the old one.
func TestConfigureShared(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{})
	w.proxy.o.Servers[0].Shared = true
	old := w.proxy.set.Load()
	if err := w.proxy.Configure(old.Settings, true); err != nil {
		t.Fatal(err)
	}
	before := w.proxy.share(old.Servers[0], old.shared)
	now := w.proxy.set.Load()
	if after := w.proxy.share(now.Servers[0], now.shared); after == before {
		t.Error("hosts of the new settings get the server of the old ones")
	}
	if err := w.proxy.Configure(now.Settings, false); err != nil {
		t.Fatal(err)
	}
	if next := w.proxy.set.Load(); w.proxy.share(next.Servers[0], next.shared) != w.proxy.share(now.Servers[0], now.shared) {
		t.Error("hosts get another server where none has changed")
	}
}
