package lint_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/permissions/lint"
)

// TestProbesAreAsBadAsLintSays checks that the classifier rates lint's probes at least as bad as lint says.
func TestProbesAreAsBadAsLintSays(t *testing.T) {
	lossy, interpreting := lint.Probes()
	for _, c := range []struct {
		commands []string
		atLeast  permissions.Risk
	}{{lossy, permissions.Destructive}, {interpreting, permissions.Network}} {
		for _, command := range c.commands {
			arguments, err := json.Marshal(map[string]string{"command": command})
			if err != nil {
				t.Fatal(err)
			}
			a := tools.Analyze(tools.Call{Tool: tools.KindTool("shell_exec"), Arguments: arguments, Place: tools.Place{Dir: t.TempDir()}})
			if c.atLeast.Exceeds(a.Risk) {
				t.Errorf("%s is %s, which is below %s", command, a.Risk, c.atLeast)
			}
		}
	}
}
