package gate

import (
	"testing"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// TestSandboxOpens: only a person's answer, or a grant or rule for sandboxes, widens a sandbox.
func TestSandboxOpens(t *testing.T) {
	call := func(kind, path string) Call {
		tool := tools.KindTool(kind)
		tool.Server, tool.Qualified = "s", "s_"+kind
		return Call{Tool: tool, Arguments: []byte(`{"path":"` + path + `"}`), Place: tools.Place{Dir: "/home/u/app", Home: "/home/u"}}
	}
	all := `"*": "allow"`
	for _, c := range []struct {
		name  string
		rules string
		judge Judge
		path  string
		want  permissions.Action
	}{
		{"a rule for everything", all, Judge{}, "/home/u/a.txt", permissions.Ask},
		{"under FULL_AUTO", all, Judge{Autonomy: FullAuto}, "/home/u/a.txt", permissions.Ask},
		{"under GUIDED", all, Judge{Autonomy: Guided}, "/home/u/a.txt", permissions.Ask},
		{"in mode auto-approve", all, Judge{Mode: ModeAutoApprove}, "/home/u/a.txt", permissions.Ask},
		{"in mode no-prompt", all, Judge{Mode: ModeNoPrompt}, "/home/u/a.txt", permissions.Deny},
		{"the gate off", all, Judge{Off: true}, "/home/u/a.txt", permissions.Deny},
		{"a rule for reading", `"read_file": "allow"`, Judge{Autonomy: FullAuto}, "/home/u/a.txt", permissions.Ask},
		{"a denial of reading", all + `, "read_file": {"~/.ssh/**": "deny"}`, Judge{}, "/home/u/.ssh/config", permissions.Deny},
		{"a rule for sandboxes", `"sandbox_read": {"~/a.txt": "allow"}`, Judge{}, "/home/u/a.txt", permissions.Allow},
		{"a rule for this sandbox", `"s_sandbox_read": {"~/a.txt": "allow"}`, Judge{Autonomy: FullAuto}, "/home/u/a.txt", permissions.Allow},
		{"a grant", `"$always": [{"tool": "sandbox_read", "pattern": "/home/u/a.txt", "risk": "UNKNOWN"}]`, Judge{}, "/home/u/a.txt", permissions.Allow},
		{"a grant for everything", `"$always": [{"tool": "*", "pattern": "*", "risk": "UNKNOWN"}]`, Judge{}, "/home/u/a.txt", permissions.Ask},
	} {
		c.judge.Policy, c.judge.Now = policy(t, "{"+c.rules+"}"), time.Now()
		if v := c.judge.Judge(call(tools.KindSandboxRead, c.path)); v.Action != c.want {
			t.Errorf("%s: %v: %s", c.name, v.Action, v.Reason)
		}
	}
	j := Judge{Policy: policy(t, `{"write_file": {"~/kept/**": "deny"}}`), Now: time.Now()}
	if v := j.Judge(call(tools.KindSandboxWrite, "/home/u/kept/a")); v.Action != permissions.Deny {
		t.Errorf("a denial of writing: %v", v.Action)
	}
	if v := j.Judge(call(tools.KindSandboxWrite, "/home/u/.bashrc")); v.Action != permissions.Ask || len(v.Marks) == 0 {
		t.Errorf("what a shell runs: %v %v", v.Action, v.Marks)
	}
}
