package environment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	type config struct {
		env     []string
		inherit bool
	}
	t.Parallel()
	own := []string{
		"HOME=/home/u", "PATH=/bin", "LC_ALL=C", "LANG=() { :; }; evil", "ANTHROPIC_API_KEY=secret", "LD_PRELOAD=/x",
		"CALLGATE_TOKEN=secret", "callgate_token=secret",
	}
	for _, c := range []struct {
		name string
		cfg  config
		want string
		err  string
	}{
		{"clean", config{}, "HOME=/home/u PATH=/bin LC_ALL=C", ""},
		{"configured", config{env: []string{"A=1=2", "PATH=/x", "EMPTY="}}, "HOME=/home/u PATH=/bin LC_ALL=C A=1=2 PATH=/x EMPTY=", ""},
		{"inherited", config{inherit: true}, "HOME=/home/u PATH=/bin LC_ALL=C LANG=() { :; }; evil ANTHROPIC_API_KEY=secret LD_PRELOAD=/x", ""},
		{"no value", config{env: []string{"A"}}, "", "not NAME=value"},
		{"no name", config{env: []string{"=secret"}}, "", "not NAME=value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Of(own, c.cfg.env, c.cfg.inherit)
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
