package guard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/testserver/unraced"
)

// Variables that turn this test binary into another program.
const (
	hostileVariable = "GUARD_TEST_HOSTILE" // the world, as JSON
	sleepVariable   = "GUARD_TEST_SLEEP"   // a file that the sleeper keeps writing to
	opensVariable   = "GUARD_TEST_OPENS"   // how often to open a file
)

// atOnce keeps a program built with -race from sleeping for a second before it exits.
const atOnce = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if about := os.Getenv(hostileVariable); about != "" {
		hostile(about)
		return
	}
	if file := os.Getenv(sleepVariable); file != "" {
		for range 600 {
			_ = os.WriteFile(file, []byte(time.Now().String()), 0o600)
			time.Sleep(100 * time.Millisecond)
		}
		return
	}
	if n, _ := strconv.Atoi(os.Getenv(opensVariable)); n > 0 { // not a number: not wanted
		for range n {
			if f, err := os.Open("/etc/hostname"); err == nil {
				f.Close()
			}
		}
		return
	}
	os.Exit(m.Run())
}

// newWorld makes everything that a hostile program may want, all of it canaries in a test folder.
func newWorld(t *testing.T) (*world, Wall) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "guard-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	secret := "secret-" + rand.Text()
	w := &world{
		Home: home, Secret: secret, Data: filepath.Join(home, ".local/share/callgate"), Workspace: filepath.Join(home, "app"), Other: filepath.Join(home, "other"),
		ConfigDir: filepath.Join(home, ".config/callgate"), Config: filepath.Join(home, "app/.mcp.json"), Program: filepath.Join(home, "bin/callgate"),
		Callgate: os.Getpid(), PidFile: filepath.Join(home, "app/alive"),
	}
	for path, text := range map[string]string{
		w.credential(): secret, filepath.Join(w.Data, "workers/default/permissions.jsonc"): secret, filepath.Join(w.Data, "audit/1.jsonl"): secret,
		w.Config: secret, filepath.Join(w.ConfigDir, "other.yaml"): secret, w.Program: secret, filepath.Join(home, ".ssh/config"): secret, filepath.Join(home, ".bashrc"): secret,
		filepath.Join(w.Other, "secret.txt"): secret, filepath.Join(w.Workspace, "a.txt"): "a",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	shared, err := os.CreateTemp("/tmp", "guard-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(shared.Name()) })
	if _, err := shared.WriteString(secret); err != nil {
		t.Fatal(err)
	}
	w.Shared = shared.Name()
	if w.Network, err = os.Readlink("/proc/self/ns/net"); err != nil {
		t.Fatal(err)
	}
	if w.Inherited, err = unix.Open(w.Data, unix.O_RDONLY|unix.O_DIRECTORY, 0); err != nil { // no CLOEXEC
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(w.Inherited) })
	w.sockets(t)
	w.network(t)
	w.terminal(t)
	wall := Wall{
		Mode: Require, Hidden: []string{w.Data}, Fixed: []string{w.Config, w.ConfigDir, w.Program},
		Sockets: []string{w.Docker, w.Bus, w.Agent}, Apart: []string{filepath.Dir(w.Tmux)},
	}
	return w, wall
}

// sockets listens where the sockets of a user's session are. Each one answers.
func (w *world) sockets(t *testing.T) {
	runtime, err := os.MkdirTemp("/tmp", "guard-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	w.Hub, w.Docker, w.Bus, w.Agent = filepath.Join(w.Data, "hub.sock"), runtime+"/docker.sock", runtime+"/bus", runtime+"/agent"
	w.Tmux, w.Abstract = runtime+"/tmux-0/default", "@"+w.Secret
	if err := os.Mkdir(runtime+"/tmux-0", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{w.Hub, w.Docker, w.Bus, w.Agent, w.Tmux, w.Abstract} {
		answer(t, "unix", path)
	}
}

// answer answers whatever arrives at an address, and returns the address.
func answer(t *testing.T, network, address string) string {
	if network == "udp4" {
		c, err := net.ListenPacket(network, address) //nolint:noctx // at once
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			b := make([]byte, 100)
			for {
				_, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				_, _ = c.WriteTo([]byte("answer"), from) // the caller sees it
			}
		}()
		return c.LocalAddr().String()
	}
	l, err := net.Listen(network, address) //nolint:noctx // at once
	if err != nil {
		if network == "tcp6" {
			return "[::1]:9" // this machine has no IPv6
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("answer")) // the caller sees it
			c.Close()
		}
	}()
	return l.Addr().String()
}

func (w *world) network(t *testing.T) {
	w.TCP4, w.TCP6, w.UDP = answer(t, "tcp4", "127.0.0.1:0"), answer(t, "tcp6", "[::1]:0"), answer(t, "udp4", "127.0.0.1:0")
	rest := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+w.Secret {
			rw.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(rest.Close)
	w.REST = rest.URL
}

// terminal opens a terminal, as if it were a person's.
func (w *world) terminal(t *testing.T) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Log("this machine has no terminals: ", err)
		w.Terminal = "/dev/pts/none"
		return
	}
	t.Cleanup(func() { unix.Close(master) })
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	w.Terminal = fmt.Sprintf("/dev/pts/%d", n)
}

// others starts another server behind a wall of the same kind, and a program of the user's without a wall. Both have
// the secret in their environment.
func (w *world) others(t *testing.T, wall *Wall) {
	t.Helper()
	start := func(wall *Wall) int {
		cmd := exec.CommandContext(t.Context(), "/bin/sleep", "600")
		cmd.Env = []string{"SECRET=" + w.Secret}
		k, _, err := wall.Start(cmd)
		if err != nil {
			skipWithoutWall(t, err)
			t.Fatal(err)
		}
		t.Cleanup(func() {
			k.EndAll()
			_ = cmd.Wait() // it was killed
			k.Release()
		})
		return k.PID
	}
	w.Sibling = start(wall)
	stranger := exec.CommandContext(t.Context(), "/bin/sleep", "600")
	stranger.Env = []string{"SECRET=" + w.Secret}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	w.Stranger = stranger.Process.Pid
}

// skipWithoutWall skips the test if this machine has no such wall.
func skipWithoutWall(t *testing.T, err error) {
	t.Helper()
	for _, reason := range []string{"operation not permitted", "permission denied", "no space left", "not implemented", "invalid argument", "has no Landlock", "has no rules", "no scopes"} {
		if strings.Contains(err.Error(), "this system has none") && strings.Contains(err.Error(), reason) {
			t.Skip(err)
		}
	}
}

// try lets a hostile program make one attempt behind a wall, and returns its output.
func (w *world) try(t *testing.T, attempt string, wall *Wall) (output string, s State) {
	t.Helper()
	w.Attempt = attempt
	about, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.Workspace, &out, &out
	cmd.Env = []string{atOnce, "PATH=" + os.Getenv("PATH"), hostileVariable + "=" + string(about)}
	k, s, err := wall.Start(cmd)
	if err != nil {
		skipWithoutWall(t, err)
		t.Fatal(err)
	}
	<-k.Ended()
	k.EndAll()
	_ = cmd.Wait() // how it ended does not matter
	if left := k.Release(); left != "" {
		t.Errorf("processes are left: %s", left)
	}
	return out.String(), s
}

// harmed reports what a hostile program did to callgate's files, whatever it said.
func (w *world) harmed() error {
	for _, path := range []string{w.credential(), filepath.Join(w.Data, "workers/default/permissions.jsonc"), filepath.Join(w.Data, "audit/1.jsonl")} {
		if b, err := os.ReadFile(path); err != nil || string(b) != w.Secret {
			return fmt.Errorf("%s is %q: %w", path, b, err)
		}
	}
	for _, path := range []string{filepath.Join(w.Data, "planted"), filepath.Join(w.ConfigDir, "callgate.yaml")} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was planted: %w", path, err)
		}
	}
	return nil
}

// TestHostile lets a hostile program try every way out, in every mode. Each mode must hold what it claims to.
func TestHostile(t *testing.T) {
	if unraced.Elsewhere(t) {
		return
	}
	if err := Harden(); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []struct {
		name   string
		holder int
		kind   Kind
		box    bool
	}{{"namespaces", byNamespaces, Namespaces, false}, {"landlock", byLandlock, Landlock, false}, {"sandbox with namespaces", byBox, Namespaces, true}, {"sandbox with landlock", byLandlockBox, Landlock, true}} {
		t.Run(mode.name, func(t *testing.T) {
			held, claimed := 0, 0
			w, wall := newWorld(t)
			wall.kinds = []Kind{mode.kind}
			if mode.box {
				wall.Box = w.box()
			}
			w.others(t, &wall)
			for _, a := range attempts {
				t.Run(a.name, func(t *testing.T) {
					out, s := w.try(t, a.name, &wall)
					if s.Kind != mode.kind || s.Boxed != mode.box {
						t.Fatalf("it ran behind %s", s)
					}
					if !strings.Contains(out, "failed:") && !strings.Contains(out, "OUT:") {
						t.Fatalf("the attempt was not made: %s", out)
					}
					got := strings.Contains(out, "OUT:") || w.survives(a.name)
					if a.held&mode.holder == 0 || a.scoped && !scopes() {
						t.Logf("not claimed: %s", out)
						return
					}
					if claimed++; got {
						t.Errorf("it got out: %s", out)
					} else {
						held++
					}
					if err := w.harmed(); err != nil {
						t.Error(err)
					}
				})
			}
			t.Logf("%s: %d of %d held that are claimed, of %d", mode.name, held, claimed, len(attempts))
		})
	}
}

// box opens the system and the workspace, and a network that leads nowhere.
func (w *world) box() *Box {
	self, err := os.Executable()
	if err != nil {
		return &Box{}
	}
	return &Box{Read: append([]string{filepath.Dir(self)}, system...), Write: []string{w.Workspace}, Net: ProxyNet}
}

// system lists what programs need to run at all.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc"}

// scopes reports whether this kernel's Landlock keeps signals and abstract sockets in.
func scopes() bool {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && abi >= 6
}

// survives reports whether what an attempt left behind is still alive.
func (w *world) survives(attempt string) bool {
	if attempt != "outlive the session" {
		return false
	}
	before, err := os.ReadFile(w.PidFile)
	if err != nil {
		return false
	}
	time.Sleep(500 * time.Millisecond) // it writes ten times a second
	after, err := os.ReadFile(w.PidFile)
	return err != nil || !bytes.Equal(before, after)
}

// TestHostileWithoutWall is the control: without a wall the attempts succeed, so it is the wall that stops them. It
// leaves out attempts that need more rights than the user has: the kernel stops those.
func TestHostileWithoutWall(t *testing.T) {
	if unraced.Elsewhere(t) {
		return
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil { // Harden was a separate line of defence
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Harden(); err != nil {
			t.Fatal(err)
		}
	})
	beyond := []string{}
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			w, wall := newWorld(t)
			wall.Mode = Off
			w.others(t, &wall)
			if out, _ := w.try(t, a.name, &wall); !strings.Contains(out, "OUT:") {
				beyond = append(beyond, a.name)
				t.Log(out)
			}
		})
	}
	t.Logf("%d of %d succeed without a wall; the others: %s", len(attempts)-len(beyond), len(attempts), strings.Join(beyond, ", "))
	if len(attempts)-len(beyond) < 40 {
		t.Error("too few of the attempts work where nothing stops them")
	}
}

var update = flag.Bool("update", false, "write testdata/attempts.md")

// TestPage checks testdata/attempts.md against the attempts.
func TestPage(t *testing.T) {
	const page = "testdata/attempts.md"
	var table strings.Builder
	table.WriteString("# What each wall holds\n\nMade by go test ./internal/guard -run TestPage -update. A hostile program tries each attempt behind each wall: ✓ is\n" +
		"held, – is not claimed.\n\n")
	table.WriteString("| guard: namespaces | guard: landlock | sandbox: namespaces | sandbox: landlock | attempts |\n|---|---|---|---|---|\n")
	var rows []int // the walls that hold, in the order in which attempts first have them
	names := map[int][]string{}
	for _, about := range []string{"callgate", "session", "server"} {
		for _, a := range attempts {
			if a.about != about {
				continue
			}
			if names[a.held] == nil {
				rows = append(rows, a.held)
			}
			names[a.held] = append(names[a.held], a.name)
		}
	}
	for _, held := range rows {
		for _, by := range []int{byNamespaces, byLandlock, byBox, byLandlockBox} {
			table.WriteString(map[bool]string{true: "| ✓ ", false: "| – "}[held&by != 0])
		}
		fmt.Fprintf(&table, "| %s |\n", strings.Join(names[held], " · "))
	}
	if *update {
		if err := os.WriteFile(page, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != table.String() {
		t.Errorf("%s is not what the tests say (%v): go test ./internal/guard -run TestPage -update", page, err)
	}
}
