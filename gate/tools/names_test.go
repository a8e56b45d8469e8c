package tools

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callgate/internal/jsonx"
	"callgate/permissions"
)

// The principle as a table: a pattern that names the operation allows it, hidden effects included. A pattern that stops
// short covers what is harmless. Only "*" covers what comes from elsewhere.
func TestWhatAnAllowCovers(t *testing.T) {
	p := project(t, map[string]string{"a": "x", "x.py": "x", "cmd/x/main.go": "x", ".env": "x"})
	allow, ask, deny := permissions.Allow, permissions.Ask, permissions.Deny
	for _, c := range []struct {
		pattern, command string
		want             permissions.Action
	}{
		{"npm install *", "npm install lodash", allow}, {"npm *", "npm install lodash", ask}, {"npm *", "npm test", allow}, {"npm *", "npm run deploy", ask},
		{"npm {install,add} *", "npm install lodash", allow}, {"npm @(install|add) *", "npm add lodash", allow}, {"npm i[a-z]* *", "npm install lodash", ask},
		{"*install*", "npm install lodash", ask}, {"!rm *", "npm install lodash", ask}, {"npm install lodash", "npm install lodash", allow},
		{"git push *", "git push origin main", allow}, {"git *", "git push origin main", ask}, {"git *", "git status", allow}, {"git *", "git commit -m x", allow},
		{"git *", "git fetch", allow}, {"git *", "git reset --hard", ask}, {"git reset *", "git reset --hard", ask}, {"git reset --hard *", "git reset --hard", allow}, {"git checkout *", "git checkout -- .", ask},
		{"git checkout -- . *", "git checkout -- .", allow}, {"git push *", "git push origin +main", ask}, {"git push origin +*", "git push origin +main", ask},
		{"aws s3 rm *", "aws s3 rm s3://b/k", allow}, {"aws s3 *", "aws s3 rm s3://b/k", ask}, {"aws *", "aws s3 ls", allow},
		{"docker compose up *", "docker compose up -d", allow}, {"docker compose *", "docker compose up -d", ask}, {"docker compose *", "docker compose ps", allow},
		{"docker run *", "docker run alpine ls", allow}, {"kubectl delete *", "kubectl delete pod x", allow}, {"kubectl *", "kubectl delete pod x", ask},
		{"python3 -c *", "python3 -c 'print(1)'", allow}, {"python3 *", "python3 -c 'print(1)'", ask}, {"python3 *", "python3 x.py", ask},
		{"python3 x.py *", "python3 x.py a", allow}, {"python3", "python3 <<< 'print(1)'", allow}, {"python3 *", "python3 <<< 'print(1)'", ask},
		{"node -e *", "node -e '1'", allow}, {"go run *", "go run ./cmd/x", allow}, {"go run *", "go run example.com/x@latest", allow}, {"go *", "go run ./cmd/x", ask},
		{"go *", "go test ./...", allow}, {"npx *", "npx some-tool", ask}, {"npx some-tool *", "npx some-tool x", allow}, {"terraform *", "terraform apply", ask},
		{"awk *", `awk 'BEGIN{system("id")}'`, ask}, {"rm *", "rm -rf a", allow}, {"ssh *", "ssh host ls", ask}, {"ssh host *", "ssh host make deploy", allow},
		{"make deploy *", "ssh host make deploy", ask}, {"ssh host make deploy", "make deploy", ask},
		// What comes from elsewhere, and from words that the pattern does not spell.
		{"ls *", "LD_PRELOAD=./x.so ls", ask}, {"ls", "LD_PRELOAD=./x.so ls", ask}, {"git log *", "git -c core.pager=./x log", ask},
		{"rg *", "rg --pre ./x foo", ask}, {"rg --pre ./x *", "rg --pre ./x foo", allow}, {"git status *", "git -C /tmp status", ask}, {"ls *", "ls > ../x", ask},
		{"npm install *", "NODE_OPTIONS=--require=./x npm install lodash", ask},
		{"*", "npm install lodash", allow}, {"*", "LD_PRELOAD=./x.so ls", allow},
	} {
		pol := policy(t, `{ "read_file": "allow", "write_file": { "a": "allow" }, "shell_exec": { `+string(jsonx.Quote(c.pattern))+`: "allow" } }`)
		if got := verdict(pol, analyze(t, KindShell, p, "command", c.command)); got != c.want {
			t.Errorf("%q on %s: %v, want %v", c.pattern, c.command, got, c.want)
		}
	}
	for _, c := range []struct{ pattern, command string }{
		{"yarn", "yarn add x"}, {"yarn", "yarn"}, {"git push", "git push origin x"}, {"rm", "sudo -n rm -rf x"}, {"yarn", "timeout 5 yarn add x"},
		{"rm *", `python3 -c "import os; os.system('rm -rf x')"`}, {"shred *", `launchpad -c "cd x && shred f"`}, {"shred *", "lerna exec 'shred f'"},
		{"rm *", `$"rm" -rf x`}, {"rm *", "source /dev/stdin <<< 'rm -rf x'"},
	} {
		pol := policy(t, `{ "shell_exec": { "*": "allow", `+string(jsonx.Quote(c.pattern))+`: "deny" } }`)
		if got := verdict(pol, analyze(t, KindShell, p, "command", c.command)); got != deny {
			t.Errorf("a deny on %q, %s: %v", c.pattern, c.command, got)
		}
	}
}

// For each command, every pattern of its first words is tried. A pattern that does not reach the operation allows only
// what is harmless, a longer one never allows less, and one that names every effect allows the command.
func TestLongerPatternsNeverAllowLess(t *testing.T) {
	p := project(t, map[string]string{"a": "x"})
	programs := []string{"npm install", "npm run deploy", "npm test", "git push", "git reset --hard", "git status", "git clean -fdx", "git commit -m", "aws s3 rm", "aws s3 ls",
		"docker compose up", "docker compose ps", "kubectl delete", "kubectl get", "terraform apply", "terraform plan", "go run", "go test", "cargo install", "pip install",
		"gh pr create", "gh pr view", "gcloud compute instances", "make", "frob", "frob sub", "rm", "python3 -c", "node -e", "uv run pytest", "poetry run x", "helm uninstall", "npx", "deno run"}
	operands := []string{"", "a", "--force", "x y", "./a", "origin main", "-f a", "s3://b/k", "pod x", "--pre ./x"}
	rapid.Check(t, func(t *rapid.T) {
		command := strings.TrimSpace(rapid.SampledFrom(programs).Draw(t, "program") + " " + rapid.SampledFrom(operands).Draw(t, "operands"))
		a := Analyze(Call{Tool: KindTool(KindShell), Arguments: []byte(`{"command":` + string(jsonx.Quote(command)) + `}`), Place: p})
		if len(a.Marks) > 0 || len(a.Subjects) == 0 || a.Subjects[0].DeniesOnly {
			return
		}
		s := &a.Subjects[0]
		words := strings.Fields(s.Decides[0])
		before := false
		for n := 1; n <= len(words); n++ {
			pattern := permissions.QuoteGlob(strings.Join(words[:n], " ")) + " *"
			pol, err := permissions.NewPolicy(nil, []permissions.Rule{{Tool: KindShell, Pattern: pattern, Action: permissions.Allow}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			allowed := permissions.Evaluate(pol, permissions.Context{}, s).Action == permissions.Allow
			reach := len(strings.Join(words[:n], " "))
			named := reach >= s.Operation
			for _, e := range s.Effects {
				named = named && e.Named > 0 && reach >= e.Named
			}
			if allowed != (named || s.Harmless) {
				t.Fatalf("%q on %q: allowed %v; operation %d, effects %v, harmless %v, %s", pattern, command, allowed, s.Operation, s.Effects, s.Harmless, s.Risk)
			}
			if before && !allowed {
				t.Fatalf("%q allows %q no more", pattern, command)
			}
			before = allowed
		}
	})
}
