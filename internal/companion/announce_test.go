package companion

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
)

// named returns the address in companion.json, or "".
func named(t *testing.T, dataDir string) string {
	t.Helper()
	data, err := os.ReadFile(client.AnnouncePath(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	var a client.Announcement
	if err != nil || json.Unmarshal(data, &a) != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return a.Address
}

// another starts a second companion on the rig's data directory.
func (r *rig) another(t *testing.T) *Server {
	t.Helper()
	s, err := Listen(Options{DataDir: r.dir, Address: ":0", Backend: Backend{Gate: newFakeBackend()}, Credentials: r.credentials, Logger: r.Server.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// noHub keeps processes from meeting, by opening the hub's folder to others.
func noHub(t *testing.T, dataDir string) {
	t.Helper()
	if err := os.Mkdir(hub.Dir(dataDir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestOfSeveralThatAreAloneTheNewestThatAnswersIsNamed(t *testing.T) {
	r := startIn(t, newFakeBackend(), defaultTiming, func(dir string) { noHub(t, dir) })
	second, third := r.another(t), r.another(t)
	ports := client.Ports(r.dir)
	for _, s := range []*Server{r.Server, second, third} {
		if !slices.Contains(ports, port(t, s.Address())) {
			t.Errorf("the ports %s lack %s", ports, s.Address())
		}
	}
	if got := named(t, r.dir); got != third.Address() {
		t.Errorf("companion.json names %s, want the newest", got)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r.dir); got != third.Address() {
		t.Errorf("the end of another changed companion.json to %s", got)
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r.dir); got != r.Address() {
		t.Errorf("companion.json names %q, want the survivor", got)
	}
	if c := dial(t, r.target()); await[wire.Connected](t, c, nil).Address != r.Address() {
		t.Error("the client did not find the survivor")
	}
	if got := client.Ports(r.dir); !slices.Equal(got, []string{port(t, r.Address())}) {
		t.Errorf("ports %s", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := named(t, r.dir); got != "" {
		t.Errorf("companion.json is left and names %s", got)
	}
}

// crashed leaves the announcement of a process that is gone. It is newer than all others.
func crashed(t *testing.T, dataDir string) (path, address string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	listener.Close()
	data, err := json.Marshal(client.Announcement{PID: cmd.Process.Pid, Address: address, Started: time.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(client.PortsDir(dataDir), strconv.Itoa(cmd.Process.Pid)+"-"+port(t, address)+".json")
	for _, p := range []string{path, client.AnnouncePath(dataDir)} {
		if err := credentials.WritePrivate(p, data); err != nil {
			t.Fatal(err)
		}
	}
	return path, address
}

func TestACrashedCompanionIsPassedOver(t *testing.T) {
	r := startIn(t, newFakeBackend(), defaultTiming, func(dir string) { noHub(t, dir) })
	path, address := crashed(t, r.dir)
	if c := dial(t, r.target()); await[wire.Connected](t, c, nil).Address != r.Address() {
		t.Error("the client did not find the one that lives")
	}
	if got := named(t, r.dir); got != address {
		t.Fatalf("companion.json names %s", got)
	}
	if err := hub.Publish(r.dir, r.Address()); err != nil || named(t, r.dir) != r.Address() {
		t.Errorf("companion.json names %s, %v: want the one that lives", named(t, r.dir), err)
	}
	next := r.another(t)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the announcement of a process that is gone is left: %v", err)
	}
	if got := named(t, r.dir); got != next.Address() {
		t.Errorf("companion.json names %s", got)
	}
}
