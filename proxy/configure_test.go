package proxy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// remake applies a test's changes of the options.
func (p *Proxy) remake() {
	if err := p.configure(p.set.Load().Settings, false); err != nil {
		panic(err)
	}
}

func (p *Proxy) configure(s Settings, renew bool) error {
	apply, err := p.Configure(s, renew)
	if err == nil {
		apply()
	}
	return err
}

// TestConfigure changes the servers under an open session, which keeps its own. The next session gets the new ones.
func TestConfigure(t *testing.T) {
	w := newWorld(t, `{"*": "allow"}`, false, []string{"s"}, script{})
	_, before := w.joined(t)
	next := w.proxy.set.Load().Settings
	next.Servers = append(next.Servers[:0:0], next.Servers...)
	next.Servers[0].Tools.Name = "other"
	if err := w.proxy.configure(next, true); err != nil {
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
	if err := w.proxy.configure(next, true); err == nil || !strings.Contains(err.Error(), "other_x") || w.proxy.Knows(View{Server: "other_x"}) == nil {
		t.Errorf("servers that mean two things took over: %v", err)
	}
}

// A session that continues with the old servers lists the same tools as one with the new servers. Neither is led to the
// other's server or uses what the other's configuration says about it.
func TestConfigureWhatListsTheSame(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"prod", "stage"}, withOneTool, withOneTool)
	_, before := w.joined(t)
	tableOf(t, before, 2)
	next := w.proxy.set.Load().Settings
	next.Servers = []Server{next.Servers[1], next.Servers[0]}
	next.Servers[1].Tools.Mappings = []tools.Mapping{{Tool: "do", Risk: permissions.Destructive}}
	if err := w.proxy.configure(next, true); err != nil {
		t.Fatal(err)
	}
	before.offers.rebuild()
	_, after := w.joined(t)
	tableOf(t, after, 2)
	for _, h := range []*host{before, after} {
		for _, alias := range []string{"prod", "stage"} {
			e := h.offers.now.Load().tool(alias + "_do")
			if e == nil || e.server.alias != alias || e.Tool.Server != alias {
				t.Errorf("%s_do leads to %+v", alias, e)
			} else if mapped := h == after && alias == "prod"; (e.Tool.Why == "configuration") != mapped {
				t.Errorf("%s_do: %q", alias, e.Tool.Why)
			}
		}
	}
}

// A host without sessions gets the new servers at its next request, but gains nothing: what it has used of its limits,
// what people have set for its session and a freeze remain in force. Approvers can cancel the calls of both.
func TestConfigureGoesOnWithTheSession(t *testing.T) {
	w, h := ready(t, `{ "*": "allow" }`, false, []string{"s"}, withOneTool)
	w.gate.Controls.Configure(gate.Settings{Limits: gate.Limits{CallsPerTurn: 3, TurnIdle: time.Hour}})
	call := func(id, server string) string {
		h.modern(id, "tools/call", `"name":"`+server+`_do","arguments":{"n":1}`, `{}`)
		return string(h.next().Result)
	}
	call("1", "s")
	session := func() (last gate.SessionInfo) {
		for _, s := range w.gate.Sessions() {
			last = s // the handshake of the legacy era opened the first
		}
		return last
	}
	before := session()
	if err := w.gate.Controls.SetAutonomy(before.ID, "CAUTIOUS", audit.Author{By: "test"}); err != nil {
		t.Fatal(err)
	}
	next := w.proxy.set.Load().Settings
	next.Servers = append(next.Servers[:0:0], next.Servers...)
	for i, name := range []string{"other", "third"} {
		next.Servers[0].Tools.Name = name
		if err := w.proxy.configure(next, true); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			h.modern("2", "tools/list", `"x":1`, `{}`)
			if list := string(h.next().Result); !strings.Contains(list, "other_do") || strings.Contains(list, "s_do") {
				t.Fatalf("the host is offered %s", list)
			}
			if level := session().Autonomy; level != "CAUTIOUS" {
				t.Errorf("the session's level became %s", level)
			}
		}
	}
	if err := w.gate.Controls.SetAutonomy(before.ID, "FULL_AUTO", audit.Author{By: "test"}); err != nil {
		t.Fatal(err)
	}
	call("3", "third")
	call("4", "third")
	if text := call("5", "third"); !strings.Contains(text, "3 calls") {
		t.Errorf("a new configuration gave the host more calls: %s", text)
	}
	if after := session(); after.ID != before.ID || after.Autonomy != "FULL_AUTO" {
		t.Errorf("the session is %s at %s, was %s", after.ID, after.Autonomy, before.ID)
	}
	now, err := w.proxy.hostOf(before.ID)
	if err != nil || now.server("third") == nil {
		t.Errorf("people reach an old connection of the session: %v", err)
	}
}

// Two calls of one host that asked it something, one before new servers and one after, each get the answer to their own
// question.
func TestConfigureBetweenQuestions(t *testing.T) {
	w, h := ready(t, `{ "*": "allow" }`, false, []string{"s"}, withOneTool)
	const can = `{"elicitation":{}}`
	call := func(n int, more string) string {
		h.modern(strconv.Itoa(n), "tools/call", fmt.Sprintf(`"name":"s_do","arguments":{"do":"ask","text":"elicitation/create","n":%d}%s`, n, more), can)
		return string(h.next().Result)
	}
	state := func(n int) string {
		asked := call(n, "")
		_, rest, ok := strings.Cut(asked, `"requestState":"`)
		if !ok {
			t.Fatalf("call %d was not asked: %s", n, asked)
		}
		state, _, _ := strings.Cut(rest, `"`)
		return state
	}
	first := state(1)
	if err := w.proxy.configure(w.proxy.set.Load().Settings, true); err != nil {
		t.Fatal(err)
	}
	second := state(2)
	for i, state := range []string{first, second} {
		n := i + 1
		result := call(n, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"question-1":{"action":"accept","content":{"n":%d}}}`, state, n))
		if !strings.Contains(result, fmt.Sprintf(`\"n\":%d`, n)) {
			t.Errorf("call %d ended with %s", n, result)
		}
	}
}

// A guest stays in its session with new servers, and can leave all of it.
func TestConfigureTakesGuestsAlong(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
	h := w.connect().collect()
	list := func() string {
		h.modern("1", "tools/list", `"x":1`, `{}`)
		return string(h.next().Result)
	}
	list()
	v, err := w.bring("desk", echoTool)
	if err != nil {
		t.Fatal(err)
	}
	next := w.proxy.set.Load().Settings
	next.Servers = append(next.Servers[:0:0], next.Servers...)
	for _, name := range []string{"other", "third"} {
		next.Servers[0].Tools.Name = name
		if err := w.proxy.configure(next, true); err != nil {
			t.Fatal(err)
		}
		waits.Until(t, "all is offered", func() bool {
			l := list()
			return strings.Contains(l, name+"_do") && strings.Contains(l, "desk_echo")
		})
	}
	v.visit.Offer([][]byte{[]byte(failTool)})
	waits.Until(t, "other tools are offered", func() bool {
		l := list()
		return strings.Contains(l, "desk_fail") && !strings.Contains(l, "desk_echo")
	})
	next.Reserved = []string{"desk"}
	if err := w.proxy.configure(next, true); err != nil {
		t.Fatal(err)
	}
	if l := list(); strings.Contains(l, "desk_fail") {
		t.Errorf("a client has the name of a configured server: %s", l)
	}
	next.Reserved = nil
	v.visit.Leave("gone")
	if err := w.proxy.configure(next, true); err != nil {
		t.Fatal(err)
	}
	if l := list(); strings.Contains(l, "desk") {
		t.Errorf("a client that has left goes on: %s", l)
	}
	if n := len(w.gate.Sessions()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// TestConfigureShared replaces a shared server just as a host begins with the old one.
func TestConfigureShared(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{})
	w.proxy.o.Servers[0].Shared = true
	old := w.proxy.set.Load()
	if err := w.proxy.configure(old.Settings, true); err != nil {
		t.Fatal(err)
	}
	before := w.proxy.share(old.Servers[0], old.shared)
	now := w.proxy.set.Load()
	if after := w.proxy.share(now.Servers[0], now.shared); after == before {
		t.Error("hosts of the new settings get the server of the old ones")
	}
	if err := w.proxy.configure(now.Settings, false); err != nil {
		t.Fatal(err)
	}
	if next := w.proxy.set.Load(); w.proxy.share(next.Servers[0], next.shared) != w.proxy.share(now.Servers[0], now.shared) {
		t.Error("hosts get another server where none has changed")
	}
}

// A host without sessions goes on with the one that it has: new servers are not another one for its limit.
func TestConfigureAtTheLimitOfSessions(t *testing.T) {
	w, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	list := func(id string) string {
		h.modern(id, "tools/list", `"x":1`, `{}`)
		return string(h.next().Raw)
	}
	if first := list("1"); !strings.Contains(first, "s_do") {
		t.Fatal(first)
	}
	w.proxy.quota.limit = len(w.gate.Sessions())
	for _, id := range []string{"2", "3"} {
		if err := w.proxy.configure(w.proxy.set.Load().Settings, true); err != nil {
			t.Fatal(err)
		}
		if now := list(id); !strings.Contains(now, "s_do") {
			t.Errorf("with new servers: %s", now)
		}
	}
	if err := w.proxy.quota.enter(StdioPrincipal); err == nil {
		t.Error("there is room for another session")
	}
}

// A session that goes on with its old servers lets no guest in under the name of one of them.
func TestConfigureLeavesNamesOfOldServersTaken(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
	w.joined(t)
	next := w.proxy.set.Load().Settings
	next.Servers = slices.Clone(next.Servers)
	next.Servers[0].Tools.Name = "other"
	if err := w.proxy.configure(next, true); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s", "S", "s_x", "other"} {
		if _, err := w.bring(name, echoTool); !errors.Is(err, gate.ErrAnswer) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A guest whose name a server has by now leaves: rules for that server are not for the guest.
func TestConfigureTurnsGuestsOutOfNamesOfNewServers(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
	h, inside := w.joined(t)
	stays, err := w.bring("desk", echoTool)
	if err != nil {
		t.Fatal(err)
	}
	goes, err := w.bring("other", echoTool)
	if err != nil {
		t.Fatal(err)
	}
	h.listed("desk_echo", "other_echo")
	next := w.proxy.set.Load().Settings
	next.Servers = slices.Clone(next.Servers)
	next.Servers[0].Tools.Name = "other"
	if err := w.proxy.configure(next, true); err != nil {
		t.Fatal(err)
	}
	now := inside.offers.now.Load()
	if now.tool("other_echo") != nil || !goes.visit.Over() {
		t.Error("the guest is still there")
	}
	if now.tool("desk_echo") == nil || stays.visit.Over() {
		t.Error("the other guest is gone")
	}
}

// A guest that is being let in while the configuration changes leaves like the others.
func TestConfigureTurnsOutWhoIsBeingLetIn(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
	_, inside := w.joined(t)
	goes, err := w.bring("other", echoTool)
	if err != nil {
		t.Fatal(err)
	}
	next := w.proxy.set.Load().Settings
	next.Servers = slices.Clone(next.Servers)
	next.Servers[0].Tools.Name = "other"
	inside.inviting.Lock()
	coming := inside.guests.Swap(nil) // its name was welcome, and it is not in yet
	before := w.proxy.set.Load()
	configured := make(chan error, 1)
	go func() { configured <- w.proxy.configure(next, true) }()
	waits.Until(t, "the configuration to change", func() bool { return w.proxy.set.Load() != before })
	time.Sleep(10 * time.Millisecond)
	inside.guests.Store(coming)
	inside.inviting.Unlock()
	if err := <-configured; err != nil {
		t.Fatal(err)
	}
	if !goes.visit.Over() {
		t.Error("the guest is still there")
	}
}

// openings are the folders that a proxy tells of.
type openings chan []string

func (o openings) Opened(_ string, folders []string) { o <- folders }
func (o openings) Closed(string)                     {}

// The host's folders are those of its answer to the last question, whichever answer comes last.
func TestFoldersOfTheLastQuestion(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
	opened := make(openings, 10)
	w.proxy.o.Workspaces = opened
	h := w.connect().collect()
	h.greet(helloParams)
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var questions []rpc.Message
	for i := range 2 {
		m := h.next()
		if m.Method != "roots/list" {
			t.Fatalf("%s", m.Raw)
		}
		if questions = append(questions, m); i == 0 {
			h.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		}
	}
	for i, folder := range []string{"/new", "/old"} {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file://%s"}]}}`, questions[1-i].ID, folder))
		if folders := <-opened; !slices.Equal(folders, []string{"/new"}) {
			t.Errorf("once %s was named, the host works in %q", folder, folders)
		}
	}
}
