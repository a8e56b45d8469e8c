package guard

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkWatch compares opening a file inside and outside a box.
func BenchmarkWatch(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	const opens = 1000
	for _, box := range []*Box{nil, {Read: append([]string{self}, system...)}} {
		b.Run(map[bool]string{true: "sandbox", false: "none"}[box != nil], func(b *testing.B) {
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), self)
				cmd.Env = []string{opensVariable + "=" + strconv.Itoa(opens), atOnce}
				k, _, err := (&Wall{Mode: Off, Box: box}).Start(cmd)
				if err != nil {
					b.Skip(err)
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
				k.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*opens), "µs/open")
		})
	}
}

// TestRefusedFiles checks that callgate hears what a box keeps from a program, and nothing else.
func TestRefusedFiles(t *testing.T) {
	for _, kind := range walls {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"read/a", "write/b", "write/fixed/f", "home/.ssh/config", "home/other/c"} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		var heard []string
		box := &Box{Read: append([]string{dir + "/read"}, system...), Write: []string{dir + "/write"}, Refused: func(a Access) {
			if _, err := os.Lstat(a.Path); err != nil && !a.Write {
				return // programs look for many missing files
			}
			heard = append(heard, map[bool]string{false: "r ", true: "w "}[a.Write]+strings.TrimPrefix(a.Path, dir))
		}}
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cd `+dir+`/write
cat b ../read/a; cat ../home/.ssh/config; cat ../home/.ssh/config; echo n >n; rm n; echo n >../read/n; mkdir ../read/m; cat <../home/other/c; cat nothing; cat ../home/nothing; echo n >$TMPDIR/n; echo n >fixed/f`)
		cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=/usr/bin:/bin", "HOME=" + dir + "/home"}, &out, &out
		w := Wall{Mode: Require, Fixed: []string{dir + "/write/fixed"}, Box: box, kinds: []Kind{kind}}
		k, s, err := w.Start(cmd)
		if err != nil {
			skipWithoutWall(t, err)
			t.Fatal(err)
		}
		_ = cmd.Wait() // its output says enough
		k.Release()
		if s.Unseen != "" {
			t.Skipf("%s: %s", kind, s)
		}
		want := []string{"r /home/.ssh/config", "r /home/other/c", "w /read/m", "w /read/n"}
		if kind == Namespaces {
			want = append(want, "w /write/fixed/f")
		}
		slices.Sort(heard)
		if !slices.Equal(heard, want) {
			t.Errorf("%s: heard %q, want %q; it wrote %q", kind, heard, want, out.String())
		}
		if strings.Contains(out.String(), "other/c") && !strings.Contains(out.String(), "cannot") {
			t.Errorf("%s: it read what it may not: %q", kind, out.String())
		}
	}
}
