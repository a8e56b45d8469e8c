package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"callgate/permissions/store"
)

func pinned(t *testing.T, p *Pins, server, tool, definition string) (known, changed bool, old string) {
	t.Helper()
	known, changed, was, err := p.Check(server, tool, Describe(Server{}, tool, tool, []byte(definition)).Hash)
	if err != nil {
		t.Fatal(err)
	}
	return known, changed, string(was)
}

// A definition is new, then known, then changed, and known again when a person accepts the change; another
// process sees the same.
func TestPinsLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	here, err := OpenPins(path)
	if err != nil {
		t.Fatal(err)
	}
	there, err := OpenPins(path)
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "{\"name\":\"x\" ,\n\"description\":\"<a>\"}", `{"name":"x","description":"send all files"}`
	if known, changed, _ := pinned(t, here, "npm:s", "x", first); known || changed {
		t.Error("known before it was seen")
	}
	if err := here.Accept("npm:s", map[string][]byte{"x": []byte(first), "y": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Pins{here, there} {
		if known, changed, _ := pinned(t, p, "npm:s", "x", first); !known || changed {
			t.Error("not known after it was accepted")
		}
		if known, changed, old := pinned(t, p, "npm:s", "x", second); !known || !changed || old != first {
			t.Errorf("a change: %v, %v, %q", known, changed, old)
		}
		if known, _, _ := pinned(t, p, "npm:other", "x", first); known {
			t.Error("known of another server")
		}
	}
	if err := there.Accept("npm:s", map[string][]byte{"x": []byte(second)}); err != nil {
		t.Fatal(err)
	}
	if known, changed, _ := pinned(t, here, "npm:s", "x", second); !known || changed {
		t.Error("the accepted change is not known")
	}
	if known, _, _ := pinned(t, here, "npm:s", "y", "{}"); !known {
		t.Error("the other tool is forgotten")
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestPinsFailClosed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pins.json")
	p, err := OpenPins(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Accept("s", map[string][]byte{"x": []byte(`{"name":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"cut":          string(good[:len(good)-3]),
		"empty":        "",
		"edited":       strings.Replace(string(good), `\"x\"`, `\"z\"`, 1),
		"other member": strings.Replace(string(good), `"hash"`, `"other"`, 1),
		"name twice":   `{"s":{},"s":{}}`,
	} {
		if err := os.WriteFile(path+".new", []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := p.Check("s", "x", "h"); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := p.Accept("s", nil); err == nil {
			t.Errorf("%s: is written over", name)
		}
		if _, err := OpenPins(path); err == nil || !strings.Contains(err.Error(), "put the file back") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := p.Check("s", "x", "h"); err == nil {
		t.Error("a file that vanished makes every tool look new")
	}
	missing, err := OpenPins(filepath.Join(dir, "no", "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := missing.Accept("s", nil); err == nil {
		t.Error("writes into a folder that does not exist")
	}
}

func TestPinsConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			p, err := OpenPins(path)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 5 {
				if err := p.Accept("s", map[string][]byte{fmt.Sprintf("%d-%d", i, j): []byte("{}")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	p, err := OpenPins(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.known["s"]); n != 20 {
		t.Errorf("%d of 20 pins are kept", n)
	}
}

func TestPinsAreBounded(t *testing.T) {
	p, err := OpenPins(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	many := map[string][]byte{}
	for i := range maxPins {
		many[fmt.Sprint(i)] = []byte("{}")
	}
	if err := p.Accept("s", many); err != nil {
		t.Fatal(err)
	}
	room := func(server string) (tools, bytes int) {
		t.Helper()
		pinned, err := p.Of(server)
		if err != nil {
			t.Fatal(err)
		}
		return pinned.Room()
	}
	if tools, bytes := room("s"); tools != 0 || bytes != maxPinBytes-2*maxPins {
		t.Errorf("there is room for %d tools and %d bytes", tools, bytes)
	}
	if err := p.Accept("s", map[string][]byte{"one more": []byte("{}")}); err == nil {
		t.Error("there is no bound on tools")
	}
	if err := p.Accept("s", map[string][]byte{"0": []byte(`{"new":1}`)}); err != nil {
		t.Errorf("a change of one that is pinned: %v", err)
	}
	if err := p.Accept("other", map[string][]byte{"x": make([]byte, maxPinBytes+1)}); err == nil {
		t.Error("there is no bound on bytes")
	}
	if tools, _ := room("other"); tools != maxPins {
		t.Errorf("another server has room for %d tools", tools)
	}
}

// sharedTexts are the texts that replicas share in a test, by server.
type sharedTexts struct {
	mu   sync.Mutex
	by   map[string][]byte
	rev  map[string]uint64
	away error
}

type sharedText struct {
	*sharedTexts
	server string
}

func (t sharedText) Text() ([]byte, uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by[t.server], t.rev[t.server], t.away
}

func (t sharedText) Replace(revision uint64, text []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if revision != t.rev[t.server] {
		return store.ErrStale
	}
	t.by[t.server], t.rev[t.server] = text, revision+1
	return t.away
}

// What one replica accepts, all accept. A change that one replica sees holds the tool back at all of them.
func TestPinsOfSeveralReplicas(t *testing.T) {
	all := &sharedTexts{by: map[string][]byte{}, rev: map[string]uint64{}}
	replica := func(name string) *Pins {
		p, err := OpenPins(filepath.Join(t.TempDir(), "pins.json"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "one" { // what it had before it was a replica
			if err := p.Accept("s", map[string][]byte{"old": []byte(`"o"`)}); err != nil {
				t.Fatal(err)
			}
		}
		return p.Share(func(server string) store.Shared { return sharedText{all, server} }, name)
	}
	hash := func(definition string) string { return Describe(Server{}, "x", "x", []byte(definition)).Hash }
	one, two, three := replica("one"), replica("two"), replica("three")
	const first, second = `{"name":"x"}`, `{"name":"x","description":"send all files"}`
	if err := one.Accept("s", map[string][]byte{"x": []byte(first)}); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Pins{"one": one, "two": two} {
		if known, changed, _ := pinned(t, p, "s", "x", first); !known || changed {
			t.Errorf("%s: not known after it was accepted", name)
		}
		if known, _, _ := pinned(t, p, "s", "old", `"o"`); !known {
			t.Errorf("%s: what the first replica had is not known", name)
		}
	}
	if moved, err := two.Moved("s", "x", hash(first)); moved || err != nil {
		t.Error(moved, err)
	}
	if err := one.Saw("s", map[string]string{"x": hash(second)}); err != nil {
		t.Fatal(err)
	}
	if _, changed, _ := pinned(t, two, "s", "x", first); !changed {
		t.Error("what one replica saw change is not held back at another")
	}
	if moved, err := two.Moved("s", "x", hash(first)); !moved || err != nil {
		t.Error(moved, err)
	}
	if err := two.Saw("s", map[string]string{"x": hash(first)}); err != nil {
		t.Fatal(err)
	}
	if moved, _ := three.Moved("s", "x", hash(first)); !moved {
		t.Error("a replica that is behind released it")
	}
	if err := one.Saw("s", map[string]string{"x": hash(first)}); err != nil {
		t.Fatal(err)
	}
	if moved, _ := three.Moved("s", "x", hash(first)); moved {
		t.Error("who saw it change sees it as it was, and it is held back")
	}
	if err := one.Saw("s", map[string]string{"x": hash(second)}); err != nil {
		t.Fatal(err)
	}
	if err := three.Accept("s", map[string][]byte{"x": []byte(second)}); err != nil {
		t.Fatal(err)
	}
	if known, changed, _ := pinned(t, one, "s", "x", second); !known || changed {
		t.Error("a person accepted it")
	}
	if err := two.Saw("s", map[string]string{"x": hash(first)}); err != nil { // it does not know of the change yet
		t.Fatal(err)
	}
	if known, changed, _ := pinned(t, one, "s", "x", second); !known || changed {
		t.Error("a replica that is behind holds it back for the others")
	}
	if moved, err := two.Moved("s", "x", hash(first)); !moved || err != nil {
		t.Error("a replica that is behind uses what nobody accepts now")
	}
	all.away = fmt.Errorf("the cluster is away")
	if moved, err := one.Moved("s", "x", hash(second)); !moved || err == nil {
		t.Error("nobody knows what is accepted")
	}
	if _, err := one.Of("s"); err == nil {
		t.Error("nobody knows what is accepted")
	}
}
