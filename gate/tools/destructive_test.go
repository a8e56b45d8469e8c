package tools

import (
	"os"
	"strings"
	"testing"

	"callgate/gate/tools/internal/commands"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// TestNamesOfPrograms checks that programs that lose something are in the table by their plain names.
func TestNamesOfPrograms(t *testing.T) {
	for c := range programs.All {
		if len(c.Destroys) > 0 && commands.PlainName(c.Name) != c.Name {
			t.Errorf("%q is never the plain name of a program", c.Name)
		}
	}
}

// TestRisksOfPrograms checks the risk of whole command lines against testdata/risks.txt, whose lines are a class and
// then a command line.
func TestRisksOfPrograms(t *testing.T) {
	text, err := os.ReadFile("testdata/risks.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := project(t, map[string]string{"src/a.go": "x"})
	p.Home = t.TempDir()
	for n, line := range strings.Split(string(text), "\n") {
		class, command, ok := strings.Cut(line, " ")
		if !ok || class == "#" {
			continue
		}
		not := strings.HasPrefix(class, "!")
		var want permissions.Risk
		if err := want.UnmarshalText([]byte(strings.TrimPrefix(class, "!"))); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		got := worstRisk(t, command, p)
		if (got == want) == not {
			t.Errorf("line %d: %s is %v, want %s", n+1, command, got, class)
		}
	}
}

// TestActsAreNamed checks that a rule for a program alone does not cover what one of its subcommands destroys.
func TestActsAreNamed(t *testing.T) {
	p := project(t, nil)
	p.Home = t.TempDir()
	for command, want := range map[string]string{
		"kind delete cluster":        "kind delete",
		"kind get clusters":          "",
		"redis-cli -h x flushdb":     "redis-cli -h x flushdb",
		"redis-cli get key":          "",
		"k3d cluster delete -a":      "k3d cluster delete",
		"mkfs.ext4 /dev/sdz1":        "",
		"rm -r build":                "",
		"minikube -p x delete --all": "minikube -p x delete",
	} {
		var got string
		a := analyzeCommand(t, command, p)
		for _, e := range a.Subjects[0].Effects {
			if e.Named > 0 && a.Subjects[0].Risk == permissions.Destructive {
				got = a.Subjects[0].Value[:e.Named]
			}
		}
		if got != want {
			t.Errorf("%s: destroys from %q on, want %q", command, got, want)
		}
	}
}

// worstRisk returns the worst class among the commands of a line that need an allow.
func worstRisk(t testing.TB, command string, p Place) permissions.Risk {
	a := analyzeCommand(t, command, p)
	worst := permissions.ReadOnly
	for i := range a.Subjects {
		if s := &a.Subjects[i]; !s.DeniesOnly {
			worst = worst.Worse(s.Risk)
		}
	}
	return worst
}

func TestUngatedAgents(t *testing.T) {
	p := project(t, nil)
	for _, command := range []string{
		"claude --dangerously-skip-permissions -p x", "claude -p x --permission-mode bypassPermissions", "claude --permission-mode=bypassPermissions",
		"codex exec --full-auto x", "codex --dangerously-bypass-approvals-and-sandbox x", "codex exec -s danger-full-access x", "codex --yolo", "codex exec -c approval_policy=never --sandbox=danger-full-access x",
		"gemini --yolo -p x", "gemini -y -p x", "gemini --approval-mode=yolo -p x", "gemini --approval-mode yolo x", "q chat --trust-all-tools x", "aider --yes-always --message x", "aider --yes -m x",
		"cursor-agent -p --force x", "copilot -p x --allow-all-tools", "amp --dangerously-allow-all", "qwen --yolo x", "crush run --yolo x", "droid exec --skip-permissions-unsafe x", "droid exec --auto high x",
		"npx @anthropic-ai/claude-code --dangerously-skip-permissions", "npx -y @openai/codex@latest exec --full-auto x", "GOOSE_MODE=auto goose run -t x", "frobnicate --dangerously-skip-permissions x",
		"sh -c 'claude --dangerously-skip-permissions -p x'", "nohup claude --dangerously-skip-permissions -p x",
	} {
		a := analyzeCommand(t, command, p)
		marked := false
		for _, m := range a.Marks {
			marked = marked || m.Code == "ungated-agent"
		}
		if !marked {
			t.Errorf("%s: no mark, %v", command, a.Marks)
		}
	}
	for _, command := range []string{"claude --version", "npm test -- --force", "rm -f x", "git push --force", "npx -y prettier --check ."} {
		a := analyzeCommand(t, command, p)
		for _, m := range a.Marks {
			if m.Code == "ungated-agent" {
				t.Errorf("%s: %s", command, m.Text)
			}
		}
	}
}

func BenchmarkDestroys(b *testing.B) {
	s := shellparse.Parse("kubectl get pods -n prod | grep api && git status", shellparse.Options{Dir: "/w"})
	for b.Loop() {
		for i := range s.Commands {
			commands.Destroys(&s.Commands[i])
		}
	}
}

// analyzeCommand analyzes a call of a shell tool.
func analyzeCommand(t testing.TB, command string, p Place) *Analysis {
	tool := Describe(Server{Name: "sh", Packages: []string{"mcp-server-commands"}}, "run_command", "sh_run_command", nil)
	return Analyze(Call{Tool: tool, Arguments: object(t, "command", command), Place: p})
}

// TestHiddenCommandsAreDenied checks that a denied command is denied, and not asked about, wherever it hides. The lines
// of testdata/hidden.txt spell a line end as \n.
func TestHiddenCommandsAreDenied(t *testing.T) {
	text, err := os.ReadFile("testdata/hidden.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := project(t, nil)
	pol := policy(t, `{ "*": "allow", "shell_exec": { "*": "allow", "rm *": "deny", "shred *": "deny" } }`)
	for line := range strings.Lines(string(text)) {
		command := strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n")
		if strings.HasPrefix(command, "# ") || command == "" {
			continue
		}
		if got := verdict(pol, analyzeCommand(t, command, p)); got != permissions.Deny {
			t.Errorf("%s: %v", command, got)
		}
	}
	for _, command := range []string{
		`git commit -m "rm x; y"`, `echo "rm x"`, `rg "rm x" src`, `frob --format "a b"`, "npm test", `frob "the rm command"`, `python3 a.py`, "cat <<'E'\nrm x\nE\n", `node -e 'console.log("remove rm")'`,
	} {
		if got := verdict(pol, analyzeCommand(t, command, p)); got == permissions.Deny {
			t.Errorf("%s is denied", command)
		}
	}
}
