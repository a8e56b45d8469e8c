package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The examples for CI do what they say: the same commands pass with good rules, and fail if a case does not hold.
func TestExamplesOfCI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("they are for bash")
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct{ Steps []struct{ Run string } }
	}
	var hooks struct {
		Repos []struct {
			Hooks []struct {
				Entry, Files string
			}
		}
	}
	for path, to := range map[string]any{"github-action/action.yml": &action, "pre-commit-config.yaml": &hooks} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "ci", path))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, to); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	program := callgateProgram(t)
	for name, script := range map[string]string{"github-action": action.Runs.Steps[0].Run, "pre-commit": hooks.Repos[0].Hooks[0].Entry} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run := func(want string) (string, error) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, "permissions.jsonc"), []byte(`{"*": "ask", "read_file": {"*": "allow", "*.env": "deny"}}`), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "permissions.test.jsonc"), []byte(`[{"call": {"tool": "read_file", "arguments": ".env"}, "want": "`+want+`"}]`), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script)
				cmd.Dir = dir
				cmd.Env = []string{
					"PATH=" + filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "RUNNER_TEMP=" + dir, "GORACE=atexit_sleep_ms=0",
					"RULES=" + action.Inputs["rules"].Default, "CASES=" + action.Inputs["cases"].Default, "RESULTS=" + action.Inputs["results"].Default,
				}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			if out, err := run("deny"); err != nil || !strings.Contains(out, "ok   1 case") {
				t.Errorf("good rules: %v\n%s", err, out)
			}
			if out, err := run("allow"); err == nil || !strings.Contains(out, "1 of 1 cases failed") && !strings.Contains(out, "1 of 1 case failed") {
				t.Errorf("a case that does not hold: %v\n%s", err, out)
			}
			if results, err := os.ReadFile(filepath.Join(dir, action.Inputs["results"].Default)); name == "github-action" && (err != nil || !strings.Contains(string(results), `failures="1"`)) {
				t.Errorf("JUnit: %s %v", results, err)
			}
		})
	}
}
