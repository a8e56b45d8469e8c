package upstream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/guard"
)

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

// A process that trusts callgate's authority also trusts what the system trusts.
func TestTheProcessTrustsTheSystem(t *testing.T) {
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, []byte("the system's roots\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func(before []string) { systemRoots = before }(systemRoots)
	for _, c := range []struct {
		paths []string
		want  string // the error, or ""
	}{
		{[]string{roots + ".none", roots}, ""},
		{[]string{roots + ".none"}, "cannot be read"},
	} {
		systemRoots = c.paths
		cfg := Config{Name: "git"}
		_, folder, env, err := cfg.trust(nil, &guard.Box{})
		if err != nil {
			if c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v", c.paths, err)
			}
			continue
		}
		defer os.RemoveAll(folder)
		_, file, _ := strings.Cut(env[0], "=")
		text, err := os.ReadFile(file)
		if c.want != "" || err != nil || !strings.HasPrefix(string(text), "the system's roots\n") {
			t.Errorf("%q: it trusts %q, %v", c.paths, text, err)
		}
	}
}
