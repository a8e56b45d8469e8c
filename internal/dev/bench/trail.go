package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"callgate/audit"
	"callgate/internal/dev/bench/load"
)

// benchTrail writes a trail and measures how long callgate takes to read it, and with how much memory.
func benchTrail(o options, dir string, out, progress io.Writer) error {
	callgate, err := program(o.bin, "callgate")
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "trail")
	if err := freshData(data); err != nil {
		return err
	}
	fmt.Fprintln(progress, "a trail of", o.records, "records")
	began := time.Now()
	size, err := writeTrail(data, o.records)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nA trail of %d records, %d MiB, written in %.1f s:\n\n| | s | peak memory, MiB |\n|---|---:|---:|\n", o.records, size>>20, time.Since(began).Seconds())
	for _, command := range []string{"audit --tail 20", "audit --tail 20 --session s-7", "audit --tail 20 --session s-none", "audit verify"} {
		took, peak, err := timed(callgate, append(strings.Fields(command), "--data-dir", data)...)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.0f |\n", command, took.Seconds(), float64(peak)/(1<<20))
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// writeTrail writes decisions and outcomes of many sessions, and returns the size of the trail in bytes.
func writeTrail(data string, records int) (size int64, err error) {
	log, err := audit.Open(audit.Dir(data), audit.Options{})
	if err != nil {
		return 0, err
	}
	for i := range records {
		r := audit.Record{Event: audit.Decision, CallID: fmt.Sprintf("call_%d", i/2), SessionID: fmt.Sprintf("s-%d", i/2000), Server: "bench", Tool: "bench_echo", Worker: "default",
			Decision: "auto-approved", By: "rule", Rule: `"*": allow`, Risk: "UNKNOWN", Summary: "calls bench_echo", Arguments: []byte(`{"text":"hello"}`), Digest: strings.Repeat("0123456789abcdef", 4)}
		if i%2 == 1 {
			r = audit.Record{Event: audit.Outcome, CallID: r.CallID, SessionID: r.SessionID, Server: r.Server, Tool: r.Tool, Worker: r.Worker, Digest: r.Digest, Result: 40, Duration: 1.5}
		}
		if _, err := log.Append(r); err != nil {
			return 0, errors.Join(err, log.Close())
		}
	}
	if err := log.Close(); err != nil {
		return 0, err
	}
	err = filepath.WalkDir(audit.Dir(data), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, infoErr := d.Info()
			if err = infoErr; err == nil {
				size += info.Size()
			}
		}
		return err
	})
	return size, err
}

// timed runs a command to its end, and returns its time and its peak memory in bytes.
func timed(program string, arguments ...string) (took time.Duration, peak int64, err error) {
	cmd := exec.Command(program, arguments...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	err = cmd.Run()
	took = time.Since(began)
	if cmd.ProcessState != nil {
		peak = load.PeakOf(cmd.ProcessState)
	}
	return took, peak, err
}
