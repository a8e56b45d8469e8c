package gate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
}

// What only reads goes through, and nothing else, whatever lets it run otherwise.
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

// stale is a text of other machines, of which somebody else always changes it first.
type stale struct{}

func (stale) Text() ([]byte, uint64, error) { return nil, 1, nil }
func (stale) Replace(uint64, []byte) error  { return store.ErrStale }

// Calls go on while a freeze waits for other machines.
func TestCallsGoOnWhileAFreezeIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := OpenFreezer(filepath.Join(t.TempDir(), "frozen.json")).Share(stale{})
		done := make(chan error)
		go func() { done <- f.Freeze(Freeze{At: time.Now()}, func(string) error { return nil }) }()
		synctest.Wait()
		began := time.Now()
		if _, err := f.Of("s", time.Now()); err != nil || time.Since(began) > 0 {
			t.Errorf("a call waits for %v: %v", time.Since(began), err)
		}
		if err := <-done; !errors.Is(err, store.ErrStale) {
			t.Error(err)
		}
		if one, err := f.Of("s", time.Now()); one == nil || err != nil {
			t.Errorf("this machine is not frozen: %v", err)
		}
	})
}
