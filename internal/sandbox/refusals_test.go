package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/internal/guard"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// TestRefusals checks that existing files are told of and asked about once, and that the next box has what was allowed.
func TestRefusals(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	made(t, home, map[string]string{"notes.txt": "", "kept.txt": "", "app/a": ""})
	at := func(path string) string { return filepath.Join(home, path) }
	var told []string
	asked := make(chan string, 10)
	r := NewRefusals(func(a guard.Access) { told = append(told, strings.TrimPrefix(a.Path, home)) }, func(_ context.Context, a guard.Access) error {
		asked <- a.Path
		if strings.HasSuffix(a.Path, "kept.txt") {
			return errors.New("no")
		}
		return nil
	})
	box := &guard.Box{}
	widened := r.Widen(box)
	for _, a := range []guard.Access{
		{Path: at("notes.txt")}, {Path: at("notes.txt")}, {Path: at("nothing")}, {Path: home}, {Path: filepath.Dir(home)}, {Path: at("kept.txt"), Write: true},
		{Path: at("app/new"), Write: true}, {Path: at("app/aside"), Write: true, Aside: true}, {Path: at("new"), Write: true}, {Path: at("none/new"), Write: true},
	} {
		box.Refused(a)
	}
	if want := []string{"/notes.txt", "/notes.txt", "/kept.txt", "/app/new"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	select {
	case <-widened:
	case <-time.After(waits.Limit):
		t.Fatal("nothing was opened")
	}
	waits.Until(t, "for the next box to have what was allowed", func() bool {
		next := &guard.Box{}
		r.Widen(next)
		return slices.Equal(next.Read, []string{at("notes.txt")}) && slices.Equal(next.Write, []string{at("app")})
	})
	r.Close()
	close(asked)
	var questions []string
	for path := range asked {
		questions = append(questions, strings.TrimPrefix(path, home))
	}
	slices.Sort(questions)
	if want := []string{"/app", "/kept.txt", "/notes.txt"}; !slices.Equal(questions, want) { // a yes to a new file opens its folder
		t.Errorf("asked about %q, want %q", questions, want)
	}
}

// TestRemovedFileOpensNoFolder checks that a file that was allowed opens no folder if it is gone when the next box is
// made.
func TestRemovedFileOpensNoFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	made(t, home, map[string]string{"notes.txt": ""})
	path := filepath.Join(home, "notes.txt")
	r := NewRefusals(func(guard.Access) {}, func(context.Context, guard.Access) error { return nil })
	defer r.Close()
	box := &guard.Box{}
	widened := r.Widen(box)
	box.Refused(guard.Access{Path: path, Write: true})
	<-widened
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if r.Widen(box); !slices.Equal(box.Write, []string{path}) {
		t.Errorf("open to write: %q", box.Write)
	}
}

// TestGrantedFiles checks that a grant for the sandbox opens what it says, and no more.
func TestGrantedFiles(t *testing.T) {
	now := time.Now()
	o := Options{Level: Strict, Server: "s", Home: "/home/u", Dir: "/home/u/app", Grants: []permissions.Grant{
		{Tool: "sandbox_read", Pattern: `/home/u/a\[1\].txt`, Server: "s"}, {Tool: "sandbox_write", Pattern: "/home/u/out", Workspace: "/home/u/app"},
		{Tool: "s_sandbox_read", Pattern: "/data/*"}, {Tool: "sandbox_read", Pattern: "/other", Server: "other"}, {Tool: "sandbox_read", Pattern: "/there", Workspace: "/home/u/there"},
		{Tool: "sandbox_read", Pattern: "/past", Expires: now.Add(-time.Hour)}, {Tool: "sandbox_read", Pattern: "*"}, {Tool: "other_sandbox_read", Pattern: "/third/*"},
		{Tool: "*", Pattern: "/all/*"}, {Tool: "read_file", Pattern: "/folder", Folder: "/folder"},
	}}
	box := Wall(guard.Wall{}, "/usr/bin/env", o).Box
	for _, path := range []string{"/home/u/a[1].txt", "/data"} {
		if !slices.Contains(box.Read, path) {
			t.Errorf("%s is not open: %q", path, box.Read)
		}
	}
	for _, path := range []string{"/other", "/there", "/past", "/", "/third", "/all", "/folder", "/home/u", "/home/u/a"} {
		if slices.Contains(box.Read, path) {
			t.Errorf("%s is open", path)
		}
	}
	if !slices.Equal(box.Write, []string{"/home/u/out"}) {
		t.Errorf("to write: %q", box.Write)
	}
}

// TestFewQuestionsWait checks that a server that walks a folder causes few questions at a time.
func TestFewQuestionsWait(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	answer := make(chan error)
	r := NewRefusals(func(guard.Access) {}, func(context.Context, guard.Access) error { return <-answer })
	box := &guard.Box{}
	r.Widen(box)
	look := func() {
		for i := range maxAsked {
			name := "file" + strconv.Itoa(i)
			made(t, home, map[string]string{name: ""})
			box.Refused(guard.Access{Path: filepath.Join(home, name)})
		}
	}
	asked := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.asked)
	}
	look()
	if n := asked(); n != maxWaiting {
		t.Errorf("%d questions wait", n)
	}
	for range maxWaiting {
		answer <- errors.New("no")
	}
	waits.Until(t, "for the answers", func() bool {
		look()
		return asked() == 2*maxWaiting
	})
	close(answer)
	r.Close()
}
