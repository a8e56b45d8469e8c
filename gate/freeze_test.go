package gate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/permissions/store"
)

func TestFreezer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "freeze.json")
	synctest.Test(t, func(t *testing.T) {
		one, other := OpenFreezer(path), OpenFreezer(path) // of two processes
		record := func(string) error { return nil }
		a := newSessionID()
		frozen := func(f *Freezer, session string) bool {
			one, err := f.Of(session, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return one != nil
		}
		for _, no := range []string{"a", "s-TYPO", a + "A", strings.ToLower(a), "not an id!!"} {
			if err := one.Freeze(Freeze{SessionID: no, By: "tui:x", At: time.Now()}, record); !errors.Is(err, ErrAnswer) || frozen(other, no) {
				t.Errorf("%q is a session's id: %v", no, err)
			}
		}
		if frozen(one, a) || frozen(other, a) {
			t.Fatal("frozen before anybody froze it")
		}
		if err := one.Freeze(Freeze{SessionID: a, By: "tui:x", At: time.Now(), Until: time.Now().Add(time.Hour)}, record); err != nil {
			t.Fatal(err)
		}
		if !frozen(other, a) || frozen(other, "b") {
			t.Error("the other process does not see the freeze of one session")
		}
		if err := other.Freeze(Freeze{By: "tui:x", At: time.Now()}, record); err != nil {
			t.Fatal(err)
		}
		if !frozen(one, "b") || !frozen(one, "") {
			t.Error("not all sessions are frozen")
		}
		time.Sleep(time.Hour)
		if list, err := one.List(time.Now()); err != nil || len(list) != 1 || list[0].SessionID != "" {
			t.Errorf("after its time: %v, %v", list, err)
		}
		if err := one.Unfreeze("", func(string) error { return errors.New("the disk is full") }); err == nil || !frozen(one, "b") {
			t.Error("it ended without a record")
		}
		if err := one.Unfreeze("", record); err != nil || frozen(other, "b") {
			t.Error("it did not end", err)
		}
		if err := one.Freeze(Freeze{By: "tui:x", At: time.Now()}, func(string) error { return errors.New("the disk is full") }); err == nil || !frozen(other, "b") {
			t.Error("without a record it does not hold")
		}
		if err := one.Freeze(Freeze{By: "x", At: time.Now(), Until: time.Now()}, record); !errors.Is(err, ErrAnswer) {
			t.Error(err)
		}
	})
	if err := os.WriteFile(path, []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFreezer(path).Of("a", time.Now()); err == nil {
		t.Error("a file that cannot be read freezes nothing")
	}
	one := OpenFreezer(path)
	note := func(string) error { return nil }
	if err := one.Freeze(Freeze{SessionID: "s-ABCDEFGHIJKL", By: "x", At: time.Now()}, note); err != nil {
		t.Fatal(err)
	}
	if f, err := one.Of("s-LKJIHGFEDCBA", time.Now()); err != nil || f == nil {
		t.Error("to freeze a session ended what could not be read:", err)
	}
	if err := one.Unfreeze("", note); err != nil {
		t.Fatal(err)
	}
	if f, err := one.Of("s-LKJIHGFEDCBA", time.Now()); err != nil || f != nil {
		t.Error("it did not end:", f, err)
	}
}

// Under a freeze, only calls that just read go through, whatever else would release a call.
func TestFrozenCalls(t *testing.T) {
	f := OpenFreezer(filepath.Join(t.TempDir(), "freeze.json"))
	if err := f.Freeze(Freeze{By: "tui:x", At: time.Now(), Reason: "release day"}, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	files := tools.Server{Name: "files", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	fetch := tools.Describe(tools.Server{Name: "fetch", Packages: []string{"mcp-server-fetch"}}, "fetch", "fetch_fetch", []byte(`{}`))
	for _, c := range []struct {
		tool      *tools.Tool
		arguments string
		runs      bool
	}{
		{tools.Describe(files, "read_text_file", "files_read_text_file", []byte(`{}`)), `{"path":"a.txt"}`, true},
		{tools.Describe(files, "list_directory", "files_list_directory", []byte(`{}`)), `{"path":"."}`, true},
		{tools.Describe(files, "write_file", "files_write_file", []byte(`{}`)), `{"path":"a.txt","content":"x"}`, false},
		{tools.Describe(tools.Server{Name: "x"}, "get_thing", "x_get_thing", []byte(`{}`)), `{}`, false},
		{fetch, `{"url":"https://example.com/"}`, false},
		{tools.KindTool(tools.KindShell), `{"command":"git status"}`, true},
		{tools.KindTool(tools.KindShell), `{"command":"git commit -m x"}`, false},
		{tools.KindTool(tools.KindShell), `{"command":"go test ./..."}`, false},
		{tools.KindTool(tools.KindShell), `{"command":"ls > out.txt"}`, false},
		{tools.KindTool(tools.KindShell), `{"command":"curl https://example.com/"}`, false},
		{tools.KindTool(tools.KindShell), `{"command":"cat a.txt | ssh h.example 'cat > b'"}`, false},
	} {
		for _, off := range []bool{false, true} {
			j := Judge{Policy: policy(t, `{ "*": "allow" }`), Autonomy: FullAuto, Freezer: f, Off: off, Now: time.Now()}
			v := j.Judge(Call{Tool: c.tool, Arguments: []byte(c.arguments), SessionID: "s", Place: tools.Place{Dir: t.TempDir()}})
			if runs := v.Action == permissions.Allow; runs != c.runs || !runs && (v.By != "freeze" || !strings.Contains(v.Reason, "release day")) {
				t.Errorf("%s %s, gate off %v: %v by %s: %s", c.tool.Qualified, c.arguments, off, v.Action, v.By, v.Reason)
			}
		}
	}
}

// others is a text that several machines share. They may be away, or refuse changes.
type others struct {
	mu       sync.Mutex
	text     []byte
	revision uint64
	away     error // of reading and writing
	refuses  error // of writing
}

func (o *others) Text() ([]byte, uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text, o.revision, o.away
}

func (o *others) Replace(revision uint64, text []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := errors.Join(o.away, o.refuses); err != nil {
		return err
	}
	if revision != o.revision {
		return store.ErrStale
	}
	o.text, o.revision = text, revision+1
	return nil
}

// Calls go on while a freeze waits for other machines.
func TestCallsGoOnWhileAFreezeIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := OpenFreezer(filepath.Join(t.TempDir(), "frozen.json")).Share(&others{refuses: store.ErrStale})
		done := make(chan error)
		go func() { done <- f.Freeze(Freeze{At: time.Now()}, func(string) error { return nil }) }()
		synctest.Wait()
		began := time.Now()
		if one, err := f.Of("s", time.Now()); err != nil || one == nil || time.Since(began) > 0 {
			t.Errorf("a call waits for %v, and is not frozen: %v", time.Since(began), err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if one, err := f.Of("s", time.Now()); one == nil || err != nil {
			t.Errorf("this machine is not frozen: %v", err)
		}
	})
}

// A change that other machines cannot be told is never half done, and the record never says more than was done.
func TestFreezesWhileOthersAreAway(t *testing.T) {
	shared := &others{}
	open := func() *Freezer {
		return OpenFreezer(filepath.Join(t.TempDir(), "frozen.json")).Share(shared)
	}
	here, there := open(), open()
	var said []string
	record := func(summary string) error { said = append(said, summary); return nil }
	list := func(f *Freezer) string {
		t.Helper()
		held, err := f.List(time.Now())
		var b strings.Builder
		for _, one := range held {
			fmt.Fprintf(&b, "%q here=%v;", one.Reason, one.Here)
		}
		if err != nil {
			b.WriteString(" unknown")
		}
		return b.String()
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, not %s", what, got, want)
		}
	}
	push := func(f *Freezer) error { return f.Push(func(_ Freeze, summary string) error { return record(summary) }) }

	shared.away = errors.New("no quorum")
	if err := here.Freeze(Freeze{By: "x", At: time.Now(), Reason: "split"}, record); err != nil {
		t.Fatal(err)
	}
	want("here", list(here), `"split" here=true; unknown`)
	if one, err := here.Of("s", time.Now()); one == nil || err != nil {
		t.Error("it does not hold here", err)
	}
	if err := push(here); err == nil {
		t.Error("it was shared with nobody")
	}
	if err := here.Unfreeze("", record); !errors.Is(err, ErrUnavailable) {
		t.Errorf("unfreeze: %v", err)
	}
	want("the record", strings.Join(said, "\n"), "Frozen on this machine alone, until the others can be told (no quorum): all sessions, by x: split.")
	want("after the unfreeze", list(here), `"split" here=true; unknown`)

	shared.away, said = nil, nil
	if err := push(here); err != nil {
		t.Fatal(err)
	}
	want("there", list(there), `"split" here=false;`)
	want("here", list(here), `"split" here=false;`)
	want("the record", strings.Join(said, "\n"), "All machines were told of the freeze: all sessions, by x: split.")

	// The others refuse the change, although they are heard: the freeze holds, and nobody says that it ended.
	shared.refuses, said = errors.New("no quorum"), nil
	if err := there.Unfreeze("", record); !errors.Is(err, ErrUnavailable) {
		t.Errorf("unfreeze: %v", err)
	}
	want("there", list(there), `"split" here=false;`)
	if len(said) != 2 || strings.Contains(said[0]+said[1], "Ended") {
		t.Errorf("on record: %q", said)
	}
	shared.refuses, said = nil, nil
	if err := there.Unfreeze("", record); err != nil {
		t.Fatal(err)
	}
	want("here", list(here), "")
	want("the record", strings.Join(said, "\n"), "Asked to end the freeze of all sessions.\nEnded the freeze of all sessions.")
	if err := push(here); err != nil || list(there) != "" {
		t.Error("it came back", err)
	}
}

// A freeze that the others know is theirs, even if the file cannot be changed here. Whoever ends it elsewhere ends it
// here too, and it is on record once.
func TestSharedFreezeThatStaysInTheFile(t *testing.T) {
	for _, later := range []bool{false, true} { // shared at once, or by Push
		shared, dir := &others{}, t.TempDir()
		path := filepath.Join(dir, "frozen.json")
		f, elsewhere := OpenFreezer(path).Share(shared), OpenFreezer(filepath.Join(t.TempDir(), "frozen.json")).Share(shared)
		var said []string
		record := func(summary string) error { said = append(said, summary); return nil }
		one := Freeze{By: "x", At: time.Now(), Until: time.Now().Add(time.Hour)}
		stays := &staying{others: shared, path: path}
		f.shared = stays
		if later {
			shared.away = errors.New("no quorum")
		}
		if err := f.Freeze(one, record); err != nil {
			t.Fatal(err)
		}
		shared.away = nil
		for range 3 {
			if err := f.Push(func(_ Freeze, summary string) error { return record(summary) }); (err == nil) != !stays.stuck {
				t.Errorf("later %v: %v", later, err)
			}
		}
		if want := map[bool]int{false: 1, true: 2}[later]; len(said) != want {
			t.Errorf("later %v: on record: %q", later, said)
		}
		if err := elsewhere.Unfreeze("", record); err != nil {
			t.Fatal(err)
		}
		for _, lock := range []bool{true, false} { // the file cannot be changed at first
			if !lock {
				stays.free(t)
			}
			if err := f.Push(func(Freeze, string) error { t.Error("it is told again"); return nil }); (err == nil) == lock {
				t.Errorf("later %v: the file: %v", later, err)
			}
			if list, err := f.List(time.Now()); err != nil || len(list) != 0 {
				t.Errorf("later %v: it came back: %v, %v", later, list, err)
			}
		}
	}
}

// staying makes the file's lock unusable once something is shared, so that the file cannot be changed.
type staying struct {
	*others
	path  string
	stuck bool
}

func (s *staying) Replace(revision uint64, text []byte) error {
	err := s.others.Replace(revision, text)
	if lock := s.path + ".lock"; err == nil && !s.stuck {
		s.stuck = true
		err = errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700))
	}
	return err
}

func (s *staying) free(t *testing.T) {
	t.Helper()
	if err := os.Remove(s.path + ".lock"); err != nil {
		t.Fatal(err)
	}
}

// A tenant sees what its operator has frozen, and cannot end it.
func TestFreezesFromAbove(t *testing.T) {
	above := OpenFreezer(filepath.Join(t.TempDir(), "frozen.json"))
	f := OpenFreezer(filepath.Join(t.TempDir(), "frozen.json")).Below(above)
	record := func(string) error { return nil }
	if err := above.Freeze(Freeze{By: "operator", At: time.Now()}, record); err != nil {
		t.Fatal(err)
	}
	if list, err := f.List(time.Now()); err != nil || len(list) != 1 || !list[0].Above {
		t.Errorf("%+v, %v", list, err)
	}
	if err := f.Unfreeze("", record); !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), "which only their operator ends") {
		t.Error(err)
	}
	if err := f.Freeze(Freeze{By: "tenant", At: time.Now()}, record); err != nil {
		t.Fatal(err)
	}
	if list, err := f.List(time.Now()); err != nil || len(list) != 2 || list[1].Above {
		t.Errorf("%+v, %v", list, err)
	}
	if err := f.Unfreeze("", record); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(above.path, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Unfreeze("", func(summary string) error { t.Error("on record:", summary); return nil }); !errors.Is(err, ErrUnavailable) {
		t.Error("what its operator froze cannot be read:", err)
	}
}
