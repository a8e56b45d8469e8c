package rag

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

func TestWatch(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x, reader := open(t, dir, Options{}), open(t, dir, Options{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan bool, 1)
	go func() {
		ended <- x.Watch(ctx, root, func(e Event) {
			if e.Kind == EventDone {
				select {
				case ready <- true:
				default:
				}
			}
		})
	}()
	<-ready
	// found waits until the reader, in place of another process, finds the name in the file, or no longer does.
	found := func(name, path string, want bool) {
		t.Helper()
		start := time.Now()
		for time.Since(start) < waits.Limit {
			hits, err := reader.Search(t.Context(), Query{Text: name})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(hits, func(h Hit) bool { return h.Path == path && h.Parts.Definition > 0 }) == want {
				t.Logf("%s after %s", name, time.Since(start).Round(time.Millisecond))
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatalf("%s in %s: not %v", name, path, want)
	}
	writeFiles(t, root, map[string]string{"server/http.go": "package server\n\nfunc ListenTLS() {}\n"})
	found("ListenTLS", "server/http.go", true)
	writeFiles(t, root, map[string]string{"new/deep/down.go": "package down\n\nfunc DugUp() {}\n"})
	found("DugUp", "new/deep/down.go", true)
	writeFiles(t, root, map[string]string{"new/deep/again.go": "package down\n\nfunc DugAgain() {}\n"})
	found("DugAgain", "new/deep/again.go", true)
	if err := os.Rename(filepath.Join(root, "new/deep"), filepath.Join(root, "new/moved")); err != nil {
		t.Fatal(err)
	}
	found("DugUp", "new/moved/down.go", true)
	found("DugUp", "new/deep/down.go", false)
	if err := os.RemoveAll(filepath.Join(root, "new")); err != nil {
		t.Fatal(err)
	}
	found("DugUp", "new/moved/down.go", false)
	writeFiles(t, root, map[string]string{".gitignore": "web/\n", ".git/HEAD": ""})
	found("TokenStore", "web/app.ts", false)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Watch ended with %v", err)
	}
}
