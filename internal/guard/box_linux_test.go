package guard

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inBox runs a shell script in a box, and returns its output.
func inBox(t *testing.T, kind Kind, box *Box, text string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=/usr/bin:/bin"}, &out, &out
	cmd.Dir = "/usr"
	w := Wall{Mode: Require, Box: box, kinds: []Kind{kind}}
	k, _, err := w.Start(cmd)
	if err != nil {
		skipWithoutWall(t, err)
		t.Fatal(err)
	}
	_ = cmd.Wait() // its output says enough
	k.Release()
	return out.String()
}

func TestBoxEnvironment(t *testing.T) {
	for _, kind := range walls {
		box := &Box{Read: system, Net: ProxyNet, Env: func(proxy string) []string { return []string{"PROXY=" + proxy} }}
		out := inBox(t, kind, box, `echo "$PROXY $TMPDIR"; echo x >"$TMPDIR/x" && cat "$TMPDIR/x"; pwd`)
		if !strings.HasPrefix(out, "127.0.0.1:") || !strings.HasSuffix(out, "\nx\n/usr\n") {
			t.Errorf("%s: %q", kind, out)
		}
	}
}

func TestBoxLimits(t *testing.T) {
	for _, kind := range walls {
		box := &Box{Read: system, Limits: Limits{Memory: 256 << 20, FileSize: 1 << 20, OpenFiles: 100, CPU: 60 * time.Second}}
		out := inBox(t, kind, box, `ulimit -n; ulimit -t; ulimit -d; ulimit -c; cd "$TMPDIR"; head -c 3000000 /dev/zero >big; wc -c <big`)
		if want := "100\n60\n262144\n0\n"; !strings.HasPrefix(out, want) || !strings.Contains(out, "1048576\n") {
			t.Errorf("%s: %q, want %q and a file of a mebibyte", kind, out, want)
		}
	}
}

// TestBoxProcesses checks that one program's processes are counted apart only with namespaces, and root's never.
func TestBoxProcesses(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root has no limit: TestOrdinaryUser runs this")
	}
	box := &Box{Read: system, Limits: Limits{Processes: 20}}
	out := inBox(t, Namespaces, box, `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do sleep 2 & done; wait; echo all`)
	if strings.Contains(out, "all") || !strings.Contains(out, "fork") {
		t.Errorf("25 processes: %q", out)
	}
}

// TestBoxFiles checks that readable files cannot be changed, links lead to the same files, and the home is empty.
func TestBoxFiles(t *testing.T) {
	for _, kind := range walls {
		dir := t.TempDir()
		for name, text := range map[string]string{"read/a": "a", "write/b": "b", "other/c": "c", "read/sub/d": "d"} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("read", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		box := &Box{Read: append([]string{dir + "/link", dir + "/gone"}, system...), Write: []string{dir + "/write", dir + "/read/sub"}}
		out := inBox(t, kind, box, `cd `+dir+`; cat read/a link/a write/b; echo; echo n >write/n && cat write/n; echo n 2>/dev/null >read/n || echo refused; cat other/c 2>/dev/null || echo nothing; echo e >read/sub/d; cat link/sub/d`)
		if want := "aab\nn\nrefused\nnothing\ne\n"; out != want {
			t.Errorf("%s: %q, want %q", kind, out, want)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "write/n")); err != nil || string(b) != "n\n" {
			t.Errorf("%s: what was written is %q: %v", kind, b, err)
		}
	}
}

// TestBoxLinks checks that a link in a folder that programs can change opens nothing, and that other links do.
func TestBoxLinks(t *testing.T) {
	for _, kind := range walls {
		dir := t.TempDir()
		for _, name := range []string{"work/own/a", "keys/b", "data/c"} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name[len(name)-1:]), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for link, to := range map[string]string{"project": "work", "work/near": "own", "work/far": dir + "/keys", "work/over": "../keys", "given": "data"} {
			if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		box := &Box{Read: append([]string{dir + "/given", dir + "/project/far"}, system...), Write: []string{dir + "/project", dir + "/project/near", dir + "/work/over"}}
		out := inBox(t, kind, box, `cd `+dir+`; cat given/c project/near/a; for f in keys/b project/far/b project/over/b; do cat $f 2>/dev/null || printf .; done`)
		if want := "ca..."; out != want {
			t.Errorf("%s: %q, want %q", kind, out, want)
		}
	}
}
