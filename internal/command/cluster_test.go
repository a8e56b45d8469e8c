package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/balancer"
	"callgate/internal/testserver/waits"
)

// team is several callgates that form one gate, as real processes on this machine.
type team struct {
	t       *testing.T
	dir     string // servers run here, and append to a file what they run
	config  string
	key     string
	peers   []string
	members []*member
	address string // of the balancer
}

// member is one replica.
type member struct {
	name, data, listen string
	flags              []string
	program            string // "" means this version

	mu  sync.Mutex
	c   *client // nil while the replica does not run
	url string
}

const teamRules = `{ "*": "ask", "read_file": "allow" }`

// startTeam prepares replicas with an embedded NATS each, and starts a balancer without affinity in front of them. They
// have the demo server.
func startTeam(t *testing.T, n int, flags ...string) *team {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hello.txt"), "Hello")
	return teamOf(t, n, dir, teamRules, fmt.Sprintf("servers:\n  - {name: demo, command: %q, args: [\".\"], package: callgate-demo, cwd: %q}\n", filepath.Join(servers(t), "demo"), dir), flags...)
}

// teamOf prepares replicas with those rules and that configuration, in the folder.
func teamOf(t *testing.T, n int, dir, rules, config string, flags ...string) *team {
	t.Helper()
	root := t.TempDir()
	team := &team{t: t, dir: dir, config: filepath.Join(root, "callgate.yaml"), key: filepath.Join(root, "cluster.key")}
	write(t, team.key, strings.Repeat("secret of a test ", 4))
	team.peers = addresses.Free(t, n)
	peers, _ := json.Marshal(team.peers)
	write(t, team.config, fmt.Sprintf("%scluster: {url: embedded, key: %q, lease: 5s, peers: %s}\n", config, team.key, peers))
	for i := range n {
		m := &member{name: fmt.Sprintf("gate-%d", i), data: filepath.Join(root, fmt.Sprintf("data%d", i)), listen: team.peers[i]}
		write(t, filepath.Join(m.data, "workers", "default", "permissions.jsonc"), rules)
		team.members = append(team.members, m)
	}
	front := httptest.NewServer(balancer.New(team.up))
	t.Cleanup(front.Close)
	team.address = front.URL + "/mcp"
	for _, m := range team.members {
		m.flags = append([]string{"--mcp-host", strings.TrimPrefix(front.URL, "http://")}, flags...)
	}
	return team
}

// up returns the replicas that hosts may be sent to.
func (team *team) up() (all []*url.URL) {
	for _, m := range team.members {
		if at, err := url.Parse(m.at()); err == nil && at.Host != "" {
			all = append(all, at)
		}
	}
	return all
}

func (m *member) at() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.url
}

// start starts the replica. ready waits for it.
func (team *team) start(m *member) {
	team.t.Helper()
	args := append([]string{"serve", "--config", team.config, "--data-dir", m.data, "--listen", "127.0.0.1:0", "--mcp-listen", "127.0.0.1:0", "--timeout", "10m"}, m.flags...)
	c, err := startClient(cmp.Or(m.program, callgateProgram(team.t)), args, team.dir, m.environ())
	if err != nil {
		team.t.Fatal(err)
	}
	m.mu.Lock()
	m.c = c
	m.mu.Unlock()
	team.t.Cleanup(func() {
		c.kill()
		if team.t.Failed() {
			team.t.Logf("%s:\n%s", m.name, tail(c.stderr.String(), 4000))
		}
	})
}

// environ returns an environment that tells a callgate which replica it is.
func (m *member) environ() []string {
	return append(os.Environ(), "CALLGATE_CLUSTER_NAME="+m.name, "CALLGATE_CLUSTER_LISTEN="+m.listen)
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

func (team *team) ready(m *member) {
	team.t.Helper()
	waits.Until(team.t, m.name+" serves hosts", func() bool {
		select {
		case <-m.c.exited:
			team.t.Fatalf("%s ended: %s", m.name, &m.c.stderr)
		default:
		}
		notes, _ := filepath.Glob(filepath.Join(m.data, "endpoints", fmt.Sprintf("%d-*", m.c.cmd.Process.Pid))) // a killed process leaves its note
		if len(notes) != 1 {
			return false
		}
		_, port, _ := strings.Cut(filepath.Base(notes[0]), "-")
		m.mu.Lock()
		defer m.mu.Unlock()
		m.url = "http://127.0.0.1:" + port
		return true
	})
}

// kill ends the replica without a goodbye.
func (team *team) kill(m *member) {
	m.mu.Lock()
	m.url = ""
	c := m.c
	m.mu.Unlock()
	c.kill()
}

func (team *team) startAll() {
	team.t.Helper()
	for _, m := range team.members {
		team.start(m)
	}
	for _, m := range team.members {
		team.ready(m)
	}
}

// token returns the hosts' token, which every replica knows.
func (team *team) token(m *member) string {
	team.t.Helper()
	token, err := os.ReadFile(filepath.Join(m.data, "credentials", "mcp"))
	if err != nil {
		team.t.Fatal(err)
	}
	return string(token)
}

// waiting is an approval as a person sees it.
type waiting struct {
	ApprovalID, SessionID, ArgsDigest, Reason string
	AwaitsHost                                bool
	Args                                      struct{ Command string }
}

// pending lists what a person sees at a replica.
func (m *member) pending(t *testing.T) (list []waiting, err error) {
	var answer struct{ Approvals []waiting }
	err = companionclient.Target{DataDir: m.data}.Ask(t.Context(), "GET", "/api/approvals", nil, &answer)
	return answer.Approvals, err
}

// asks returns the approval of a command, or nil while there is none.
func (m *member) asks(t *testing.T, command string) *waiting {
	list, _ := m.pending(t)
	for i := range list {
		if list[i].Args.Command == command {
			return &list[i]
		}
	}
	return nil
}

func (m *member) answer(t *testing.T, a waiting, decision string) error {
	return companionclient.Target{DataDir: m.data}.Ask(t.Context(), "POST", "/api/approvals/"+a.ApprovalID, map[string]string{"sessionId": a.SessionID, "argsDigest": a.ArgsDigest, "decision": decision}, nil)
}

// host is a host that connects through the balancer.
type host struct {
	team    *team
	token   string
	client  http.Client
	session string
	unsure  bool // an answer was lost, so the call may have run
	anew    bool // it began another session, because an answer was lost or the first session was over
}

// errBegin means that the session is over.
var errBegin = errors.New("the session is over")

func (h *host) send(body string) ([]byte, error) { return h.request("POST", body) }

func (h *host) request(method, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(h.team.t.Context(), method, h.team.address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + h.token}, "Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if h.session != "" {
		r.Header.Set("Mcp-Session-Id", h.session)
	}
	response, err := h.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, errBegin
	case response.StatusCode >= 300:
		return nil, fmt.Errorf("%s: %s", response.Status, answer)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	return answer, nil
}

func (h *host) begin() error {
	h.session = ""
	if _, err := h.send(serveHello); err != nil {
		return err
	}
	_, err := h.send(serveReady)
	return err
}

// end ends the session, with everything that waits in it.
func (h *host) end() {
	for h.team.t.Context().Err() == nil {
		if _, err := h.request("DELETE", ""); err == nil || errors.Is(err, errBegin) {
			h.session = ""
			return
		}
		time.Sleep(50 * time.Millisecond) // between two tries
	}
}

// insist makes a call until it has run. It repeats the call when told to, and starts a new session if its session is
// over or an answer is lost. Before that it ends the old one, where a call whose answer is lost would wait on.
func (h *host) insist(body string) ([]byte, error) {
	for h.team.t.Context().Err() == nil {
		if h.session == "" {
			if err := h.begin(); err != nil {
				h.session = ""
				time.Sleep(50 * time.Millisecond) // between two tries
				continue
			}
		}
		answer, err := h.send(body)
		switch {
		case errors.Is(err, errBegin):
			h.session, h.anew = "", true
		case err != nil:
			h.unsure, h.anew = true, true
			h.end()
		case bytes.Contains(answer, []byte("epeat the same call")) || bytes.Contains(answer, []byte("hears from its cluster")) || bytes.Contains(answer, []byte("the cluster cannot be")):
			time.Sleep(50 * time.Millisecond)
		default:
			return answer, nil
		}
	}
	return nil, h.team.t.Context().Err()
}

func shellCall(command string) string {
	text, _ := json.Marshal(command)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo_shell_exec","arguments":{"command":%s}}}`, text)
}

// ran counts what the servers ran, by line.
func (team *team) ran() map[string]int {
	text, err := os.ReadFile(filepath.Join(team.dir, "ran"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		team.t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

func (team *team) command(m *member, args ...string) (string, error) {
	args = append(args, "--config", team.config, "--data-dir", m.data)
	cmd := exec.CommandContext(team.t.Context(), callgateProgram(team.t), args...)
	cmd.Env = m.environ()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sharesRules pushes rules at one replica, and checks that the others use them.
func (team *team) sharesRules(t *testing.T, h *host) {
	second := team.members[1]
	if out, err := team.command(second, "rules", "diff"); err != nil {
		t.Fatalf("the file is not what the cluster has: %v\n%s", err, out)
	}
	strict := filepath.Join(filepath.Dir(team.config), "policy", "workers", "default", "permissions.jsonc")
	write(t, strict, `{ "*": "ask", "read_file": "deny" }`)
	folder := filepath.Join(filepath.Dir(team.config), "policy")
	if out, err := team.command(second, "rules", "diff", "--file", folder); err == nil || !strings.Contains(out, `+{ "*": "ask", "read_file": "deny" }`) {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := team.command(second, "rules", "push", "--file", folder); err != nil || !strings.Contains(out, "pushed revision") {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 6 { // at every replica, whichever has the session
		waits.Until(t, "the read is denied", func() bool {
			answer, err := (&host{team: team, token: h.token}).insist(serveCall)
			return err == nil && bytes.Contains(answer, []byte("isError\":true"))
		})
	}
	for _, m := range team.members {
		waits.Until(t, "the file follows", func() bool {
			text, err := os.ReadFile(filepath.Join(m.data, "workers", "default", "permissions.jsonc"))
			return err == nil && strings.Contains(string(text), "deny")
		})
	}
	write(t, strict, teamRules)
	if out, err := team.command(second, "rules", "push", "--file", folder, "--onto", "1"); err == nil {
		t.Fatalf("pushed onto a revision that is not the newest\n%s", out)
	}
	if out, err := team.command(second, "rules", "push", "--file", folder); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := team.command(team.members[2], "rules", "pull"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	waits.Until(t, "reads run again", func() bool {
		answer, err := (&host{team: team, token: h.token}).insist(serveCall)
		return err == nil && bytes.Contains(answer, []byte("Hello"))
	})
}

// sharesFreezes freezes at one replica, and checks all.
func (team *team) sharesFreezes(t *testing.T, h *host) {
	if out, err := team.command(team.members[0], "freeze", "--reason", "drill"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 6 {
		waits.Until(t, "nothing is written", func() bool {
			answer, err := (&host{team: team, token: h.token}).insist(shellCall("echo frozen >> ran"))
			return err == nil && bytes.Contains(answer, []byte("Frozen"))
		})
	}
	if out, err := team.command(team.members[0], "unfreeze"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// drains shuts a replica down in an orderly way while a call waits at it. The others show the call at once, and its
// host repeats it.
func (team *team) drains(t *testing.T, h *host) {
	last, next := team.members[2], team.members[0]
	direct := &served{t: t, url: last.at() + "/mcp", token: h.token}
	session, err := direct.connect(http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan []byte, 1)
	go func() {
		answer, _, _ := direct.send(http.DefaultClient, "POST", session, shellCall("echo drained >> ran"))
		told <- answer
	}()
	waits.Until(t, "the call waits", func() bool { return last.asks(t, "echo drained >> ran") != nil })
	last.mu.Lock()
	last.url = ""
	last.mu.Unlock()
	if err := last.c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if answer := <-told; !bytes.Contains(answer, []byte("Repeat the same call")) {
		t.Errorf("the host was told %s", answer)
	}
	<-last.c.exited
	var asked *waiting
	waits.Until(t, "another replica shows it", func() bool {
		asked = next.asks(t, "echo drained >> ran")
		return asked != nil && asked.AwaitsHost
	})
	if err := next.answer(t, *asked, "approve"); err != nil {
		t.Fatal(err)
	}
	if answer, err := (&host{team: team, token: h.token}).insist(shellCall("echo drained >> ran")); err != nil || bytes.Contains(answer, []byte(`"isError":true`)) {
		t.Errorf("%s, %v", answer, err)
	}
	if n := team.ran()["drained"]; n != 1 {
		t.Errorf("it ran %d times", n)
	}
	team.start(last)
	team.ready(last)
}

// TestClusterOfThree: three replicas behind a balancer without affinity are one gate. People anywhere see and answer
// everything, sessions go on wherever their requests arrive, and what a killed replica leaves is neither lost nor run
// twice.
func TestClusterOfThree(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three callgates with a NATS each")
	}
	t.Parallel()
	team := startTeam(t, 3)
	team.startAll()
	first, second, third := team.members[0], team.members[1], team.members[2]
	for _, m := range team.members[1:] {
		waits.Until(t, "all replicas have the same credentials", func() bool { return team.token(m) == team.token(first) })
	}
	waits.Until(t, "all replicas are up", func() bool {
		out, err := team.command(third, "cluster", "status")
		return err == nil && strings.Count(out, " up\n") == 3
	})

	h := &host{team: team, token: team.token(first)}
	if err := h.begin(); err != nil {
		t.Fatal(err)
	}
	began := h.session
	for range 6 {
		if answer, err := h.send(serveCall); err != nil || !bytes.Contains(answer, []byte("Hello")) {
			t.Fatalf("%s, %v", answer, err)
		}
	}
	if h.session != began {
		t.Error("the session changed")
	}

	// A person at each replica answers what waits at any.
	for i, m := range team.members {
		ran := make(chan error, 1)
		go func() {
			h := &host{team: team, token: h.token}
			answer, err := h.insist(shellCall(fmt.Sprintf("echo any%d >> ran", i)))
			if err == nil && bytes.Contains(answer, []byte(`"isError":true`)) {
				err = fmt.Errorf("%s", answer)
			}
			ran <- err
		}()
		var list []waiting
		waits.Until(t, "the person sees it", func() bool {
			list, _ = m.pending(t)
			return len(list) == 1
		})
		if err := m.answer(t, list[0], "approve"); err != nil {
			t.Fatal(err)
		}
		if err := <-ran; err != nil {
			t.Fatal(err)
		}
	}

	t.Run("rules", func(t *testing.T) { team.sharesRules(t, h) })
	t.Run("freeze", func(t *testing.T) { team.sharesFreezes(t, h) })

	// Calls wait everywhere. One replica is killed with some of them, and comes back later.
	const calls = 30
	var hosts sync.WaitGroup
	unsure, anew := make([]bool, calls), map[string]bool{}
	var mu sync.Mutex // guards anew
	for i := range calls {
		hosts.Go(func() {
			h := &host{team: team, token: h.token}
			defer func() {
				unsure[i] = h.unsure
				mu.Lock()
				defer mu.Unlock()
				anew[fmt.Sprintf("echo call%d >> ran", i)] = h.anew
			}()
			if answer, err := h.insist(shellCall(fmt.Sprintf("echo call%d >> ran", i))); err != nil {
				t.Errorf("call %d: %s, %v", i, answer, err)
			}
		})
	}
	waits.Until(t, "all are shown at one replica", func() bool { list, _ := second.pending(t); return len(list) == calls })
	team.kill(first)
	done := make(chan struct{})
	go func() {
		defer close(done)
		hosts.Wait()
	}()
	yes := map[string]int{}
	for over := false; !over; {
		for i, m := range team.members[1:] {
			list, err := m.pending(t)
			if err != nil {
				continue
			}
			for at, a := range list {
				if at%2 == i { // two people at once, sometimes for the same call
					yes[a.Args.Command]++
					_ = m.answer(t, a, "approve") // somebody else may have been first
				}
			}
		}
		select {
		case <-done:
			over = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	counts := team.ran()
	for i := range calls {
		// A host whose answer was lost with the killed replica asks again, and a person may approve again.
		n, most := counts[fmt.Sprintf("call%d", i)], 1
		if unsure[i] {
			most = yes[fmt.Sprintf("echo call%d >> ran", i)]
		}
		if n < 1 || n > most {
			t.Errorf("call %d ran %d times, and people said yes %d times", i, n, most)
		}
	}
	team.start(first)
	team.ready(first)
	waits.Until(t, "the replica is back", func() bool {
		out, err := team.command(second, "cluster", "status")
		return err == nil && strings.Count(out, " up\n") == 3
	})
	for _, m := range team.members {
		list, err := m.pending(t)
		// A host that repeated its call before the dead replica's question was taken over got a new question. The first
		// question stays until it expires. So does the question of a session that a replica, cut off for a while, took
		// for ended.
		if err != nil || slices.ContainsFunc(list, func(a waiting) bool { return !a.AwaitsHost && !anew[a.Args.Command] }) {
			t.Errorf("%s shows %v, %v", m.name, list, err)
		}
	}

	waits.Until(t, "the cluster has the whole trail", func() bool {
		out, err := team.command(second, "audit", "verify", "--cluster")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Contains(out, "the cluster has") && strings.Count(out, "are not there yet") == 0
	})

	t.Run("drain", func(t *testing.T) { team.drains(t, h) })

	// Without a majority nothing runs, and the gate says why.
	team.kill(second)
	team.kill(third)
	waits.Until(t, "the last replica denies", func() bool {
		h := &host{team: team, token: h.token}
		if h.begin() != nil {
			return false
		}
		answer, err := h.send(serveCall)
		return err == nil && bytes.Contains(answer, []byte("hears from its cluster"))
	})
	team.start(second)
	team.start(third)
	team.ready(second)
	waits.Until(t, "it catches up", func() bool {
		answer, err := (&host{team: team, token: h.token}).insist(serveCall)
		return err == nil && bytes.Contains(answer, []byte("Hello"))
	})
}
