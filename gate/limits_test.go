package gate

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/permissions"
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
