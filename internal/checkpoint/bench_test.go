package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkFile measures the cost for a call that writes a file of 10 KB: keeping the file, on the disk itself, and
// recording what the call left.
func BenchmarkFile(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "file")
	s, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintf("%09d\n", i), 1024)), 0o644); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		taken, err := s.Take(context.Background(), Request{Workspace: dir, Paths: []Path{{Path: path}}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := taken.End(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorkspace keeps a workspace in which one file changes.
func BenchmarkWorkspace(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 5000 {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d", i%20, i%7))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint("f", i)), []byte(strings.Repeat(fmt.Sprint(i), 500)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	s, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	time.Sleep(settled)
	for b.Loop() {
		taken, err := s.Take(context.Background(), Request{Workspace: dir, Paths: []Path{{Path: dir, Scope: Git}}})
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "d00/e00/f0"), []byte(time.Now().String()), 0o644); err != nil {
			b.Fatal(err)
		}
		if _, err := taken.End(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
