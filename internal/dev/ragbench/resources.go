package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"callgate/rag"
)

// resources measures indexing src on disk in a separate process, and that process's memory at rest.
func resources(ctx context.Context, src string) error {
	dir, err := os.MkdirTemp("", "callgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-index", filepath.Join(dir, "index"), src)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	report, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("the indexing process reported nothing: %w", err)
	}
	peak, rest := memory(cmd.Process.Pid)
	if err := in.Close(); err != nil {
		return err
	}
	after, err := io.ReadAll(lines)
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	fmt.Printf("Indexing %s\n%s", src, report)
	fmt.Printf("user time %s, system time %s\n", cmd.ProcessState.UserTime().Round(time.Millisecond), cmd.ProcessState.SystemTime().Round(time.Millisecond))
	fmt.Printf("memory: peak %s, with the index open %s; on disk %s\n%s\n", peak, rest, size(filepath.Join(dir, "index")), after)
	return nil
}

// indexAndWait is the measured process. It indexes, reports, and holds the index open until stdin ends. Then it changes
// the index and reports how long that took.
func indexAndWait(dir, src string) error {
	debug.SetGCPercent(75) // as callgate index sets it
	ctx := context.Background()
	index, err := rag.Open(dir, rag.Options{})
	if err != nil {
		return err
	}
	defer index.Close()
	sum, err := index.Sync(ctx, src, nil)
	if err != nil {
		return err
	}
	if err := index.Rest(); err != nil { // as callgate run does when nobody searches
		return err
	}
	runtime.GC() // the first one only empties pools
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("%d files, %d chunks in %s; Go heap at rest %.0f MB\n", sum.Files, sum.Chunks, elapsed(sum.Duration), float64(m.HeapInuse)/1e6)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	again, err := index.Sync(ctx, src, nil)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := index.Add(ctx, rag.Document{ID: "new", Text: "a document that was added"}); err != nil {
		return err
	}
	fmt.Printf("a Sync that finds nothing new: %s; a document added: %s\n", elapsed(again.Duration), elapsed(time.Since(start)))
	return nil
}

// memory returns the process's peak and current memory as the system reports it. Linux only.
func memory(pid int) (peak, now string) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown", "unknown"
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmHWM":
			peak = strings.TrimSpace(value)
		case "VmRSS":
			now = strings.TrimSpace(value)
		}
	}
	return peak, now
}

// size returns the size of all files below dir.
func size(dir string) string {
	var n int64
	err := filepath.WalkDir(dir, func(_ string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return err
		}
		info, err := f.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
