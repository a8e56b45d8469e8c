package companion

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/companion/client"
	"callgate/internal/companion/wire"
	"callgate/internal/hooks"
	"callgate/internal/testserver/built"
	"callgate/permissions"
	"callgate/permissions/lint"
)

// The tests of the page need node and "npm ci" in web/; those in web/test/browser also need chromium. Without these
// they are skipped, unless CALLGATE_REQUIRE_BROWSER=1. With CALLGATE_SCREENSHOTS=1 they take the pictures in
// docs/images again.

const webTests = "web/test"

// requireNode skips the test, or fails it if required, when node or the packages are missing.
func requireNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		missing(t, "this test needs node: %v", err)
	}
	if _, err := os.Stat("web/node_modules/playwright-core"); err != nil {
		missing(t, "this test needs npm ci in internal/companion/web: %v", err)
	}
}

// requireBrowser returns the path of Chromium, preferably the headless shell, which takes half the time.
func requireBrowser(t *testing.T) string {
	t.Helper()
	return requireOneOf(t, "chromium-headless-shell", "chromium")
}

// requireOneOf returns the path of the first of these browsers that is installed.
func requireOneOf(t *testing.T, names ...string) string {
	t.Helper()
	requireNode(t)
	if name := os.Getenv("CHROMIUM"); name != "" {
		names = []string{name}
	}
	var err error
	for _, name := range names {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "this test needs chromium (apt-get install chromium, or CHROMIUM=path): %v", err)
	return ""
}

func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CALLGATE_REQUIRE_BROWSER") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// runScripts runs test scripts and turns each test that they report into a subtest.
func runScripts(t *testing.T, path string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=./"+webTests+"/report.mjs", webTests+"/"+path)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	ran := 0
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var result struct {
			Name  string `json:"name"`
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		if json.Unmarshal(lines.Bytes(), &result) != nil {
			t.Logf("%s", lines.Text())
			continue
		}
		ran++
		t.Run(result.Name, func(t *testing.T) {
			if !result.OK {
				t.Error(result.Error)
			}
		})
	}
	if err != nil || ran == 0 {
		t.Errorf("%s: %d tests ran, %v\n%s", path, ran, err, &stderr)
	}
}

// pagesOf returns the environment variable with the URL at which scripts get addresses of the page. They ask when they
// need one, because an address pairs only for a minute.
func pagesOf(t *testing.T, r *rig) string {
	t.Helper()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		address, err := client.PageURL(t.Context(), client.Target{DataDir: r.dir, Client: wire.ClientInfo{Name: "alice"}})
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, address)
	}))
	t.Cleanup(pages.Close)
	return "PAGES=" + pages.URL
}

// TestPageSources checks types, builds the page, compares it with the committed build, and runs the tests that need no
// browser.
func TestPageSources(t *testing.T) {
	t.Parallel()
	requireNode(t)
	for _, args := range [][]string{{"node_modules/typescript/bin/tsc", "--noEmit"}, {"build.mjs", "--check"}} {
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = "web"
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, output)
		}
	}
	runScripts(t, "unit/")
}

// TestPageWithCallgate plays the stories of web/test/browser against the real program.
func TestPageWithCallgate(t *testing.T) {
	t.Parallel()
	chromium := requireBrowser(t)
	bin := t.TempDir()
	if err := built.Programs(bin, "callgate/cmd/callgate", "callgate/examples/demo", "callgate/internal/testserver/awkward"); err != nil {
		t.Fatal(err)
	}
	demo := filepath.Join(bin, "callgate-demo") // callgate knows the demo by this name
	if err := os.Rename(filepath.Join(bin, "demo"), demo); err != nil {
		t.Fatal(err)
	}
	for _, stories := range []string{"browser/page.test.mjs", "browser/sections.test.mjs", "browser/passkeys.test.mjs", "browser/push.test.mjs"} {
		t.Run(filepath.Base(stories), func(t *testing.T) {
			t.Parallel()
			chromium := chromium
			if stories == "browser/push.test.mjs" { // the headless shell keeps no notifications
				chromium = requireOneOf(t, "chromium")
			}
			runScripts(t, stories, "CALLGATE="+filepath.Join(bin, "callgate"), "DEMO="+demo, "AWKWARD="+filepath.Join(bin, "awkward"), "CHROMIUM="+chromium)
		})
	}
}

// evil returns what a model or an upstream may put into any string. The field's name makes it recognizable.
func evil(field string) string {
	return field + `"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script><style>*{display:none}</style>` +
		"&lt;javascript:window.pwned=1 ${7*7} \u202Etxt.exe\u2066\u200b\u00ad\x1b[31m\ufeff"
}

// TestPageWithHostileStrings puts such a string into every field that comes from outside.
func TestPageWithHostileStrings(t *testing.T) {
	t.Parallel()
	chromium := requireBrowser(t)
	b := newFakeBackend(evil("session"))
	b.sessions[0].Client = gate.Client{Name: evil("client"), Version: evil("version")}
	b.sessions[0].Agent, b.sessions[0].Worker = evil("agent"), evil("worker")
	b.sessions[0].Agents = append(b.sessions[0].Agents, gate.AgentInfo{
		ID: evil("member"), Role: evil("role"), Goal: evil("goal"), Domain: evil("domain"), Provider: evil("provider"), Model: evil("model"),
		Roles: []gate.AgentRole{{Name: evil("rolename"), Goal: evil("rolegoal"), Domain: evil("roledomain")}}, Status: "idle",
	})
	b.records = []audit.Record{{
		Seq: 1, Time: time.Now(), Event: audit.Decision, CallID: evil("call"), SessionID: evil("session"), Worker: evil("worker"),
		Agent: evil("agent"), Server: evil("server"), Tool: evil("tool"), Kind: evil("kind"), Decision: "denied", Risk: "WRITE", By: evil("by"),
		Rule: evil("rule"), Reason: evil("reason"), Summary: evil("record"), Digest: evil("digest"), Error: evil("error"), Hash: evil("hash"), Prev: evil("prev"),
		Subjects: []audit.Subject{{Tool: evil("subjecttool"), Value: evil("value"), Action: "deny", Rule: evil("subjectrule"), Risk: evil("risk")}},
	}}
	a := approval(evil("id"))
	a.SessionID, a.Worker, a.Agent, a.Server, a.Tool, a.Kind = evil("session"), evil("worker"), evil("agent"), evil("server"), evil("tool"), evil("kind")
	a.CreatedAt, a.ExpiresAt = time.Now(), time.Now().Add(10*time.Minute)
	arguments, err := json.Marshal(map[string]any{evil("name"): []any{evil("item"), map[string]string{evil("inner"): "two\nlines " + evil("lines")}}, "command": evil("script")})
	if err != nil {
		t.Fatal(err)
	}
	a.Arguments, a.Reason = arguments, evil("reason")
	a.Analysis = &tools.Analysis{
		Risk: permissions.Write, Category: evil("category"), Summary: evil("summary"),
		Commands: []tools.CommandView{{Argv: []string{evil("argv")}, Via: []string{evil("via")}, Reads: []string{evil("reads")}, Writes: []string{evil("writes")}, Risk: permissions.Write}},
	}
	a.Marks = []tools.Mark{{Code: evil("code"), Text: evil("mark")}}
	a.Reasons = []gate.Reason{{Subject: evil("subject"), Rule: evil("because"), Layer: permissions.Layer(evil("layer"))}}
	a.Offers = []tools.Offer{{Tool: evil("offertool"), Pattern: evil("pattern"), Risk: permissions.Write, Default: true, NewlyAllows: &tools.Widening{Count: 2, Examples: []string{evil("example")}}}}
	definition, err := json.Marshal(map[string]string{"description": evil("definition")})
	if err != nil {
		t.Fatal(err)
	}
	a.Redefined = &gate.Redefinition{New: definition, Why: "changed"}
	came, err := json.Marshal(map[string]string{"came": evil("original")})
	if err != nil {
		t.Fatal(err)
	}
	a.Says, a.Rewrite = evil("says"), &gate.Rewrite{By: evil("rewriter"), Original: came}
	edit := *a
	edit.ID, edit.Kind = evil("edit"), tools.KindEditFile
	b.pending = []*gate.Approval{a, &edit}
	r := start(t, b)
	r.options.Backend.Changes, r.options.Backend.Rules, r.options.Backend.Tools = hostile{}, hostile{}, hostile{}
	r.options.Backend.Hooks, r.options.Backend.Checkpoints = hostile{}, hostile{}
	r.options.Replicas = func() []wire.ReplicaInfo {
		return []wire.ReplicaInfo{{Name: evil("replica"), Version: evil("replicaversion"), State: evil("replicastate"), Rules: 7}, {Name: "gate-1", State: "up", Rules: 8}}
	}
	r.options.Problems = func() []string { return []string{evil("trouble")} }
	// The script sets an autonomy level once it has seen everything that waits. Then somebody else ends it.
	events := b.Subscribe()
	defer events.Close()
	go func() {
		for event := range events.Events {
			if _, ok := event.(gate.AutonomyChanged); ok {
				b.publish(gate.Resolved{SessionID: a.SessionID, ID: a.ID, Decision: "reject", By: evil("resolver"), Reason: evil("feedback")})
			}
		}
	}()
	runScripts(t, "browser/hostile.test.mjs", pagesOf(t, r), "CHROMIUM="+chromium)
}

// hostile has such a string in every field of rules, tools and files.
type hostile struct{ *fakeRules }

func (hostile) Worker() string { return evil("worker") }

func (hostile) Rules() (RulesView, error) {
	return RulesView{
		Worker: evil("worker"), File: evil("path"), Text: evil("text"),
		Layers: []RuleLayer{
			{Layer: permissions.LayerFile, Name: evil("layerfile"), Rules: []RuleView{{Place: evil("place"), Tool: evil("ruletool"), Pattern: evil("rulepattern"), Action: "allow"}}},
			{Layer: permissions.LayerAgent, Name: evil("agentlayer"), Rules: []RuleView{}},
		},
		RulesCheck: RulesCheck{Problems: []lint.Problem{{
			Check: evil("check"), Severity: lint.Warning, Source: evil("source"), Rule: evil("problem"), Why: evil("problemwhy"), Cure: evil("problemcure"),
		}}},
	}, nil
}

func (hostile) Grants() ([]GrantView, error) {
	return []GrantView{{
		ID: "g", Worker: evil("worker"), Layer: permissions.LayerSession, SessionID: evil("grantsession"), Tool: evil("granttool"), Pattern: evil("grantpattern"), Risk: "WRITE",
		Server: evil("grantserver"), Workspace: evil("grantworkspace"), By: evil("grantby"),
	}}, nil
}

func (hostile) Tools(string) (wire.ToolsView, error) {
	tool := wire.ToolView{
		Tool: evil("toolname"), Name: evil("name"), Description: evil("tooldescription"), Kind: evil("toolkind"), Why: evil("toolwhy"),
		Subjects: map[string]string{evil("toolargument"): evil("toolrole")}, Verdict: "ask", Rule: evil("toolrule"), Hash: "h",
		DefinitionChanged: &wire.Redefinition{Old: evil("olddefinition"), New: evil("newdefinition"), Why: evil("definitionwhy")},
	}
	return wire.ToolsView{SessionID: evil("session"), Servers: []wire.ServerView{{UpstreamState: wire.UpstreamState{Name: evil("upstream"), State: wire.UpstreamDown, Error: evil("downwhy"), Guard: evil("guard")}, Offered: []wire.ToolView{tool}}}}, nil
}

func (hostile) AcceptTool(_, _, _ string, _ audit.Author) error { return ErrNoTool }

func (hostile) Changes(string) ([]tools.FileChange, error) {
	return []tools.FileChange{{Path: evil("diskpath"), State: tools.ChangeEdited, Before: evil("diskbefore"), After: evil("diskafter"), Why: evil("diskremark")}}, nil
}

func (hostile) Hooks() []hooks.Status {
	return []hooks.Status{{
		Name: evil("hookname"), Event: []string{evil("hookevent")}, Matcher: evil("matcher"), Action: evil("action"), When: evil("when"), Enabled: true, Runs: 1, Failures: 1,
		LastFailure: &hooks.Failure{At: time.Now(), Event: evil("failedevent"), Error: evil("failure")},
	}}
}

func (hostile) SetHook(string, bool, audit.Author) error { return hooks.ErrUnknown }

func (hostile) Checkpoints(string, int) ([]CheckpointView, error) {
	return []CheckpointView{
		{ID: evil("checkpoint"), Tool: evil("checkpointtool"), SessionID: evil("session"), Workspace: "/w", CreatedAt: time.Now(), Ended: true, Notes: []string{evil("note")}, Files: []CheckpointFile{
			{Path: "/w/" + evil("file"), State: "file", Change: evil("change"), Why: evil("filewhy")},
		}},
		{ID: "ck_2", Tool: evil("restorer"), SessionID: evil("othersession"), CreatedAt: time.Now().Add(-time.Hour), Restores: "ck_1", Files: []CheckpointFile{}},
	}, nil
}

func (hostile) CheckpointDiff(context.Context, string, []string) ([]checkpoint.FileDiff, error) {
	return []checkpoint.FileDiff{{Path: evil("diffpath"), What: evil("what"), Diff: "--- kept\n+++ now\n@@ -1,1 +1,1 @@\n-" + evil("kept") + "\n+" + evil("now") + "\n"}}, nil
}

func (hostile) RestoreCheckpoint(context.Context, string, CheckpointRestore, audit.Author) (*checkpoint.Restored, error) {
	return nil, checkpoint.ErrUnknown
}

// TestPageLooks checks accessibility, colours and width with several sessions and many kinds of calls.
func TestPageLooks(t *testing.T) {
	t.Parallel()
	chromium := requireBrowser(t)
	r := start(t, showcase(t))
	r.options.Backend.Changes, r.options.Backend.Rules, r.options.Backend.Tools = showcaseChanges{}, showcaseRules(t), showcaseTools{}
	r.options.Backend.Hooks, r.options.Backend.Checkpoints = showcaseHooks{}, showcaseCheckpoints{}
	r.options.Backend.Reports = showcaseReports{}
	r.options.Backend.Chatter = fakeChatter{r.backend, nil}
	env := []string{pagesOf(t, r), "CHROMIUM=" + chromium}
	if os.Getenv("CALLGATE_SCREENSHOTS") == "1" {
		images, err := filepath.Abs("../../docs/images")
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, "SCREENSHOTS="+images)
	}
	runScripts(t, "browser/looks.test.mjs", env...)
}
