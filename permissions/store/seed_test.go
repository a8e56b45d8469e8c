package store

import (
	"strings"
	"testing"

	"callgate/permissions"
)

// TestDefaultsSayWhatTheDocumentationPromises checks the shipped rules on single paths and names.
// gate/testdata/day.jsonl has their answers to calls.
func TestDefaultsSayWhatTheDocumentationPromises(t *testing.T) {
	f, err := permissions.ParseFile("defaults.jsonc", defaults, "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	p, err := permissions.NewPolicy(nil, f.Rules, f.Grants)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Grants) != 0 {
		t.Errorf("the defaults grant %v", f.Grants)
	}
	every := []string{"read_file", "write_file", "edit_file", "move_file", "delete_file"}
	writing := []string{"write_file", "edit_file", "move_file"}
	const dotenv = `w/.envrc
w/.env
w/.env.local
w/.env.production
w/web/.env
w/node_modules/x/.env`
	for _, c := range []struct {
		kinds  []string
		values string // separated by line breaks; "w/" stands for the workspace
		want   permissions.Action
	}{
		{[]string{"read_file", "glob", "grep"}, "w/main.go\nw/a/b.md", permissions.Allow},
		{writing, "w/main.go\nw/a/b.md", permissions.Allow},
		{[]string{"delete_file"}, "w/main.go", permissions.Ask},
		{[]string{"read_file"}, `w/src/secretary.go
w/internal/credentials/store.go
w/secrets/manager.ts
w/src/env.ts
w/environment.py
w/token.go
w/password_reset.html
w/keys.go
w/testdata/server.key
w/tls/testdata/ca-key.pem
w/.env.example
w/.env.local.sample
w/example.env
/home/u/go/pkg/mod/golang.org/x/net@v0.1.0/http2/server.go
/usr/local/go/src/net/http/server.go
/usr/lib/go-1.26/src/fmt/print.go
/home/u/.cargo/registry/src/index/serde-1.0/src/lib.rs
/home/u/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/fs.rs
/usr/lib/python3/dist-packages/requests/api.py
/usr/include/stdio.h
/usr/share/doc/git/README
/etc/os-release
/tmp/test.log
/home/u/.ssh/id_ed25519.pub
/home/u/.ssh/known_hosts`, permissions.Allow},
		{[]string{"read_file", "write_file", "glob", "grep"}, `/home/u/other/main.go
/home/u/notes.txt
/etc/passwd
/home/v/x
/tmp/someone/x
/srv/data`, permissions.Ask},
		{every, `/home/u/.ssh/id_rsa
/home/u/.ssh/config
/root/.ssh/id_rsa
/home/v/.aws/credentials
/Users/v/.kube/config
/home/u/.gnupg/private-keys-v1.d/x.key
/home/u/.aws/credentials
/home/u/.azure/accessTokens.json
/home/u/.config/gcloud/credentials.db
/home/u/.kube/config
/home/u/.docker/config.json
/home/u/.config/gh/hosts.yml
/home/u/.netrc
/home/u/.npmrc
/home/u/.pypirc
/home/u/.git-credentials
/home/u/.vault-token
/home/u/.password-store/mail.gpg
/home/u/.local/share/keyrings/login.keyring
/home/u/.mozilla/firefox/x.default/logins.json
/home/u/.config/google-chrome/Default/Login Data
/home/u/Library/Application Support/Google/Chrome/Default/Cookies
/home/u/.bitcoin/wallet.dat
/home/u/.bash_history
/home/u/.zsh_history
/home/u/.claude.json
/home/u/.codex/auth.json
/etc/shadow
/etc/sudoers
/etc/sudoers.d/x
/etc/ssh/ssh_host_rsa_key
w/id_rsa
w/deploy/id_ed25519
w/server.key
w/prod.pem
w/release.p12
w/terraform.tfstate
w/infra/terraform.tfstate.backup
w/prod.env
/home/u/.env
/home/u/other/.env.local`, permissions.Deny},
		{[]string{"read_file", "move_file", "delete_file"}, dotenv, permissions.Deny},
		{[]string{"write_file", "edit_file"}, dotenv, permissions.Confirm},
		{writing, `w/.github/workflows/ci.yml
w/.gitlab-ci.yml
w/.husky/pre-commit
w/.pre-commit-config.yaml
w/.vscode/settings.json
w/.claude/settings.json
w/.mcp.json
w/vendor/github.com/x/y.go
w/.venv/bin/activate
w/node_modules/left-pad/index.js
w/.gitattributes
w/.gitmodules
w/.git/config`, permissions.Confirm},
		{[]string{"write_file"}, "w/.env.example", permissions.Allow},
		{[]string{"skill", "web_fetch", "sampling"}, "x", permissions.Ask},
		{[]string{"resource_read", "prompt_get"}, "x", permissions.Allow},
	} {
		for _, kind := range c.kinds {
			for value := range strings.SplitSeq(c.values, "\n") {
				form := permissions.Form{value}
				if rel, ok := strings.CutPrefix(value, "w/"); ok {
					form = permissions.Form{"/srv/app/" + rel, rel, "$WORKSPACE/" + rel}
				} else if rel, ok := strings.CutPrefix(value, "/home/u/"); ok {
					form = append(form, "~/"+rel)
				}
				s := permissions.Subject{Tool: "server_tool", Kind: kind, KindBound: true, Decides: form, Risk: permissions.Write}
				if f := permissions.Evaluate(p, permissions.Context{}, &s); f.Action != c.want {
					t.Errorf("%s %s = %v by %v, want %v", kind, value, f.Action, f.Rule, c.want)
				}
			}
		}
	}
	for risk, want := range map[permissions.Risk]permissions.Action{permissions.ReadOnly: permissions.Allow, permissions.Write: permissions.Ask, permissions.Network: permissions.Ask, permissions.Unknown: permissions.Ask, permissions.Destructive: permissions.Ask} {
		s := permissions.Subject{Tool: "github_x", Risk: risk}
		if f := permissions.Evaluate(p, permissions.Context{}, &s); f.Action != want {
			t.Errorf("a tool without kind of risk %v: %v, want %v", risk, f.Action, want)
		}
	}
}

// TestTheDefaultsWithoutAHome checks that a user without a home still gets rules that parse.
func TestTheDefaultsWithoutAHome(t *testing.T) {
	f, err := permissions.ParseFile("defaults.jsonc", Seed(""), "")
	if err != nil || len(f.Rules) < 80 {
		t.Errorf("%v, %d rules", err, len(f.Rules))
	}
}
