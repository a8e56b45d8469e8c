package hooks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// crashVariable holds the options of a process that queues events until it is killed.
const crashVariable = "CRASHING_HOOKS"

type crashing struct {
	Dir   string
	Hook  Config
	First int
}

// crash queues events and reports each once it is on disk, while a sender posts them.
func crash(text string) error {
	var c crashing
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	r, err := New(Options{Hooks: []Config{c.Hook}, StateFile: filepath.Join(c.Dir, "hooks.json"), QueueDir: filepath.Join(c.Dir, "queues")})
	if err != nil {
		return err
	}
	r.pace = pace{look: 20 * time.Millisecond, backoff: 10 * time.Millisecond, deciding: maxDeciding}
	if err := r.Start(slog.New(slog.DiscardHandler)); err != nil {
		panic(err)
	}
	h := r.hooks[0]
	for n := c.First; ; n++ {
		body, err := (&Event{Name: ToolCompleted, Time: time.Now(), Detail: fmt.Sprintf("event %d", n)}).message(h)
		if err != nil {
			return err
		}
		if err := h.action.(*webhook).queue.put(body); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// A process that is killed at any moment loses nothing that was on disk. An event comes twice if the process was killed
// between the receiver's answer and the removal of the file; then it has the same id.
func TestKilledSenders(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes")
	}
	dir, to := t.TempDir(), newReceiver(t)
	next := 1
	for range 12 {
		options, err := json.Marshal(crashing{dir, to.hook(), next})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self(t))
		cmd.Env = append(os.Environ(), crashVariable+"="+string(options), "TEST_WEBHOOK_SECRET="+testSecret)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			t.Fatal("the process said nothing")
		}
		kill := time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for {
			var n int
			if _, err := fmt.Sscan(lines.Text(), &n); err == nil {
				next = n + 1
			}
			if !lines.Scan() {
				break
			}
		}
		kill.Stop()
		_ = cmd.Wait() // it was killed
	}
	startIn(t, dir, to.hook())
	stored := next - 1
	waits.Until(t, "everything is taken", func() bool {
		taken, _ := to.has()
		seen := map[string]bool{}
		for _, detail := range taken {
			seen[detail] = true
		}
		for n := 1; n <= stored; n++ {
			if !seen[fmt.Sprintf("event %d", n)] {
				return false
			}
		}
		return true
	})
	taken, ids := to.has()
	t.Logf("%d events on disk in 12 processes, %d taken in %d attempts", stored, len(taken), len(ids))
	first := map[string]string{}
	for i, detail := range taken {
		if before, again := first[ids[i]]; again && before != detail {
			t.Errorf("%s was %q and %q", ids[i], before, detail)
		}
		first[ids[i]] = detail
	}
	// In each process, one more event may have been on disk before it was reported, and one may have come twice.
	if extra := len(taken) - stored; extra > 2*12 {
		t.Errorf("%d events were taken of the %d that were stored, in 12 processes", len(taken), stored)
	}
	if !strings.HasPrefix(ids[0], "msg_") || stored < 12 {
		t.Errorf("%d events, ids like %q", stored, ids[0])
	}
	to.check(t)
}
