package upstream

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
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
