package supply

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/npmregistry"
)

// npmWorld returns a registry with a server and a library that the server needs, both published long ago.
func npmWorld(t *testing.T) (*npmregistry.Registry, *Server) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	r := npmregistry.New(t)
	old := time.Now().Add(-90 * 24 * time.Hour)
	r.Publish(t, npmregistry.Version{Name: "lib", Version: "1.0.0", By: "alice", At: old})
	r.Publish(t, npmregistry.Version{Name: "srv", Version: "1.0.0", Needs: map[string]string{"lib": "^1.0.0"}, By: "alice", At: old})
	home := t.TempDir()
	return r, &Server{Name: "s", From: "callgate.yaml", Words: []string{"npx", "-y", "srv"}, Command: "npx", Args: []string{"-y", "srv"}, Dir: t.TempDir(), Env: r.Env(home), Home: home}
}

func examine(t *testing.T, s *Server) *Entry {
	t.Helper()
	e, err := (&Examiner{}).Examine(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// changed returns the changes as people read them, with the registry's notes.
func changed(t *testing.T, s *Server, locked *Entry) string {
	t.Helper()
	changes := Compare(locked, examine(t, s))
	(&Examiner{}).Explain(t.Context(), s, changes, time.Now())
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n")
}

// A new version of a library behind a server's back is drift. All its suspicious traits are shown.
func TestNPMDrift(t *testing.T) {
	r, s := npmWorld(t)
	locked := examine(t, s)
	if locked.Version != "1.0.0" || len(locked.Packages) != 2 || locked.Packages["lib@1.0.0"].Integrity == "" {
		t.Fatalf("locked %+v", locked)
	}
	if got := changed(t, s, locked); got != "" {
		t.Errorf("nothing changed, but: %s", got)
	}
	r.Publish(t, npmregistry.Version{Name: "lib", Version: "1.0.1", By: "mallory", At: time.Now().Add(-3 * time.Hour), Scripts: map[string]string{"postinstall": "true"}})
	got := changed(t, s, locked)
	for _, want := range []string{"package lib: was 1.0.0, is 1.0.1", "runs a script when it is installed, which is new", "published 3 hours ago", "published by mallory, who was not a maintainer of 1.0.0", "new maintainer mallory"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q: %s", want, got)
		}
	}
	now := examine(t, s)
	young, err := (&Examiner{}).Young(t.Context(), s, locked, now, DefaultCooldown)
	if err != nil || len(young) != 1 || young[0] != "lib@1.0.1" {
		t.Errorf("young are %v, %v", young, err)
	}
	if young, err = (&Examiner{}).Young(t.Context(), s, locked, now, time.Hour); err != nil || len(young) != 0 {
		t.Errorf("after an hour, young are %v, %v", young, err)
	}
}

// Other contents under the same version are drift, in the registry…
func TestNPMContents(t *testing.T) {
	r, s := npmWorld(t)
	s.Words, s.Args = []string{"npx", "-y", "srv@1.0.0"}, []string{"-y", "srv@1.0.0"}
	locked := examine(t, s)
	r.Publish(t, npmregistry.Version{Name: "srv", Version: "1.0.0", Main: "evil", Needs: map[string]string{"lib": "^1.0.0"}, By: "alice", At: time.Now()})
	if got := changed(t, s, locked); !strings.Contains(got, "package srv@1.0.0: the registry has other contents under the same version") {
		t.Errorf("replaced in the registry: %s", got)
	}
}

// …and on this machine.
func TestNPMInstalled(t *testing.T) {
	r, s := npmWorld(t)
	s.Words, s.Args = []string{"npx", "-y", "srv@1.0.0"}, []string{"-y", "srv@1.0.0"}
	run := exec.Command("npx", "-y", "srv@1.0.0")
	run.Env, run.Dir = s.Env, s.Dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.Close() // an installed package needs no registry
	locked := examine(t, s)
	if p := locked.Packages["lib@1.0.0"]; p.Content == "" || p.Integrity == "" {
		t.Fatalf("installed: %+v", locked.Packages)
	}
	if got := changed(t, s, locked); got != "" {
		t.Errorf("nothing changed, but: %s", got)
	}
	lib, err := filepath.Glob(filepath.Join(s.Home, ".npm", "_npx", "*", "node_modules", "lib", "main.js"))
	if err != nil || len(lib) != 1 {
		t.Fatal(lib, err)
	}
	if err := os.WriteFile(lib[0], []byte("evil"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := changed(t, s, locked); !strings.Contains(got, "package lib@1.0.0: its files on this machine were changed") {
		t.Errorf("changed on the disk: %s", got)
	}
}

// A package in the server's folder, which npx prefers, is examined too.
func TestNPMProject(t *testing.T) {
	_, s := npmWorld(t)
	locked := examine(t, s)
	dir := filepath.Join(s.Dir, "node_modules", "srv")
	write(t, filepath.Join(dir, "package.json"), `{"name":"srv","version":"9.9.9"}`)
	if got := changed(t, s, locked); !strings.Contains(got, "package srv: was 1.0.0, is 9.9.9") {
		t.Errorf("planted in the project: %s", got)
	}
	// It cannot pass for another package of the lock whose files are not compared because it has a script.
	locked.Packages["native@1.0.0"] = Package{Integrity: "sha512-x", Script: true}
	write(t, filepath.Join(dir, "package.json"), `{"name":"native","version":"1.0.0","scripts":{"install":"true"}}`)
	if _, err := (&Examiner{}).Examine(t.Context(), s); err == nil || !strings.Contains(err.Error(), `calls itself "native"`) {
		t.Errorf("planted under another name: %v", err)
	}
}

// A nested package cannot pass for another of the lock either, unless its dependent says so.
func TestNPMNested(t *testing.T) {
	dir := t.TempDir()
	modules := filepath.Join(dir, "node_modules")
	write(t, filepath.Join(modules, "srv", "package.json"), `{"name":"srv","version":"1.0.0","dependencies":{"lib":"^1.0.0","other":"npm:@scope/real@^2"}}`)
	write(t, filepath.Join(modules, "srv", "index.js"), "")
	write(t, filepath.Join(modules, "lib", "package.json"), `{"name":"lib","version":"1.0.0"}`)
	write(t, filepath.Join(modules, "other", "package.json"), `{"name":"@scope/real","version":"2.0.0"}`)
	write(t, filepath.Join(dir, "node"), "")
	s := &Server{Command: "node", Args: []string{filepath.Join(modules, "srv", "index.js")}, Dir: dir, Env: []string{"PATH=" + dir}}
	if e := examine(t, s); len(e.Packages) != 3 || e.Packages["@scope/real@2.0.0"].Content == "" {
		t.Errorf("packages %v", e.Packages)
	}
	write(t, filepath.Join(modules, "lib", "package.json"), `{"name":"native","version":"1.0.0","scripts":{"install":"true"}}`)
	if _, err := (&Examiner{}).Examine(t.Context(), s); err == nil || !strings.Contains(err.Error(), `calls itself "native"`) {
		t.Errorf("planted under another name: %v", err)
	}
}

// A server with an open version runs what was locked, even if the registry has newer packages by then. That includes
// packages published between the examination and the start.
func TestNPMRunsWhatWasLocked(t *testing.T) {
	r, s := npmWorld(t)
	path := filepath.Join(t.TempDir(), "callgate.lock")
	lock := &Lock{}
	lock.Put(*examine(t, s))
	if err := lock.Save(path); err != nil {
		t.Fatal(err)
	}
	r.Publish(t, npmregistry.Version{Name: "srv", Version: "1.1.0", Main: "evil", By: "alice", At: time.Now().Add(-time.Hour)})
	how, err := (&Examiner{}).Check(t.Context(), path, s)
	if err != nil || strings.Join(how.Args, " ") != "-y srv@1.0.0" || len(how.Env) == 0 {
		t.Fatalf("%+v: %v", how, err)
	}
	r.Publish(t, npmregistry.Version{Name: "lib", Version: "1.0.1", Main: "evil", By: "mallory", At: time.Now().Add(time.Hour)}) // after the look
	run := exec.Command("npx", how.Args...)
	run.Env, run.Dir = append(s.Env, how.Env...), s.Dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"srv": "1.0.0", "lib": "1.0.0"} {
		var m manifest
		found, err := filepath.Glob(filepath.Join(s.Home, ".npm", "_npx", "*", "node_modules", name, "package.json"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if err := readJSON(found[0], &m); err != nil || m.Version != want {
			t.Errorf("%s is %s: %v", name, m.Version, err)
		}
	}
	if how, err = (&Examiner{}).Check(t.Context(), path, s); err != nil || len(how.Env) != 0 {
		t.Errorf("installed: %+v: %v", how, err)
	}
}

func TestPin(t *testing.T) {
	locked := &Entry{Package: "srv", Version: "1.0.0"}
	for line, want := range map[string]string{
		"npx -y srv": "-y srv@1.0.0", "npx -y srv@latest dir": "-y srv@1.0.0 dir", "npx --package=srv@^1 srv-bin": "--package=srv@1.0.0 srv-bin",
		"npx -p srv srv": "", "npx -y srv@1.0.0": "", "npx -y other": "", "uvx srv --flag": "srv@1.0.0 --flag", "node srv": "", "npx -y srv@npm:other": "",
	} {
		words := strings.Fields(line)
		if got := strings.Join(pin(&Server{Command: words[0], Args: words[1:]}, locked), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Programs, scripts, variables and addresses are locked too; the data that a server works on is not.
func TestOtherDrift(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files run by their mode")
	}
	dir := t.TempDir()
	program, script, data := filepath.Join(dir, "program"), filepath.Join(dir, "server.js"), filepath.Join(dir, "notes.db")
	module := filepath.Join(dir, "node_modules", "pkg")
	for _, path := range []string{program, script, data, filepath.Join(module, "index.js")} {
		write(t, path, "one")
	}
	write(t, filepath.Join(module, "package.json"), `{"name":"pkg","version":"1.0.0"}`)
	env := []string{"PATH=" + os.Getenv("PATH") + ":" + dir}
	write(t, filepath.Join(dir, "node"), "one")
	servers := map[string]*Server{
		"program": {Command: program, Args: []string{data}, Dir: dir, Env: env},
		"script":  {Command: "node", Args: []string{"--no-warnings", "server.js", data}, Dir: dir, Env: env},
		"module":  {Command: "node", Args: []string{filepath.Join(module, "index.js")}, Dir: dir, Env: env},
		"preload": {Command: program, Args: []string{"--require=" + script}, Dir: dir, Env: env},
	}
	locked := map[string]*Entry{}
	for name, s := range servers {
		s.Words = append([]string{s.Command}, s.Args...)
		locked[name] = examine(t, s)
	}
	for _, step := range []struct{ file, changes string }{
		{data, ""},
		{program, "program preload"},
		{script, "program preload script"},
		{filepath.Join(module, "other.js"), "program preload script module"},
	} {
		write(t, step.file, "two")
		for name, s := range servers {
			got := Compare(locked[name], examine(t, s))
			if want := strings.Contains(step.changes, name); want != (len(got) > 0) {
				t.Errorf("%s after %s changed: %v", name, filepath.Base(step.file), got)
			}
		}
	}
	was := &Entry{Command: []string{"a"}, Variables: []string{"A", "B"}, Tools: map[string]string{"t": "1", "u": "1"}}
	is := &Entry{Command: []string{"a", "b"}, Variables: []string{"A", "C"}, Tools: map[string]string{"t": "2", "v": "1"}, URL: "https://example.com"}
	var got []string
	for _, c := range Compare(was, is) {
		got = append(got, c.String())
	}
	want := `command: was "a", is "a b"|url: was "", is "https://example.com"|variable C: new|variable B: gone|tool t: its definition changed|tool v: new|tool u: gone`
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// The lock of a Python server has what uv says; digests count in any order. A script stands in for uv.
func TestPython(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script plays uv")
	}
	dir := t.TempDir()
	say := func(text string) {
		write(t, filepath.Join(dir, "uv"), "#!/bin/sh\ncat >"+dir+"/stdin\necho \"$@\" >"+dir+"/args\ncat <<'END'\n"+text+"END\n")
	}
	write(t, filepath.Join(dir, "uvx"), "#!/bin/sh\n")
	s := &Server{Command: "uvx", Args: []string{"--with", "extra", "mcp-server-time@1.2.0"}, Dir: dir, Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH")}}
	say("mcp-server-time==1.2.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nextra==3.0 \\\n    --hash=sha256:cc\n")
	locked := examine(t, s)
	stdin, _ := os.ReadFile(filepath.Join(dir, "stdin"))
	if locked.Version != "1.2.0" || len(locked.Packages) != 2 || string(stdin) != "mcp-server-time==1.2.0\nextra\n" {
		t.Fatalf("%+v of %q", locked, stdin)
	}
	say("extra==3.0 --hash=sha256:cc\nmcp-server-time==1.2.0 --hash=sha256:bb --hash=sha256:aa\n")
	if got := Compare(locked, examine(t, s)); len(got) != 0 {
		t.Errorf("nothing changed, but: %v", got)
	}
	say("extra==3.1 --hash=sha256:dd\nmcp-server-time==1.2.0 --hash=sha256:bb --hash=sha256:aa --hash=sha256:ee\n")
	got := Compare(locked, examine(t, s))
	if len(got) != 2 || !strings.Contains(got[0].What+got[1].What, "extra: was 3.0, is 3.1") || !strings.Contains(got[0].What+got[1].What, "mcp-server-time@1.2.0: the registry has other contents") {
		t.Errorf("changed: %v", got)
	}
}

// A server does not start if it differs from the lock, if the lock does not have it, or if the lock cannot be read.
// Without a lock everything starts.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	program, path := filepath.Join(dir, "server.py"), filepath.Join(dir, "callgate.lock")
	write(t, program, "one")
	s := &Server{Name: "s", Words: []string{"python3", program}, Command: "python3", Args: []string{program}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}}
	write(t, filepath.Join(dir, "python3"), "")
	s.Env = []string{"PATH=" + dir}
	check := func() string {
		if _, err := (&Examiner{}).Check(t.Context(), path, s); err != nil {
			return err.Error()
		}
		return ""
	}
	if got := check(); got != "" {
		t.Errorf("without a lock: %s", got)
	}
	lock := &Lock{}
	if err := lock.Save(path); err != nil {
		t.Fatal(err)
	}
	if got := check(); !strings.Contains(got, "it is not in") {
		t.Errorf("not in the lock: %s", got)
	}
	lock.Put(*examine(t, s))
	if err := lock.Save(path); err != nil {
		t.Fatal(err)
	}
	if got := check(); got != "" {
		t.Errorf("as locked: %s", got)
	}
	write(t, program, "two")
	if got := check(); !strings.Contains(got, "server.py: changed") || !strings.Contains(got, `callgate servers update s`) {
		t.Errorf("changed: %s", got)
	}
	write(t, path, "{")
	if got := check(); !strings.Contains(got, "callgate.lock") {
		t.Errorf("damaged: %s", got)
	}
}
