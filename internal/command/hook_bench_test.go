package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/built"
)

// BenchmarkHook measures how long a host waits for a hook: one that does nothing, callgate's while the judging process
// runs (warm), and the first one, which has to start that process (cold).
func BenchmarkHook(b *testing.B) {
	if runtime.GOOS == "windows" {
		b.Skip("the hook that does nothing is /bin/true")
	}
	dir := b.TempDir()
	program := filepath.Join(dir, "callgate")
	if err := built.Programs(dir, "callgate/cmd/callgate"); err != nil {
		b.Fatal(err)
	}
	config := filepath.Join(dir, "callgate.yaml")
	if err := os.WriteFile(config, []byte("listen: 127.0.0.1:0\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	measure := func(b *testing.B, run func(i int)) {
		took := make([]time.Duration, 0, b.N)
		for i := 0; b.Loop(); i++ {
			began := time.Now()
			run(i)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	}
	ask := func(b *testing.B, data string, i int) {
		cmd := exec.Command(program, "hook", "claude", "--data-dir="+data, "--config="+config)
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s","cwd":%q,"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"%d"}`, dir, i))
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	judge := func(b *testing.B, data string) (stop func()) {
		cmd := exec.Command(program, "hook", "serve", "--data-dir="+data, "--config="+config, "--worker=default")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() } // how it ends is not measured
	}
	b.Run("nothing", func(b *testing.B) {
		measure(b, func(int) {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("warm", func(b *testing.B) {
		data := b.TempDir()
		defer judge(b, data)()
		ask(b, data, -1)
		measure(b, func(i int) { ask(b, data, i) })
	})
	b.Run("cold", func(b *testing.B) {
		measure(b, func(i int) {
			data := b.TempDir()
			defer judge(b, data)()
			ask(b, data, i)
		})
	})
}
