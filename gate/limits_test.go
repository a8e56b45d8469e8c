package gate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
	"callgate/permissions"
	"callgate/permissions/store"
)

func glob(t *testing.T, pattern string) *permissions.Glob {
	t.Helper()
	g, err := permissions.CompileGlob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTurnBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, `{"*": "allow", "shell_exec": {"rm *": "deny"}}`, func(o *Options) {
			o.Limits = Limits{CallsPerTurn: 3, TurnIdle: 30 * time.Second}
		})
		decide := func(command string) Verdict {
			v, call := b.gate.Decide(t.Context(), b.session, b.shell(command, command))
			if v.Action == permissions.Allow {
				b.gate.Finish(b.session, call, nil, false, "", 0)()
			}
			return v
		}
		for _, command := range []string{"ls", "rm x", "ls"} {
			if v := decide(command); v.Decision == DecidedLimited {
				t.Errorf("%s is limited", command)
			}
		}
		for range 2 {
			if v := decide("ls"); v.Decision != DecidedLimited || !strings.Contains(v.Reason, "30s without a call") {
				t.Errorf("over the budget: %s, %s", v.Decision, v.Reason)
			}
			time.Sleep(20 * time.Second)
		}
		if v := decide("rm x"); v.Decision != DecidedDenied {
			t.Errorf("a denial over the budget: %s", v.Decision)
		}
		time.Sleep(30 * time.Second)
		if v := decide("ls"); v.Action != permissions.Allow {
			t.Errorf("a new turn: %s", v.Decision)
		}
	})
}

func TestConcurrencyAndTimeouts(t *testing.T) {
	network := permissions.Network
	b := newBench(t, `{"*": "allow"}`, func(o *Options) {
		o.Limits = Limits{Concurrent: 1, Timeouts: []Timeout{
			{After: 15 * time.Second}, {Risk: &network, After: 30 * time.Second}, {Tool: glob(t, "read_*"), After: time.Second},
		}}
	})
	first, call := b.gate.Decide(t.Context(), b.session, b.shell("1", "ls"))
	if first.Action != permissions.Allow || first.Timeout != 15*time.Second {
		t.Errorf("the first: %s, %s", first.Action, first.Timeout)
	}
	if v, _ := b.gate.Decide(t.Context(), b.session, b.shell("2", "ls")); v.Decision != DecidedLimited {
		t.Errorf("the second at once: %s", v.Decision)
	}
	b.gate.Finish(b.session, call, nil, false, "", 0)()
	fetch := b.shell("3", "curl https://example.com")
	v, call := b.gate.Decide(t.Context(), b.session, fetch)
	if v.Timeout != 30*time.Second {
		t.Errorf("network: %s (%s %s)", v.Timeout, v.Risk(), v.Reason)
	}
	b.gate.Finish(b.session, call, nil, false, "", 0)()
	if v, _ := b.gate.Decide(t.Context(), b.session, kindCall(t, b.dir, "read_file", "path", "a")); v.Timeout != time.Second {
		t.Errorf("by kind: %s", v.Timeout)
	}
}

func TestConcurrencyHoldsForCallsThatComeTogether(t *testing.T) {
	b := newBench(t, `{"*": "allow"}`, func(o *Options) { o.Limits = Limits{Concurrent: 2} })
	var allowed atomic.Int32
	var deciding sync.WaitGroup
	for i := range 16 {
		deciding.Go(func() {
			if v, _ := b.gate.Decide(t.Context(), b.session, b.shell(fmt.Sprint(i), "ls")); v.Action == permissions.Allow {
				allowed.Add(1)
			}
		})
	}
	deciding.Wait()
	if n := allowed.Load(); n != 2 {
		t.Errorf("%d calls run at once", n)
	}
}

func TestGateOffStillProtectsItself(t *testing.T) {
	own := t.TempDir()
	protected, err := NewProtected([]string{own}, "/home/u", nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, `{"*": "deny"`, func(o *Options) { o.Off, o.Protected = true, protected })
	if v, _ := b.gate.Decide(t.Context(), b.session, b.shell("1", "sudo rm -rf build")); v.Action != permissions.Allow || v.By != "gate:off" {
		t.Errorf("%s by %s", v.Action, v.By)
	}
	if v, _ := b.gate.Decide(t.Context(), b.session, kindCall(t, b.dir, "read_file", "path", own+"/credentials/approve")); v.Action != permissions.Deny {
		t.Errorf("its own files: %s", v.Action)
	}
	if info := b.gate.Sessions()[0]; info.Mode != "GATE OFF" {
		t.Errorf("people see mode %q", info.Mode)
	}
}

func TestRememberInMemory(t *testing.T) {
	b := newBench(t, asking, func(o *Options) { o.InMemory = true })
	end := b.decide(t.Context(), b.shell("1", "git status"))
	if err := b.answer(b.waiting(1)[0], "always", nil); err != nil {
		t.Fatal(err)
	}
	<-end
	if text, err := os.ReadFile(b.rules); err != nil || string(text) != asking {
		t.Errorf("the rules file became %s, %v", text, err)
	}
	other, err := b.gate.OpenSession("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := b.gate.Decide(t.Context(), other, b.shell("2", "git status")); v.Decision != DecidedTrusted {
		t.Errorf("another session of the worker: %s", v.Decision)
	}
}

// counts is a Tallies that several gates share in a test.
type counts struct {
	mu   sync.Mutex
	used map[string]int
	away bool
}

type count struct {
	*counts
	name string
}

func (c *counts) Tally(how Counted) Tally { return count{c, how.Name} }

func (c count) Take(n, limit int) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return false, fmt.Errorf("the others are away")
	}
	may := c.used[c.name]+n <= limit
	if may {
		c.used[c.name] += n
	}
	return may, nil
}

func (c count) Add(n int)  { c.mu.Lock(); defer c.mu.Unlock(); c.used[c.name] += n }
func (c count) Give(n int) { c.Add(-n) }
func (c count) Count() int { c.mu.Lock(); defer c.mu.Unlock(); return c.used[c.name] }
func (c count) Begin()     { c.mu.Lock(); defer c.mu.Unlock(); c.used[c.name] = 0 }
func (c count) Close()     {}

// TestSharedLimits has two gates hold one host to its limits.
func TestSharedLimits(t *testing.T) {
	all := &counts{used: map[string]int{}}
	replica := func(limits Limits, account string) func(command string) (Verdict, func()) {
		b := newBench(t, `{"*": "allow"}`, func(o *Options) { o.Limits, o.Tallies = limits, all })
		b.session.Share(account)
		n := 0
		return func(command string) (Verdict, func()) {
			n++
			v, call := b.gate.Decide(t.Context(), b.session, b.shell(fmt.Sprint(n), command))
			return v, func() {
				if v.Action == permissions.Allow {
					b.gate.Finish(b.session, call, nil, false, "", 0)()
				}
			}
		}
	}
	limited := func(v Verdict) bool { return v.Decision == DecidedLimited }

	turn := Limits{CallsPerTurn: 3, TurnIdle: time.Minute}
	one, two, other := replica(turn, "a"), replica(turn, "a"), replica(turn, "b")
	for range 3 {
		if v, end := one("ls"); limited(v) {
			t.Error("a call within the budget: ", v.Reason)
		} else {
			end()
		}
	}
	if v, _ := two("ls"); !limited(v) {
		t.Errorf("the budget is spent elsewhere: %s", v.Decision)
	}
	if v, _ := other("ls"); limited(v) {
		t.Error("another host's budget: ", v.Reason)
	}
	all.away = true
	if v, _ := other("ls"); !limited(v) || !strings.Contains(v.Reason, "the others are away") {
		t.Errorf("nobody can count: %s, %s", v.Decision, v.Reason)
	}
	all.away = false

	one, two = replica(Limits{Concurrent: 1}, "c"), replica(Limits{Concurrent: 1}, "c")
	v, end := one("ls")
	if limited(v) {
		t.Error("the first: ", v.Reason)
	}
	if v, _ := two("ls"); !limited(v) {
		t.Errorf("the second at once: %s", v.Decision)
	}
	end()
	if v, _ := two("ls"); limited(v) {
		t.Error("after the first has ended: ", v.Reason)
	}

	losses := Limits{Irreversible: 2, IrreversibleWithin: time.Minute}
	one = replica(losses, "d")
	if v, _ := one("truncate -s 0 x"); v.Action != permissions.Allow || all.used["lost.d"] != 1 {
		t.Errorf("the first loss: %s, %v", v.Reason, all.used)
	}
}

// sharedText is a text that several gates share in a test.
type sharedText struct {
	mu       sync.Mutex
	text     []byte
	revision uint64
	away     bool
	fails    int    // how many of the next reads fail
	replaced func() // called after the next Replace
}

func (s *sharedText) Text() ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, 0, fmt.Errorf("the cluster is away")
	}
	if s.fails > 0 {
		s.fails--
		return nil, 0, fmt.Errorf("the cluster was away")
	}
	return s.text, s.revision, nil
}

func (s *sharedText) Replace(revision uint64, text []byte) error {
	s.mu.Lock()
	defer func() {
		replaced := s.replaced
		s.replaced = nil
		s.mu.Unlock()
		if replaced != nil {
			replaced()
		}
	}()
	if s.away {
		return fmt.Errorf("the cluster is away")
	}
	if revision != s.revision {
		return store.ErrStale
	}
	s.text, s.revision = text, revision+1
	return nil
}

// standing returns what was set for the session of b.
func (b *bench) standing(t *testing.T) sharedSettings {
	by, _, err := b.gate.standings.read(b.gate.journal.o.Standing)
	if err != nil {
		t.Error(err)
	}
	return by[b.session.account]
}

// controls lists what people and clients changed, by the audit trail.
func (b *bench) controls() (summaries []string) {
	b.t.Helper()
	for r, err := range audit.Read(audit.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.rules)))), audit.Filter{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		if r.Event == audit.Control {
			summaries = append(summaries, r.Summary)
		}
	}
	return summaries
}

// TestStandingReadOnce fails the first read of the shared settings and no later one. No call is judged by a level that
// was changed elsewhere, and an added agent is on record.
func TestStandingReadOnce(t *testing.T) {
	text := &sharedText{}
	var all []*bench
	for range 2 {
		b := newBench(t, `{"*": "allow"}`, func(o *Options) { o.Mode, o.Standing = ModeNoPrompt, text })
		b.session.Share("a")
		all = append(all, b)
	}
	one, two := all[0], all[1]
	if err := one.gate.Controls.SetAutonomy(one.session.ID(), "MANUAL", audit.Author{By: "test"}); err != nil {
		t.Fatal(err)
	}
	text.fails = 1
	if v, _ := two.gate.Decide(t.Context(), two.session, two.shell("1", "ls")); v.Action != permissions.Deny || !strings.Contains(v.Reason, "the cluster was away") {
		t.Errorf("while nobody knows the level: %s, %s", v.Action, v.Reason)
	}
	shown := one.gate.Subscribe()
	defer shown.Close()
	text.replaced = func() { text.fails = 1 }
	if err := one.gate.Controls.SetAutonomy(one.session.ID(), "CAUTIOUS", audit.Author{By: "test"}); err != nil {
		t.Errorf("a level that was written: %v", err)
	}
	level := ""
	for range len(shown.Events) {
		if e, ok := (<-shown.Events).(AutonomyChanged); ok {
			level = e.Level
		}
	}
	if level != "CAUTIOUS" {
		t.Errorf("people are shown %q", level)
	}
	text.replaced = func() { text.fails = 1 }
	id, err := one.gate.Controls.AddAgent(one.session.ID(), permissions.Agent{Name: "free"}, AgentInfo{Role: "free"}, audit.Author{By: "test"})
	if err != nil || one.standing(t).Team[id].Name != "free" {
		t.Errorf("%q was added: %v", id, err)
	}
	if said := one.controls(); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "free-") && strings.HasSuffix(s, "added.") }) {
		t.Errorf("the agent is not on record: %q", said)
	}
}

// TestStandingOfSeveralReplicas sets the level and agents of a host's session at one gate. They hold at another.
func TestStandingOfSeveralReplicas(t *testing.T) {
	text := &sharedText{}
	var all []*bench
	for _, account := range []string{"a", "a", "b"} {
		b := newBench(t, `{"*": "allow"}`, func(o *Options) { o.Mode, o.Standing = ModeNoPrompt, text })
		b.session.Share(account)
		all = append(all, b)
	}
	one, two, other := all[0], all[1], all[2]
	decide := func(b *bench, agent string) Verdict {
		call := b.shell(fmt.Sprint(time.Now().UnixNano()), "ls")
		call.Agent = agent
		v, call := b.gate.Decide(t.Context(), b.session, call)
		if v.Action == permissions.Allow {
			b.gate.Finish(b.session, call, nil, false, "", 0)()
		}
		return v
	}
	who := audit.Author{By: "test"}
	if v := decide(two, ""); v.Action != permissions.Allow {
		t.Fatalf("before: %s", v.Reason)
	}
	if err := one.gate.Controls.SetAutonomy(one.session.ID(), "MANUAL", who); err != nil {
		t.Fatal(err)
	}
	if v := decide(two, ""); v.Action != permissions.Deny {
		t.Error("the level does not hold at the other")
	}
	if level := two.gate.Sessions()[0].Autonomy; level != "MANUAL" {
		t.Errorf("the other shows %s", level)
	}
	if v := decide(other, ""); v.Action != permissions.Allow {
		t.Errorf("another host: %s", v.Reason)
	}
	text.replaced = func() { // before the first gate goes on
		if err := two.gate.Controls.SetAutonomy(two.session.ID(), "MANUAL", who); err != nil {
			t.Fatal(err)
		}
		decide(one, "")
	}
	if err := one.gate.Controls.SetAutonomy(one.session.ID(), "FULL_AUTO", who); err != nil {
		t.Fatal(err)
	}
	if v := decide(one, ""); v.Action != permissions.Deny {
		t.Error("a level that was set before holds, and not the last one")
	}
	if err := two.gate.Controls.SetAutonomy(two.session.ID(), "FULL_AUTO", who); err != nil {
		t.Fatal(err)
	}

	profile, err := permissions.ParseProfile("reader", "test", `{"shell_exec": "deny"}`)
	if err != nil {
		t.Fatal(err)
	}
	denies, err := one.gate.Controls.AddAgent(one.session.ID(), profile, AgentInfo{Role: "reader"}, who)
	if err != nil {
		t.Fatal(err)
	}
	free, err := one.gate.Controls.AddAgent(one.session.ID(), permissions.Agent{Name: "free"}, AgentInfo{Role: "free"}, who)
	if err != nil {
		t.Fatal(err)
	}
	if v := decide(two, denies); v.Action != permissions.Deny || !strings.Contains(v.Rule, "shell_exec") {
		t.Errorf("the agent's deny does not hold at the other: %s, %s", v.Action, v.Reason)
	}
	if v := decide(two, free); v.Action != permissions.Allow {
		t.Errorf("an agent that was added elsewhere: %s", v.Reason)
	}
	if err := two.gate.Controls.RemoveAgent(two.session.ID(), free, who); err != nil {
		t.Fatal(err)
	}
	if v := decide(one, free); v.Action != permissions.Deny {
		t.Error("an agent that was removed elsewhere")
	}
	text.replaced = func() { // it is removed elsewhere before the first gate goes on
		added := slices.Collect(maps.Keys(two.standing(t).Team))
		for _, id := range added {
			if err := two.gate.Controls.RemoveAgent(two.session.ID(), id, who); err != nil {
				t.Error(err)
			}
		}
		decide(one, "") // which hears of it
	}
	if gone, err := one.gate.Controls.AddAgent(one.session.ID(), permissions.Agent{Name: "brief"}, AgentInfo{Role: "brief"}, who); err != nil {
		t.Error(err)
	} else if v := decide(one, gone); v.Action != permissions.Deny {
		t.Error("an agent is back that was removed elsewhere while it was added")
	}
	text.away = true
	if v := decide(one, ""); v.Action != permissions.Deny || !strings.Contains(v.Reason, "the cluster is away") {
		t.Errorf("nobody knows the level: %s, %s", v.Action, v.Reason)
	}
	if err := one.gate.Controls.SetAutonomy(one.session.ID(), "FULL_AUTO", who); err == nil {
		t.Error("a level was set that the others do not know")
	}
}

// configuring is an advisor that replaces the settings while it is asked, as a reload of the configuration may.
type configuring func()

func (configuring) Name() string { return "test" }

func (c configuring) Advise(Question) (permissions.Action, string, error) {
	c()
	return permissions.Allow, "", nil
}

// TestSettingsReplacedMeanwhile: a call uses the settings that it began with, and after a wait the current ones.
func TestSettingsReplacedMeanwhile(t *testing.T) {
	timed := func(after time.Duration, most int) Limits {
		return Limits{Timeouts: []Timeout{{After: after}}, Concurrent: most, CallsPerTurn: most}
	}
	b := newBench(t, `{"*": "allow", "shell_exec": {"rm *": "ask"}}`, nil)
	after := Settings{Mode: ModeAutoDeny, Limits: timed(time.Hour, 1), MaxPending: 1}
	before := Settings{Limits: timed(time.Minute, 2), Advisors: []Advisor{configuring(func() { b.gate.Controls.Configure(after) })}}
	b.gate.Controls.Configure(before)
	call := b.shell("call_1", "ls")
	call.Agent = "other"
	b.gate.agents["other"] = permissions.Agent{Name: "other"} // the call is judged twice
	v, call := b.gate.Decide(t.Context(), b.session, call)
	if v.Action != permissions.Allow || v.Timeout != time.Minute {
		t.Errorf("%s after %s: %s", v.Action, v.Timeout, v.Reason)
	}
	b.gate.Finish(b.session, call, nil, false, "", 0)()
	if v, _ := b.gate.Decide(t.Context(), b.session, b.shell("call_2", "ls")); v.Action != permissions.Deny || v.By != "mode:auto-deny" {
		t.Errorf("the next call: %s by %s", v.Action, v.By)
	}

	b.gate.Controls.Configure(Settings{Limits: timed(time.Minute, 9)})
	waits := make(chan decided, 1)
	b.session.NewTurn()
	events := b.gate.Subscribe()
	defer events.Close()
	go func() {
		v, call := b.gate.Decide(t.Context(), b.session, b.shell("call_3", "rm x"))
		waits <- decided{v, call}
	}()
	var asked Asked
	for e := range events.Events {
		var ok bool
		if asked, ok = e.(Asked); ok {
			break
		}
	}
	b.gate.Controls.Configure(Settings{Limits: timed(time.Hour, 9)})
	if err := b.gate.Answer(asked.Approval.ID, Answer{SessionID: asked.Approval.SessionID, Digest: asked.Approval.Digest, Decision: "approve", By: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := <-waits; got.verdict.Action != permissions.Allow || got.verdict.Timeout != time.Hour {
		t.Errorf("what waited: %s after %s: %s", got.verdict.Action, got.verdict.Timeout, got.verdict.Reason)
	}
}
