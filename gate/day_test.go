package gate

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/permissions/store"
)

// dayCase is one line of testdata/day.jsonl: a call of a day's work in six languages, and what a person who answers the
// questions would want the shipped rules to do.
type dayCase struct {
	Language  string         `json:"language"`
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
	Want      string         `json:"want"`
	Why       string         `json:"why,omitzero"`
}

// The shipped rules ask only where they must. Nothing that must ask runs, and no credential store is opened.
func TestADayOfWork(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the day was spent in a POSIX shell")
	}
	home := filepath.Join(t.TempDir(), "home")
	app := filepath.Join(home, "src", "app")
	files := map[string]string{
		".git/HEAD": "ref: refs/heads/main", ".gitignore": "build\nnode_modules\n.env\n*.key\n*.tfstate\n", ".env": "S=1",
		"web/.env.local": "S", "package.json": `{"scripts":{"test":"jest"}}`, "Makefile": "test:\n", "go.mod": "module x",
		"data.csv": "a", "terraform.tfstate": "{}", "server.key": "k", "testdata/server.key": "k", "app.db": "",
		"db.sqlite": "", "tsconfig.json": "{}", "node_modules/react/package.json": "{}",
	}
	for name := range strings.FieldsSeq(`
		../../.aws/credentials ../../.bash_history ../../.kube/config ../../.netrc ../../.npmrc ../../.ssh/id_ed25519
		../../.ssh/id_rsa ../../.venv/bin/pytest ../../other/.venv/bin/activate ../../other/main.go
		../../other/node_modules/.bin/tsc ../../other/notes.txt .env.example .envrc .venv/Scripts/activate
		.venv/Scripts/alembic.exe .venv/Scripts/pip.exe .venv/Scripts/python.exe .venv/bin/activate .venv/bin/mypy
		.venv/bin/pip .venv/bin/pytest .venv/bin/python .venv/bin/ruff CHANGELOG.md README.md api/.venv/bin/pytest
		backend/.venv/bin/activate backend/.venv/bin/pip backend/.venv/bin/pytest backend/.venv/bin/python bin/rspec
		build.log build/demo chart/Chart.yaml cover.out docs/design.md e2e/a.ts frontend/node_modules/.bin/tsc gradlew
		gradlew.bat internal/credentials/store.go internal/store/store.go k8s/deploy.yaml mvnw names.txt
		node_modules/.bin/astro node_modules/.bin/depcheck node_modules/.bin/eslint node_modules/.bin/hardhat
		node_modules/.bin/jest node_modules/.bin/knip node_modules/.bin/nest node_modules/.bin/next node_modules/.bin/ng
		node_modules/.bin/nx node_modules/.bin/playwright node_modules/.bin/prettier node_modules/.bin/prisma
		node_modules/.bin/svelte-check node_modules/.bin/tsc node_modules/.bin/turbo node_modules/.bin/vite
		node_modules/.bin/vitest pom.xml requirements.txt scripts/deploy.sh scripts/release.sh scripts/seed.js
		scripts/seed.py spec/a_spec.rb src/a.c src/app/models.py src/b.c src/main.c src/main/java/A.java src/util/x.c
		target/debug/x tests/t.py vendor/bin/php-cs-fixer vendor/bin/phpcs vendor/bin/phpstan vendor/bin/phpunit
		vendor/bin/pint vendor/bin/psalm venv/Scripts/activate venv/Scripts/pip.exe venv/Scripts/pytest.exe
		venv/Scripts/python.exe venv/bin/pytest venv/bin/python
	`) {
		files[name] = "x"
	}
	for path, text := range files {
		path = filepath.Join(app, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"e2e/outlink": "../../../other", "e2e/inlink": "../src"} {
		if err := os.Symlink(to, filepath.Join(app, link)); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := store.Open(filepath.Join(t.TempDir(), "permissions.jsonc"), store.Options{Home: home}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	judge := Judge{Policy: policy, Now: time.Now()}
	f, err := os.Open("testdata/day.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c dayCase
		if err := json.Unmarshal(lines.Bytes(), &c, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		calls[c.Want]++
		v := judge.Judge(Call{ID: "day", Tool: tools.KindTool(c.Tool), Arguments: c.Arguments, Place: tools.Place{Dir: app, Roots: []string{app}, Home: home}})
		switch got := v.Action.String(); {
		case got == c.Want:
		case c.Want == "ask" && got == "deny":
		default:
			t.Errorf("%s %s: %s, want %s (%s): %s", c.Tool, c.Arguments, got, c.Want, c.Why, v.Reason)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if calls["allow"] < 300 || calls["ask"] < 50 || calls["deny"] < 20 {
		t.Errorf("the day has %v calls", calls)
	}
}
