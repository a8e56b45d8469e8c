package install

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var someHooks = HookFile{Path: "settings.json", At: []string{"hooks"}, Events: []HookEvent{
	{Name: "After", Command: "cg hook h --data-dir=/d", Like: " hook h ", Text: `{"hooks":[{"type":"command","command":"cg hook h --data-dir=/d"}]}`},
	{Name: "Before", Command: "cg hook h --data-dir=/d", Like: " hook h ", Text: `{"matcher":"*","hooks":[{"type":"command","command":"cg hook h --data-dir=/d"}]}`},
}}

var hookTexts = []string{
	"{}", "", "{\n}", "// mine\n{ \"a\": 1, // one\n}\n", `{"hooks":{}}`, `{"hooks":{"Before":[]}}`, `{"hooks":{"Before":[{"command":"x"}]},"b":[1,2]}`,
	"{\n  \"hooks\": {\n    \"Before\": [\n      {\"command\": \"x\"}, // keep\n    ],\n    \"Other\": [],\n  },\n}\n", "\uFEFF{\"a\": 1e2}",
	`{"hooks":{"Before":[{"hooks":[{"command":"/old/cg hook h --data-dir=/d"}]}]}}`,
}

// Hooks are added once, and everything else keeps its meaning. Removing them from a file that has changed since leaves
// what was there before.
func FuzzHooksGoInAndOut(f *testing.F) {
	for _, text := range hookTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		with, done, err := addHooks([]byte(text), someHooks)
		if err != nil {
			return
		}
		again, more, err := addHooks(with, someHooks)
		if err != nil || len(more) > 0 || !bytes.Equal(again, with) {
			t.Fatalf("a second time: %v %v\n%s\n%s", err, more, with, again)
		}
		if n := strings.Count(string(with), "cg hook h --data-dir=/d"); n < 2 {
			t.Fatalf("%d hooks in %s", n, with)
		}
		if strings.Contains(text, "hook h ") { // an older hook was replaced
			return
		}
		without, err := removeHooks(with, done)
		if err != nil {
			t.Fatalf("%v: %s", err, with)
		}
		if got, want := plain(t, without), plain(t, []byte(text)); got != want {
			t.Fatalf("before %s\nafter  %s\nfrom   %s\nwith   %s", want, got, text, with)
		}
	})
}

// Hooks of an earlier form are replaced; hooks that a person added to the same group stay.
func TestHooksOfAnEarlierFormGiveWay(t *testing.T) {
	for text, want := range map[string]string{
		`{"hooks":{"Before":[{"hooks":[{"type":"command","command":"cg hook h --data-dir=/d"}]}]}}`:                                                     `"matcher":"*"`,
		`{"hooks":{"Before":[{"hooks":[{"type":"command","command":"/old hook h --data-dir=/e"}]}]}}`:                                                   `"matcher":"*"`,
		`{"hooks":{"Before":[{"matcher":"x","hooks":[{"type":"command","command":"mine"},{"type":"command","command":"/old hook h --data-dir=/e"}]}]}}`: `{"matcher":"x","hooks":[{"type":"command","command":"mine"},{"type":"command","command":"cg hook h --data-dir=/d"}]}`,
		`{"hooks":{"Before":[{"matcher":"x","hooks":[{"type":"command","command":"mine"},{"type":"command","command":"cg hook h --data-dir=/d"}]}]}}`:   `{"matcher":"x","hooks":[{"type":"command","command":"mine"},`,
	} {
		with, _, err := addHooks([]byte(text), someHooks)
		if err != nil || !strings.Contains(string(with), want) || strings.Contains(string(with), "/old") || strings.Count(string(with), `"cg hook h --data-dir=/d"`) != 2 {
			t.Errorf("%s\n%s %v", text, with, err)
		}
	}
}

// Removing hooks from a group leaves other people's hooks, but removes those of another callgate.
func TestHooksOfOthersStayWhenOursGo(t *testing.T) {
	for text, want := range map[string]string{
		`{"hooks":{"Before":[{"matcher":"x","hooks":[{"type":"command","command":"mine"},{"type":"command","command":"cg hook h --data-dir=/d"}]}]}}`:           `{"hooks":{"Before":[{"matcher":"x","hooks":[{"type":"command","command":"mine"}]}]}}`,
		`{"hooks":{"Before":[{"matcher":"x","hooks":[{"type":"command","command":"/old hook h --data-dir=/e"},{"type":"command","command":"mine"}]},{"a":1}]}}`: `{"hooks":{"Before":[{"matcher":"x","hooks":[{"type":"command","command":"mine"}]},{"a":1}]}}`,
		`{"hooks":{"Before":[{"hooks":[{"type":"command","command":"/old hook h --data-dir=/e"}]}]}}`:                                                           `{"hooks":{"Before":[]}}`,
	} {
		out, err := removeHooks([]byte(text), []hooked{{At: []string{"hooks", "Before"}, Command: "cg hook h --data-dir=/d", Like: " hook h "}})
		if err != nil || string(out) != want {
			t.Errorf("%s\n%s, want\n%s %v", text, out, want, err)
		}
	}
}

// plain returns what a text means; "" and texts that are not JSON mean nothing.
func plain(t *testing.T, text []byte) string {
	t.Helper()
	d, err := openJSON(text)
	if err != nil {
		return err.Error()
	}
	list, err := d.entries(nil)
	if err != nil {
		return "twice"
	}
	var b strings.Builder
	for _, e := range list {
		value, err := json.Marshal(e.value)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.name + "=" + string(value) + ";")
	}
	return b.String()
}

// A server that only has callgate's name, or whose tools could be taken for callgate's, is not one of OwnEntries.
func TestOwnEntriesAreThisProgram(t *testing.T) {
	home := t.TempDir()
	program := filepath.Join(home, "bin", "callgate")
	other := filepath.Join(home, "other", "callgate")
	for _, path := range []string{program, other} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	project := filepath.Join(home, "p")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	m := Machine{Home: home, Project: project, OS: "linux", Getenv: func(string) string { return "" }}
	for _, c := range []struct{ user, project, want string }{
		{`{"mcpServers":{"callgate":{"command":"` + program + `","args":["run"]}}}`, "", "callgate"},
		{`{"mcpServers":{"callgate":{"command":"` + other + `","args":["run"]}}}`, "", ""},
		{`{"mcpServers":{"callgate":{"command":"` + program + `","args":["--help"]}}}`, "", ""},
		{`{"mcpServers":{"callgate":{"command":"callgate","args":["run"]}}}`, "", ""},
		{`{"mcpServers":{"callgate":{"command":"` + program + `","args":["run"]}}}`, `{"mcpServers":{"callgate":{"command":"evil","args":["run"]}}}`, ""},
		{`{"mcpServers":{"callgate":{"command":"` + program + `","args":["run"]},"callgate_x":{"command":"evil"}}}`, "", ""},
		{`{"mcpServers":{"callgate":{"command":"` + program + `","args":["run"]}}}`, `{"mcpServers":`, ""},
	} {
		if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(c.user), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(project, ".mcp.json"), []byte(c.project), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := Find([]string{"claude"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(OwnEntries(m, &h[0], program), " "); got != c.want {
			t.Errorf("%s\n%s\nown: %q, want %q", c.user, c.project, got, c.want)
		}
	}
}

func TestHookDataDirs(t *testing.T) {
	for text, want := range map[string]string{
		`{"command": "/opt/callgate hook codex --data-dir=/d --worker=w"}`:        "/d",
		`{"command": "'/my bin/callgate' hook codex Stop '--data-dir=/my data'"}`: "/my data",
		`const command = ["/opt/callgate","hook","codex","--data-dir=/my data"]`:  "/my data",
		`{"command": "/opt/callgate hook cursor --data-dir=/d"}`:                  "",
		`{"command": "/opt/callgate run --data-dir=/d"}`:                          "",
	} {
		path := filepath.Join(t.TempDir(), "hooks")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(HookDataDirs(path, "codex"), ","); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
