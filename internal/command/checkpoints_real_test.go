//go:build unix

package command

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/companion"
)

// TestKilledAroundAWrite kills callgate at moments around the writes of a real file server and a real shell: before the
// checkpoint, between it and the write, during the write, and before the outcome. What the call changed can be restored
// byte for byte, with modes and absence. What had not begun leaves no trace.
func TestKilledAroundAWrite(t *testing.T) {
	t.Parallel()
	box, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, box)
	filesystem, env, dir := npmServer(t, "server-filesystem", box), environment(t), t.TempDir()
	config, err := json.Marshal(map[string]any{"servers": []any{
		map[string]any{"name": "fs", "command": filesystem[0], "args": filesystem[1:], "cwd": box, "package": "@modelcontextprotocol/server-filesystem"},
		map[string]any{"name": "demo", "command": filepath.Join(servers(t), "demo"), "args": []string{"."}, "package": "callgate-demo", "cwd": box},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file, data := filepath.Join(dir, "callgate.yaml"), filepath.Join(dir, "data")
	write(t, file, string(config))
	write(t, filepath.Join(data, "workers", "default", "permissions.jsonc"), `{ "*": "allow" }`)
	program, common := callgateProgram(t), []string{"--config", file, "--data-dir", data}

	calls := []string{
		`{"name":"fs_write_file","arguments":{"path":"` + box + `/a.txt","content":"by the model"}}`,
		`{"name":"fs_write_file","arguments":{"path":"` + box + `/new.txt","content":"by the model"}}`,
		`{"name":"fs_edit_file","arguments":{"path":"` + box + `/run.sh","edits":[{"oldText":"echo","newText":"printf"}]}}`,
		`{"name":"fs_move_file","arguments":{"source":"` + box + `/sub","destination":"` + box + `/moved"}}`,
		`{"name":"fs_create_directory","arguments":{"path":"` + box + `/x/y/z"}}`,
		`{"name":"demo_shell_exec","arguments":{"command":"echo one > a.txt; sleep 0.02; chmod 600 run.sh; sleep 0.02; rm -rf sub; sleep 0.02; ln -s a.txt link; sleep 0.02; rm -f bin"}}`,
		`{"name":"demo_write_file","arguments":{"path":"p/q/r.txt","content":"by the model"}}`,
	}
	torn := 0
	for round := range 2 * len(calls) {
		c := begin(t, program, append([]string{"run", "--listen", "off", "--mode", "no-prompt", fmt.Sprint("--checkpoints-workspaces=", round%2 == 0)}, common...), env)
		untilListed(t, c, "fs_write_file")
		untilListed(t, c, "demo_shell_exec")
		before, call := stateOf(t, box), calls[round%len(calls)]
		if err := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":%s}`, call)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60_000)) * time.Microsecond)
		c.kill()
		settleDown(t, box)

		changed := !cmp.Equal(before, stateOf(t, box))
		if id := newestOpen(t, program, common, env); id != "" {
			output, err := run(env, program, append([]string{"checkpoints", "restore", id, "--force", "--remove-stray"}, common...)...)
			if err != nil {
				t.Fatalf("round %d, %s: restore %s: %v\n%s", round, call, id, err, output)
			}
			torn++
		} else if changed {
			t.Fatalf("round %d, %s: the files were changed, and nothing was kept", round, call)
		}
		if diff := cmp.Diff(before, stateOf(t, box)); diff != "" {
			t.Fatalf("round %d, %s: restored (-before +now):\n%s", round, call, diff)
		}
	}
	t.Logf("%d of %d calls were restored", torn, 2*len(calls))
}

func fill(t *testing.T, box string) {
	t.Helper()
	write(t, filepath.Join(box, "a.txt"), "old\n")
	write(t, filepath.Join(box, "run.sh"), "#!/bin/sh\necho hi\n")
	write(t, filepath.Join(box, "bin"), "\x00\x01\xff")
	write(t, filepath.Join(box, "sub", "deep", "c.txt"), "")
	for name, mode := range map[string]fs.FileMode{"a.txt": 0o644, "run.sh": 0o755, "bin": 0o640, "sub/deep": 0o750} {
		if err := os.Chmod(filepath.Join(box, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.Command("git", "-C", box, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, output)
	}
}

// stateOf returns everything in a folder except .git, by path: the mode, and the bytes or the target.
func stateOf(t *testing.T, box string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(box, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		all[strings.TrimPrefix(path, box)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// settleDown waits until the servers that callgate left behind, and what they started, have ended. All of them work in
// the box. If nobody can tell, it waits until nothing changes any more.
func settleDown(t *testing.T, box string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for last := stateOf(t, box); time.Now().Before(deadline); {
		at, known := atWork(box)
		if known && !at {
			return
		}
		time.Sleep(60 * time.Millisecond)
		now := stateOf(t, box)
		if !known && cmp.Equal(last, now) {
			return
		}
		last = now
	}
	t.Fatalf("after %s servers of a callgate that was killed still run", patience)
}

// atWork reports whether a process works in the folder or below it. known is true on Linux only.
func atWork(dir string) (at, known bool) {
	folders, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(folders) == 0 {
		return false, false
	}
	for _, f := range folders {
		if where, err := os.Readlink(f); err == nil && (where == dir || strings.HasPrefix(where, dir+"/")) {
			return true, true
		}
	}
	return false, true
}

// newestOpen returns the id of the newest checkpoint that has not been restored, or "" if there is none.
func newestOpen(t *testing.T, program string, common, env []string) string {
	t.Helper()
	list := exec.Command(program, append([]string{"checkpoints", "list", "--tail", "0", "--json"}, common...)...)
	list.Env, list.Stderr = env, t.Output() // a kill during a write may leave a segment that the command complains about
	output, err := list.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var listed struct{ Checkpoints []companion.CheckpointView }
	if err := json.Unmarshal(output, &listed); err != nil {
		t.Fatal(err)
	}
	for _, c := range listed.Checkpoints {
		if c.Restores == "" && c.RestoredAt.IsZero() {
			return c.ID
		}
	}
	return ""
}

func run(env []string, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = env
	return cmd.CombinedOutput()
}
