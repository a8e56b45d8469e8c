package guard

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBrowser runs a whole browser behind each wall: no server asks more of a system.
func TestBrowser(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip(err)
	}
	hidden, err := os.MkdirTemp("/var/tmp", "guard-") // behind Landlock nothing new can be made beside it
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(hidden) })
	for _, kind := range walls {
		for _, boxed := range []bool{false, true} {
			profile := t.TempDir()
			w := Wall{Mode: Require, Hidden: []string{hidden}, kinds: []Kind{kind}}
			if boxed {
				if kind == Landlock {
					continue // Chromium needs a listening socket, which the box with Landlock refuses
				}
				w.Box = &Box{Read: append([]string{"/sys", "/opt", filepath.Dir(path)}, system...), Write: []string{profile}}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var out bytes.Buffer
			cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+profile, "--dump-dom", "data:text/html,<p id=x></p><script>x.textContent=6*7</script>")
			cmd.Env, cmd.Dir, cmd.Stdout = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + profile}, profile, &out
			k, s, err := w.Start(cmd)
			if err != nil {
				cancel()
				skipWithoutWall(t, err)
				t.Fatal(err)
			}
			<-k.Ended()
			k.EndAll()
			_ = cmd.Wait() // its output says enough
			k.Release()
			cancel()
			if !strings.Contains(out.String(), ">42<") {
				t.Errorf("behind %s it shows %q", s, out.String())
			}
		}
	}
}
