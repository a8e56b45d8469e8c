package gate

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools"
	"callgate/permissions/store"
)

// dayCase is one line of testdata/day.jsonl: a call of a day's work in six languages, and what a person who has to
// answer the questions would want the shipped rules to do.
type dayCase struct {
	Language  string         `json:"language"`
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
	Want      string         `json:"want"`
	Why       string         `json:"why,omitzero"`
}

// The shipped rules ask about nothing that need not ask; nothing that has to ask runs, and no credential is opened.
func TestADayOfWork(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the day was spent in a POSIX shell")
	}
	home := filepath.Join(t.TempDir(), "home")
	app := filepath.Join(home, "src", "app")
	for path, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main", ".gitignore": "build\nnode_modules\n.env\n*.key\n*.tfstate\n", ".env": "S=1", "web/.env.local": "S", ".envrc": "x",
		"package.json": `{"scripts":{"test":"jest"}}`, "Makefile": "test:\n", "go.mod": "module x", "README.md": "x", "data.csv": "a", "names.txt": "x",
		"src/main.c": "x", "src/a.c": "x", "src/b.c": "x", "src/app/models.py": "x", "src/util/x.c": "x", "src/main/java/A.java": "x", "tests/t.py": "x",
		"internal/store/store.go": "x", "internal/credentials/store.go": "x", "docs/design.md": "x", "build/demo": "x", "build.log": "x", "e2e/a.ts": "x",
		"terraform.tfstate": "{}", "server.key": "k", "testdata/server.key": "k", "requirements.txt": "x", "CHANGELOG.md": "x", "cover.out": "x", ".env.example": "x",
		"scripts/deploy.sh": "x", "scripts/release.sh": "x", "scripts/seed.js": "x", "scripts/seed.py": "x", ".venv/bin/pytest": "x", ".venv/bin/python": "x", ".venv/bin/activate": "x", ".venv/bin/ruff": "x", ".venv/bin/mypy": "x", ".venv/bin/pip": "x",
		"venv/bin/pytest": "x", "venv/bin/python": "x", "vendor/bin/phpunit": "x", "vendor/bin/phpstan": "x", "vendor/bin/pint": "x", "vendor/bin/phpcs": "x",
		"vendor/bin/psalm": "x", "vendor/bin/php-cs-fixer": "x", "app.db": "", "db.sqlite": "", "node_modules/.bin/nx": "x", "gradlew": "x", "mvnw": "x", "target/debug/x": "x",
		"node_modules/.bin/tsc": "x", "node_modules/.bin/jest": "x", "node_modules/.bin/eslint": "x", "node_modules/.bin/prettier": "x",
		"node_modules/.bin/vitest": "x", "node_modules/.bin/turbo": "x", "node_modules/.bin/next": "x", "node_modules/.bin/svelte-check": "x",
		"node_modules/.bin/knip": "x", "node_modules/.bin/vite": "x", "node_modules/.bin/astro": "x", "node_modules/.bin/hardhat": "x", "node_modules/.bin/nest": "x",
		".venv/Scripts/python.exe": "x", ".venv/Scripts/pip.exe": "x", ".venv/Scripts/alembic.exe": "x", ".venv/Scripts/activate": "x", "gradlew.bat": "x",
		"api/.venv/bin/pytest": "x", "../../.venv/bin/pytest": "x", "node_modules/.bin/depcheck": "x", "node_modules/.bin/prisma": "x", "bin/rspec": "x", "chart/Chart.yaml": "x", "k8s/deploy.yaml": "x",
		"pom.xml": "x", "tsconfig.json": "{}", "spec/a_spec.rb": "x", "node_modules/.bin/playwright": "x", "node_modules/react/package.json": "{}",
		"node_modules/.bin/vite": "x", "node_modules/.bin/ng": "x", "frontend/node_modules/.bin/tsc": "x", "backend/.venv/bin/pytest": "x", "backend/.venv/bin/python": "x",
		"backend/.venv/bin/activate": "x", "venv/Scripts/python.exe": "x", "venv/Scripts/pytest.exe": "x", "venv/Scripts/pip.exe": "x", "venv/Scripts/activate": "x", "backend/.venv/bin/pip": "x", "../../other/node_modules/.bin/tsc": "x", "../../other/.venv/bin/activate": "x",
		"../../.ssh/id_rsa": "x", "../../.ssh/id_ed25519": "x", "../../.aws/credentials": "x", "../../.netrc": "x", "../../.npmrc": "x", "../../.kube/config": "x",
		"../../.bash_history": "x", "../../other/notes.txt": "x", "../../other/main.go": "x",
	} {
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
