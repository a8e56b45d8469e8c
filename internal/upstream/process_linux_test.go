package upstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/testserver/waits"
)

// running reports whether the process exists and is not a zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// vanish waits until none of the processes exists.
func vanish(t *testing.T, pids ...int) {
	t.Helper()
	deadline := time.Now().Add(waits.Limit)
	for _, pid := range pids {
		for running(pid) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is left over", pid)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// groupOf returns the processes of a process group.
func groupOf(t *testing.T, group int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

func groupNumber(t *testing.T, pid int) int {
	t.Helper()
	group, err := unix.Getpgid(pid)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

func childOf(t *testing.T, u *Upstream) int {
	t.Helper()
	pid, err := strconv.Atoi(call(t, u, "child", ""))
	if err != nil || !running(pid) {
		t.Fatalf("grandchild %d: %v", pid, err)
	}
	return pid
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	for _, b := range []behaviour{{}, {Stubborn: true}} {
		t.Run(fmt.Sprintf("stubborn=%v", b.Stubborn), func(t *testing.T) {
			u := open(t, configOf(t, b), Options{})
			grandchild := childOf(t, u)
			pid := u.Status().PID
			group := groupNumber(t, pid)
			if members := groupOf(t, group); len(members) != 3 {
				t.Errorf("the group of guard, server and grandchild is %v", members)
			}
			u.Close()
			vanish(t, pid, grandchild, group)
			if left := groupOf(t, group); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestNothingIsLeftAfterACrash(t *testing.T) {
	h := newHost(t)
	u := open(t, configOf(t, behaviour{}), Options{Events: h.events()})
	grandchild := childOf(t, u)
	pid := u.Status().PID
	if _, err := u.Request(short(t), "crash", nil); err == nil {
		t.Fatal("it did not crash")
	}
	h.wait("state down")
	vanish(t, pid, grandchild)
}

func TestNothingIsLeftWhenTheParentIsKilled(t *testing.T) {
	for _, b := range []behaviour{{}, {Stubborn: true}} {
		t.Run(fmt.Sprintf("stubborn=%v", b.Stubborn), func(t *testing.T) {
			c := configOf(t, b)
			cfg, err := json.Marshal(map[string]any{"Name": c.Name, "Command": c.Command, "Env": c.Env})
			if err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			parent := exec.Command(self)
			parent.Env = append(os.Environ(), parentVariable+"="+string(cfg))
			parent.Stderr = os.Stderr
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var server, grandchild int
			if _, err := fmt.Sscan(line, &server, &grandchild); err != nil || !running(server) || !running(grandchild) {
				t.Fatalf("%q: %v", line, err)
			}
			group := groupNumber(t, server)
			if members := groupOf(t, group); len(members) != 3 {
				t.Errorf("the group of guard, server and grandchild is %v", members)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			parent.Wait() // it was killed
			vanish(t, server, grandchild, group)
		})
	}
}

// The kernel's signal at the parent's death is tied to the thread that forked. Threads that come and go must not take
// the server with them.
func TestServerOutlivesThreads(t *testing.T) {
	t.Parallel()
	done := make(chan *Upstream)
	cfg := configOf(t, behaviour{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		u := New(cfg, Options{})
		u.Start(hello)
		_, err := u.Ready(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- u
	}()
	u := <-done
	defer u.Close()
	pid := u.Status().PID
	for range 20 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread()
		}()
		<-ended
	}
	time.Sleep(100 * time.Millisecond)
	call(t, u, "echo", "{}")
	if now := u.Status().PID; now != pid {
		t.Errorf("restarted: %d, then %d", pid, now)
	}
}

func TestNoGoroutineOrDescriptorIsLeft(t *testing.T) {
	cfg := configOf(t, behaviour{Pages: map[string][]string{"tools/list": {`{"tools":[]}`}}})
	cycle := func() {
		u := open(t, cfg, Options{})
		childOf(t, u)
		u.Close()
	}
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	cycle()
	goroutines, files := runtime.NumGoroutine(), descriptors()
	for range 3 {
		cycle()
	}
	waits.Until(t, fmt.Sprintf("%d goroutines", goroutines), func() bool { return runtime.NumGoroutine() <= goroutines })
	if n := descriptors(); n > files {
		t.Errorf("%d descriptors, were %d", n, files)
	}
}
