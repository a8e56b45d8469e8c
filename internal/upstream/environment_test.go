package upstream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	own := []string{
		"HOME=/home/u", "PATH=/bin", "LC_ALL=C", "LANG=() { :; }; evil", "ANTHROPIC_API_KEY=secret", "LD_PRELOAD=/x",
		"CALLGATE_TOKEN=secret", "callgate_token=secret",
	}
	for _, c := range []struct {
		name string
		cfg  Config
		want string
		err  string
	}{
		{"clean", Config{}, "HOME=/home/u PATH=/bin LC_ALL=C", ""},
		{"configured", Config{Env: []string{"A=1=2", "PATH=/x", "EMPTY="}}, "HOME=/home/u PATH=/bin LC_ALL=C A=1=2 PATH=/x EMPTY=", ""},
		{"inherited", Config{InheritEnv: true}, "HOME=/home/u PATH=/bin LC_ALL=C LANG=() { :; }; evil ANTHROPIC_API_KEY=secret LD_PRELOAD=/x", ""},
		{"no value", Config{Env: []string{"A"}}, "", "not NAME=value"},
		{"no name", Config{Env: []string{"=secret"}}, "", "not NAME=value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Environment(c.cfg, own)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("error = %v", err)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("environ = %q, %v", got, err)
			}
		})
	}
}

func TestProcessGetsTheCleanEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("CALLGATE_TOKEN", "secret")
	cfg := configOf(t, behaviour{})
	cfg.Env = append(cfg.Env, "GIVEN=yes")
	cfg.Args = []string{"one", "two words", "$HOME;*"}
	cfg.Dir = t.TempDir()
	u := open(t, cfg, Options{})
	got := call(t, u, "environ", "")
	if strings.Contains(got, "secret") || !strings.Contains(got, `"GIVEN=yes"`) {
		t.Errorf("environment: %s", got)
	}
	var started [2]any
	if err := json.Unmarshal([]byte(call(t, u, "args", "")), &started); err != nil {
		t.Fatal(err)
	}
	if got := encode(started[0]); got != encode(append([]string{cfg.Command}, cfg.Args...)) {
		t.Errorf("arguments: %s", got)
	}
	if want, err := filepath.EvalSymlinks(cfg.Dir); err != nil || started[1] != want {
		t.Errorf("directory: %v, want %v, %v", started[1], want, err)
	}

	cfg.InheritEnv = true
	u = open(t, cfg, Options{})
	if got := call(t, u, "environ", ""); !strings.Contains(got, "AWS_SECRET_ACCESS_KEY=secret") || strings.Contains(got, "CALLGATE_TOKEN") {
		t.Errorf("inherited: %s", got)
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	if os.PathSeparator != '/' {
		t.Skip("the modes of files decide here")
	}
	a, b := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{a + "/tool": 0o600, b + "/tool": 0o700, b + "/sub/tool": 0o700} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, command, dir, path, want string }{
		{"first that can run", "tool", "", a + ":" + b, b + "/tool"},
		{"the configured PATH counts", "tool", "", a, ""},
		{"no relative folders", "tool", b, relative + "::.", ""},
		{"absolute", b + "/sub/tool", a, "", b + "/sub/tool"},
		{"relative to the directory", "./sub/tool", b, a, b + "/sub/tool"},
		{"relative without a dot", "sub/tool", b, a, b + "/sub/tool"},
		{"not there", "sub/tool", a, b, ""},
		{"nothing", "", b, b, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := LookPath(c.command, c.dir, []string{"PATH=/bin", "PATH=" + c.path})
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("lookPath = %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestPassesNoSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "PYTHONPATH", "BASH_ENV", "ENV", ""} {
		if passes(name) {
			t.Errorf("%s passes", name)
		}
	}
	if !slices.ContainsFunc([]string{"PATH", "Path"}, passes) {
		t.Error("PATH does not pass")
	}
}
