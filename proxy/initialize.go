package proxy

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/tasks"
)

// handshake answers the first requests of a host's session.
type handshake struct{ host *host }

// initialize answers the handshake and starts the servers. callgate knows their capabilities from the last start, or
// waits up to patience for them.
func (h handshake) initialize(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	if err := m.Check(); err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidRequest, err.Error())
	}
	var p [3]jsonx.Member
	if err := jsonx.Members(m.Params, []string{"protocolVersion", "capabilities", "clientInfo"}, p[:]); err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	asked, _ := jsonx.String(p[0].Value)
	version := negotiate(asked)
	capabilities, can := forServers(p[1].Value, h.host.era == upstream.Legacy && version >= "2025-11-25")
	if !h.host.capable.CompareAndSwap(nil, &can) {
		return rpc.Error(m.ID, rpc.CodeInvalidRequest, "the session is initialized already")
	}
	named := client(p[2].Value)
	named.Principal = proven(h.host.principal)
	h.host.session.SetClient(named)
	for _, s := range h.host.servers {
		s.start(upstream.Hello{ProtocolVersion: version, Capabilities: capabilities, ClientInfo: p[2].Value, Era: h.host.era, Tasks: h.host.waits || h.host.era == upstream.Legacy})
	}
	h.host.offers.await(ctx, patience, func(s *server) bool { _, known := s.up.Info(); return known })
	h.host.offers.rebuild()
	return rpc.Result(m.ID, h.welcome(version))
}

// offered lists the capabilities that callgate relays from servers to hosts. An unknown server is assumed to have them,
// so that its lists can appear later.
var offered = []struct {
	name    string
	members []string
}{
	{"tools", []string{"listChanged"}},
	{"prompts", []string{"listChanged"}},
	{"resources", []string{"listChanged", "subscribe"}},
	{"logging", nil},
	{"completions", nil},
}

// welcome composes the result of initialize from all servers.
func (h handshake) welcome(version string) []byte {
	names := make([]string, len(offered))
	for i, o := range offered {
		names[i] = o.name
	}
	has := make([]bool, len(offered))
	has[0] = !h.host.view.untouched() // a client may bring tools at any time
	var instructions []byte
	var only *upstream.Info
	for _, s := range h.host.servers {
		info, known := s.up.Info()
		declared := make([]jsonx.Member, len(offered))
		if known {
			if !s.own {
				only = info
			}
			if err := jsonx.Members(info.Capabilities, names, declared); err != nil {
				continue // cannot happen: the handshake has checked it
			}
			instructions = appendInstructions(instructions, s.alias, info.Instructions, s.untouched())
		}
		for i := range offered {
			has[i] = has[i] || !known || declared[i].Value != nil
		}
	}
	b := append([]byte(`{"protocolVersion":`), jsonx.Quote(version)...)
	b = append(b, `,"capabilities":{`...)
	first := true
	for i, o := range offered {
		if !has[i] {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, jsonx.Quote(o.name)...), ":{"...)
		for j, member := range o.members {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(append(b, jsonx.Quote(member)...), ":true"...)
		}
		b = append(b, '}')
	}
	if offered := taskCalls(h).capability(h.host.servers, version, h.host.era); offered != nil {
		if !first {
			b = append(b, ',')
		}
		b = append(append(b, `"tasks":`...), offered...)
	}
	b = append(b, `},"serverInfo":`...)
	if h.host.view.untouched() && only != nil && only.ServerInfo != nil {
		b = append(b, only.ServerInfo...)
	} else {
		b = append(append(append(b, `{"name":"callgate","version":`...), jsonx.Quote(h.host.p.o.Version)...), '}')
	}
	if len(instructions) > 0 {
		b = append(append(b, `,"instructions":`...), jsonx.Quote(string(instructions))...)
	}
	return append(b, '}')
}

func appendInstructions(all []byte, alias string, raw []byte, plain bool) []byte {
	text, ok := jsonx.String(raw)
	if !ok || text == "" {
		return all
	}
	if len(all) > 0 {
		all = append(all, "\n\n"...)
	}
	if !plain {
		all = append(append(append(all, "## "...), alias...), "\n\n"...)
	}
	return append(all, text...)
}

// forServers returns the host's capabilities as servers get them, without those that callgate does not relay, and in
// parsed form. withTasks says that the host's revision has tasks.
func forServers(capabilities []byte, withTasks bool) ([]byte, hostCapabilities) {
	if capabilities == nil {
		return []byte("{}"), hostCapabilities{}
	}
	var m [4]jsonx.Member
	if jsonx.Members(capabilities, []string{"roots", "sampling", "elicitation", "tasks"}, m[:]) != nil {
		return []byte("{}"), hostCapabilities{}
	}
	can := hostCapabilities{roots: m[0].Value != nil, sampling: m[1].Value != nil, elicitation: m[2].Value != nil}
	var mode [1]jsonx.Member
	if can.elicitation && jsonx.Members(m[2].Value, []string{"url"}, mode[:]) == nil {
		can.elicitationURL = mode[0].Value != nil
	}
	if withTasks {
		can.tasks = tasks.ReadCapabilities(m[3].Value)
		can.tasks.Sampling, can.tasks.Elicitation = can.tasks.Sampling && can.sampling, can.tasks.Elicitation && can.elicitation
		can.tasks.Cancel = can.tasks.Cancel && can.tasks.Any()
	}
	switch {
	case can.tasks.Any():
		capabilities = jsonx.Put(capabilities, "tasks", can.tasks.Declared())
	case m[3].Value != nil:
		capabilities = jsonx.Splice(capabilities, jsonx.Delete(capabilities, m[3]))
	}
	return capabilities, can
}

func client(raw []byte) (c gate.Client) {
	var m [2]jsonx.Member
	if raw == nil || jsonx.Members(raw, []string{"name", "version"}, m[:]) != nil {
		return c
	}
	c.Name, _ = jsonx.String(m[0].Value)
	c.Version, _ = jsonx.String(m[1].Value)
	return c
}

// setLevel passes the log level on to every server that logs. It waits up to patience for them, so that the host's next
// call is logged at that level. A server that is still starting hears of it then.
func (h handshake) setLevel(_ context.Context, m rpc.Message, _ *inflight) []byte {
	level := bytes.Clone(m.Params)
	h.host.level.Store(&level)
	var passing sync.WaitGroup
	for _, s := range h.host.servers {
		if !s.offers("logging") {
			continue
		}
		passing.Add(1)
		h.host.work.Go(func() {
			defer passing.Done()
			s.passLevel()
		})
	}
	passed := make(chan struct{})
	h.host.work.Go(func() { passing.Wait(); close(passed) })
	select {
	case <-passed:
	case <-time.After(patience):
	}
	return rpc.Result(m.ID, []byte("{}"))
}

// rootsPatience bounds how long a host may take to name its roots. No call waits for that, because some hosts declare
// roots and never answer.
const rootsPatience = 30 * time.Second

// learnFolders asks the host for its workspace folders, because relative paths in calls may refer to them too. The host
// reports changes.
func (h handshake) learnFolders() {
	n := &h.host.naming
	n.Lock()
	n.asked++
	asked := n.asked
	n.Unlock()
	if can := h.host.capable.Load(); can == nil || !can.roots {
		h.take(asked, nil)
		return
	}
	h.host.work.Go(func() {
		var named []byte
		defer func() { h.take(asked, named) }()
		pending, err := h.host.ask(nil, "roots", func(id []byte) []byte { return rpc.Request(id, "roots/list", nil) })
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(h.host.ctx, rootsPatience)
		defer cancel()
		answer, err := pending.Wait(ctx)
		if err != nil || answer.Result == nil {
			h.host.log.Debug("the host did not name its roots", "error", err)
			return
		}
		named = answer.Result
	})
}

// naming orders what the host says of its folders.
type naming struct {
	sync.Mutex
	asked, named uint64 // the last question, and the last that the host has answered
}

// take takes over the answer to a question about the host's folders, or nil, unless the host has answered a later one.
// It reports the folders to Workspaces.
func (h handshake) take(asked uint64, named []byte) {
	n := &h.host.naming
	n.Lock()
	defer n.Unlock()
	if named != nil && asked > n.named {
		n.named = asked
		h.host.folders.Named(named)
		h.host.session.SetOrigin(h.host.folders.Origin())
	}
	if h.host.p.o.Workspaces != nil && h.host.ctx.Err() == nil {
		h.host.p.o.Workspaces.Opened(h.host.session.ID(), h.host.folders.Roots())
	}
}

// latestVersion answers a host that asks for an unknown version.
var latestVersion = upstream.Versions[len(upstream.Versions)-1]

// negotiate returns the version that the host asks for, or latestVersion if callgate does not know it.
func negotiate(version string) string {
	if slices.Contains(upstream.Versions, version) {
		return version
	}
	return latestVersion
}

// Versions returns the revisions of MCP with a handshake that hosts can speak with callgate, oldest first.
func Versions() []string { return slices.Clone(upstream.Versions) }

// SupportedVersions returns all revisions that hosts can speak with callgate, newest first.
func SupportedVersions() []string {
	all := append(Versions(), StatelessVersion)
	slices.Reverse(all)
	return all
}
