package install

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"callgate/proxy"
)

// machine returns a machine with a private home and project.
func machine(t *testing.T, files map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	m := Machine{Home: filepath.Join(root, "home"), Project: filepath.Join(root, "project"), OS: "linux", Getenv: func(string) string { return "" }}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func optionsFor(m Machine, ids ...string) Options {
	hosts, err := Find(ids)
	if err != nil {
		panic(err)
	}
	return Options{
		Machine: m, Hosts: hosts, Scopes: []string{"user", "local", "plugin", "project"}, Callgate: "/opt/callgate",
		Folder: filepath.Join(m.Home, "own"), Records: filepath.Join(m.Home, "records"), Sanitize: proxy.Sanitize, Check: proxy.CheckAliases,
	}
}

func connect(t *testing.T, o Options) *Plan {
	t.Helper()
	plan, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	return plan
}

func disconnect(t *testing.T, o Options) []Undone {
	t.Helper()
	list, err := Undo(o.Records, nil, o.Scopes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := list[i].Write(); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serverFiles returns the servers in all of callgate's own files.
func serverFiles(t *testing.T, o Options) map[string]Server {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(o.Folder, "*.mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Server{}
	for _, path := range paths {
		var f struct{ McpServers map[string]Server }
		if err := json.Unmarshal([]byte(read(t, path)), &f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		maps.Copy(all, f.McpServers)
	}
	return all
}

// cases lists files as real hosts write them. They are also the fuzzer's seeds.
var cases = []struct {
	name, host, path, before string
	after                    string            // "" is not compared
	servers                  map[string]string // alias → command line or address
	stays                    []string
}{
	{
		"json", "cursor", "home/.cursor/mcp.json",
		"{\n    \"mcpServers\": {\n        \"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"fs\", \".\"]},\n        \"web\": {\"url\": \"https://x.example/mcp\"}\n    },\n    \"other\": 1.0\n}\n",
		"{\n    \"mcpServers\": {\n        \"callgate\": {\n            \"command\": \"/opt/callgate\",\n            \"args\": [\n                \"run\",\n                \"--mcp-config\",\n                \"FILE\"\n            ]\n        }\n    },\n    \"other\": 1.0\n}\n",
		map[string]string{"files": "npx -y fs .", "web-2": "https://x.example/mcp"}, nil,
	},
	{
		"jsonc with comments, order and a trailing comma", "zed", "home/.config/zed/settings.json",
		"// my settings\n{\n  \"theme\": \"x\", // dark\n  \"context_servers\": {\n    // the files\n    \"files\": { \"source\": \"custom\", \"command\": \"fs\", \"args\": [] },\n    \"ext\": { \"settings\": {} },\n  },\n  \"z\": [1,2,],\n}\n",
		"", map[string]string{"files": "fs"}, []string{"ext"},
	},
	{
		"one line", "windsurf", "home/.codeium/windsurf/mcp_config.json",
		`{"mcpServers":{"a":{"serverUrl":"https://a.example/sse"},"b":{"command":"b","disabled":true}}}`,
		`{"mcpServers":{"callgate":{"command":"/opt/callgate","args":["run","--mcp-config","FILE"]},"b":{"command":"b","disabled":true}}}`,
		map[string]string{"a": "https://a.example/sse"}, []string{"b"},
	},
	{
		"a name with a dot", "amp", "home/.config/amp/settings.json",
		"{\n  // mine\n  \"amp.notifications\": true,\n  \"amp.mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"fs\"]}}\n}\n",
		"", map[string]string{"files": "npx -y fs"}, nil,
	},
	{
		"types", "droid", "home/.factory/mcp.json",
		`{"mcpServers":{"files":{"type":"stdio","command":"fs"},"web":{"type":"http","url":"https://x.example/mcp"}}}`,
		`{"mcpServers":{"callgate":{"command":"/opt/callgate","args":["run","--mcp-config","FILE"],"type":"stdio"}}}`,
		map[string]string{"files": "fs", "web-2": "https://x.example/mcp"}, nil,
	},
	{
		"toml", "codex", "home/.codex/config.toml",
		"model = \"o\"\n\n# the database\n[mcp_servers.db]\ncommand = \"uvx\"\nargs = [\"mcp-server-postgres\"]\n\n[mcp_servers.db.env]\nPGPASSWORD = \"${PGPASSWORD}\"\n\n[mcp_servers.\"we b\"]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"TOKEN\"\n\n[profiles.a]\nmodel = \"p\" # kept\n",
		"model = \"o\"\n\n[mcp_servers.callgate]\ncommand = '/opt/callgate'\nargs = ['run', '--mcp-config', 'FILE']\ndefault_tools_approval_mode = 'approve'\n\n[profiles.a]\nmodel = \"p\" # kept\n",
		map[string]string{"db": "uvx mcp-server-postgres", "we_b": "https://x.example/mcp"}, nil,
	},
	{
		"toml in one inline table", "codex", "home/.codex/config.toml",
		"mcp_servers = { files = { command = \"fs\", args = [ # why, {\n  \"a,}\" ] }, 'we b' = {url = \"https://x.example/mcp\"} } # two\nmodel = \"o\"\n[profiles.a]\nmodel = \"p\"\n",
		"mcp_servers = { callgate = { command = '/opt/callgate', args = ['run', '--mcp-config', 'FILE'], default_tools_approval_mode = 'approve' } } # two\nmodel = \"o\"\n[profiles.a]\nmodel = \"p\"\n",
		map[string]string{"files": "fs a,}", "we_b": "https://x.example/mcp"}, nil,
	},
	{
		"toml in inline tables below a header", "codex", "home/.codex/config.toml",
		"model = \"o\"\n\n[mcp_servers] # all\n# the files\nfiles = { command = \"fs\", env = { A = \"${A}\" } } # f\noff = { command = \"o\", enabled = false }\nweb = {url = \"https://x.example/mcp\"}\n\n[profiles.a]\nmodel = \"p\" # kept\n",
		"model = \"o\"\n\n[mcp_servers] # all\noff = { command = \"o\", enabled = false }\n\n[profiles.a]\nmodel = \"p\" # kept\n\n[mcp_servers.callgate]\ncommand = '/opt/callgate'\nargs = ['run', '--mcp-config', 'FILE']\ndefault_tools_approval_mode = 'approve'\n",
		map[string]string{"files": "fs", "web-2": "https://x.example/mcp"}, []string{"off"},
	},
	{
		"toml in dotted keys", "codex", "home/.codex/config.toml",
		"mcp_servers.a.command = \"a\"\nmcp_servers.\"b\" = { command = \"b\" }\nmcp_servers.a.args = [\n  \"1\", # one\n]\n# kept\nmodel = '''o\n'''\n[mcp_servers.c]\ncommand = \"c\"\n",
		"# kept\nmodel = '''o\n'''\n[mcp_servers.callgate]\ncommand = '/opt/callgate'\nargs = ['run', '--mcp-config', 'FILE']\ndefault_tools_approval_mode = 'approve'\n",
		map[string]string{"a": "a 1", "b": "b", "c": "c"}, nil,
	},
	{
		"yaml mapping", "goose", "home/.config/goose/config.yaml",
		"GOOSE_MODEL: x # kept\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  # github\n  github:\n    type: stdio\n    cmd: npx\n    args:\n    - -y\n    - server-github\n    envs: {TOKEN: abc}\n    enabled: true\nlast: 1\n",
		"GOOSE_MODEL: x # kept\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  callgate:\n    cmd: /opt/callgate\n    args: [run, --mcp-config, FILE]\n    enabled: true\n    name: callgate\n    timeout: 600\n    type: stdio\nlast: 1\n",
		map[string]string{"github": "npx -y server-github"}, []string{"developer"},
	},
	{
		"yaml list", "continue", "home/.continue/config.yaml",
		"name: mine\nmcpServers:\n- name: files\n  command: fs\n  args: [a, b]\n\n- name: web\n  url: https://x.example/mcp\n  type: streamable-http\nmodels: []\n",
		"", map[string]string{"files": "fs a b", "web-2": "https://x.example/mcp"}, nil,
	},
	{
		"yaml mapping in flow style", "goose", "home/.config/goose/config.yaml",
		"extensions: {developer: {type: builtin, enabled: true}, # mine\n  gh: {type: stdio, cmd: npx, args: [-y, \"it's, ]\"]} # last\n} # extensions\nb: 1\n",
		"extensions: {developer: {type: builtin, enabled: true}, # mine\n  callgate: {cmd: /opt/callgate, args: [run, --mcp-config, FILE], enabled: true, name: callgate, timeout: 600, type: stdio} # last\n} # extensions\nb: 1\n",
		map[string]string{"gh": "npx -y it's, ]"}, []string{"developer"},
	},
	{
		"yaml anchors", "goose", "home/.config/goose/config.yaml",
		"extensions:\n  a: &a\n    cmd: a\n    type: stdio\n    envs: &e {A: b}\n  b:\n    cmd: b\n    <<: *a\nmine: *e\n",
		"", map[string]string{"b": "b"}, []string{"a"},
	},
	{
		"yaml list in flow style", "continue", "home/.continue/config.yaml",
		"name: mine\nmcpServers: [{name: files, command: fs, args: [a, \"b\"]}, {\"name\": web, url: 'https://x.example/mcp'},] # two\n",
		"name: mine\nmcpServers: [{name: callgate, command: /opt/callgate, args: [run, --mcp-config, FILE]},] # two\n",
		map[string]string{"files": "fs a b", "web-2": "https://x.example/mcp"}, nil,
	},
	{
		"comments behind a comma", "cursor", "home/.cursor/mcp.json",
		"{\n  \"mcpServers\": {\n    \"off\": {\"command\": \"o\", \"disabled\": true}, // about off\n    \"a\": {\"command\": \"a\"}\n  }, // servers\n  \"z\": 1\n}\n",
		"{\n  \"mcpServers\": {\n    \"off\": {\"command\": \"o\", \"disabled\": true}, // about off\n    \"callgate\": {\n      \"command\": \"/opt/callgate\",\n      \"args\": [\n        \"run\",\n        \"--mcp-config\",\n        \"FILE\"\n      ]\n    }\n  }, // servers\n  \"z\": 1\n}\n",
		map[string]string{"a": "a"}, []string{"off"},
	},
	{
		"a command that is a list", "opencode", "home/.config/opencode/opencode.jsonc",
		"{\n\t\"$schema\": \"s\",\n\t\"mcp\": {\n\t\t\"files\": {\"type\": \"local\", \"command\": [\"npx\", \"fs\"], \"environment\": {\"A\": \"{env:A}\"}},\n\t\t\"sealed\": {\"type\": \"local\", \"command\": [\"x\"], \"environment\": {\"A\": \"{file:~/a}\"}}\n\t}\n}",
		"", map[string]string{"files": "npx fs"}, []string{"sealed"},
	},
	{
		"projects in the state file", "claude", "home/.claude.json",
		"{\n  \"numStartups\": 12,\n  \"projects\": {\n    \"/src/a\": {\"mcpServers\": {\"git_x\": {\"command\": \"g\"}, \"git\": {\"command\": \"h\"}}, \"history\": []},\n    \"/src/b\": {\"mcpServers\": {}}\n  },\n  \"mcpServers\": {\"files\": {\"type\": \"stdio\", \"command\": \"fs\", \"env\": {}}}\n}\n",
		"", map[string]string{"files": "fs", "git_x": "g", "git-2": "h"}, nil,
	},
	{
		"inputs of VS Code stay", "vscode", "home/.config/Code/User/mcp.json",
		"{\n  \"inputs\": [],\n  \"servers\": {\"a\": {\"type\": \"http\", \"url\": \"https://a.example\", \"headers\": {\"X\": \"${input:key}\"}}, \"b\": {\"command\": \"b\", \"args\": [\"${env:HOME}\"]}}\n}\n",
		"", map[string]string{"b": "b ${HOME}"}, []string{"a"},
	},
}

func (s *Server) line() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

func TestConnectAndDisconnect(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, map[string]string{c.path: c.before})
			o := optionsFor(m, c.host)
			path := filepath.Join(filepath.Dir(m.Home), c.path)
			plan := connect(t, o)
			after := read(t, path)
			if c.after != "" {
				own, _ := filepath.Glob(filepath.Join(o.Folder, "*.mcp.json"))
				if want := strings.ReplaceAll(c.after, "FILE", own[0]); after != want {
					t.Errorf("after:\n%s\nwant:\n%s", after, want)
				}
			}
			got := serverFiles(t, o)
			for name, line := range c.servers {
				s, ok := got[name]
				if !ok || s.line() != line {
					t.Errorf("server %s is %q, want %q", name, s.line(), line)
				}
			}
			if len(got) != len(c.servers) {
				t.Errorf("callgate serves %d servers, want %d: %v", len(got), len(c.servers), got)
			}
			var stays []string
			for _, change := range plan.Hosts[0].Changes {
				if change.Error != "" {
					t.Errorf("%s: %s", change.Path, change.Error)
				}
				for _, s := range change.Servers {
					if s.Stays != "" {
						stays = append(stays, s.Name)
					}
				}
			}
			if !slices.Equal(stays, c.stays) {
				t.Errorf("stay: %q, want %q", stays, c.stays)
			}
			again, err := Make(o)
			if err != nil || again.Changes() {
				t.Errorf("a second connect changes something: %v", err)
			}
			for _, u := range disconnect(t, o) {
				if !u.Exact || len(u.Conflicts) > 0 {
					t.Errorf("disconnect: %+v", u)
				}
			}
			if now := read(t, path); now != c.before {
				t.Errorf("disconnect left:\n%s\nwant:\n%s", now, c.before)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if left := serverFiles(t, o); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

// The entry has the options for callgate's data, configuration and worker, and is still recognized as callgate's.
func TestEntryNamesLocation(t *testing.T) {
	for _, c := range cases {
		m := machine(t, map[string]string{c.path: c.before})
		o := optionsFor(m, c.host)
		o.Location = []string{"--data-dir=/my data", "--config=/c.yaml"}
		connect(t, o)
		entries := Entries(m, &o.Hosts[0])
		if len(entries) == 0 {
			t.Errorf("%s: no entry of callgate", c.name)
		}
		for _, e := range entries {
			if got := e.Location(); len(got) != 2 || got["--data-dir"] != "/my data" || got["--config"] != "/c.yaml" {
				t.Errorf("%s: the entry names %q: %q", c.name, got, e.Command)
			}
		}
		if again, err := Make(o); err != nil || again.Changes() {
			t.Errorf("%s: a second connect changes something: %v", c.name, err)
		}
	}
}

// Servers whose names hold no Latin letter are told apart.
func TestNamesInOtherScripts(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers":{"工具":{"command":"a"},"天気":{"command":"b"}}}`})
	plan := connect(t, optionsFor(m, "cursor"))
	var names []string
	for _, found := range plan.Hosts[0].Changes[0].Servers {
		names = append(names, found.As)
	}
	if want := []string{"server", "server-2"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestPromptNamesEntries(t *testing.T) {
	server := `{"mcpServers": {"a": {"command": "a"}}}`
	m := machine(t, map[string]string{"home/.cursor/mcp.json": server, "project/.cursor/mcp.json": server})
	for _, c := range []struct {
		scopes []string
		want   string
	}{
		{[]string{"user"}, `add "callgate:*" to`}, {[]string{"project"}, `add "callgate-project:*" to`},
		{[]string{"user", "project"}, `add "callgate:*" and "callgate-project:*" to`},
	} {
		o := optionsFor(m, "cursor")
		o.Scopes = c.scopes
		plan, err := Make(o)
		if err != nil || !strings.Contains(plan.Hosts[0].Note, c.want) {
			t.Errorf("%v: %q, %v", c.scopes, plan.Hosts[0].Note, err)
		}
		for i := range plan.Hosts[0].Changes {
			if c := &plan.Hosts[0].Changes[i]; c.OfMachine() != (c.Scope == "project") {
				t.Errorf("%s: of this machine: %v", c.Path, c.OfMachine())
			}
		}
	}
}

// A host starts the callgate that was connected last, wherever an earlier one was. Disconnect undoes both.
func TestProgramMoved(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, map[string]string{c.path: c.before})
			o := optionsFor(m, c.host)
			path := filepath.Join(filepath.Dir(m.Home), c.path)
			connect(t, o)
			first := read(t, path)
			served := serverFiles(t, o)
			o.Callgate = "/new/callgate"
			connect(t, o)
			if got, want := read(t, path), strings.ReplaceAll(first, "/opt/callgate", "/new/callgate"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if now := serverFiles(t, o); !reflect.DeepEqual(now, served) {
				t.Errorf("serves %v, and %v before", now, served)
			}
			if again, err := Make(o); err != nil || again.Changes() {
				t.Errorf("a third connect changes something: %v", err)
			}
			for _, u := range disconnect(t, o) {
				if !u.Exact || len(u.Conflicts) > 0 {
					t.Errorf("disconnect: %+v", u)
				}
			}
			if now := read(t, path); now != c.before {
				t.Errorf("disconnect left:\n%s\nwant:\n%s", now, c.before)
			}
		})
	}
}

// A person's changes to callgate's entry stay when the program moves. An entry with another file of servers is theirs.
func TestProgramMovedBesideOwnWork(t *testing.T) {
	m := machine(t, map[string]string{"home/.gemini/settings.json": `{"mcpServers": {"files": {"command": "fs"}}}`})
	o := optionsFor(m, "gemini")
	path := filepath.Join(m.Home, ".gemini/settings.json")
	connect(t, o)
	mine := strings.Replace(read(t, path), `"trust":true`, `"trust":false,"timeout":900000`, 1)
	mine = strings.Replace(mine, `"callgate":`, `"by hand": {"command": "/opt/callgate", "args": ["run", "--mcp-config", "mine.json"]}, "late": {"command": "l"}, "callgate":`, 1)
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Callgate = "/new/callgate"
	connect(t, o)
	for _, want := range []string{`{"command": "/opt/callgate", "args": ["run", "--mcp-config", "mine.json"]}`, `"command":"/new/callgate"`, `"trust":false`, `"timeout":900000`} {
		if now := read(t, path); !strings.Contains(now, want) {
			t.Errorf("%s lacks %s", now, want)
		}
	}
	if served := serverFiles(t, o); served["files"].Command != "fs" || served["late"].Command != "l" {
		t.Errorf("serves %v", served)
	}
	disconnect(t, o)
	if now := read(t, path); strings.Contains(now, "/new/callgate") || !strings.Contains(now, `"late": {"command": "l"}`) || !strings.Contains(now, `"files": {"command": "fs"}`) || !strings.Contains(now, "mine.json") {
		t.Errorf("disconnect left %s", now)
	}
}

// The note does not tell a person to do what connect does.
func TestNoteOfWhatIsLeftToDo(t *testing.T) {
	files := map[string]string{"home/.claude.json": `{"mcpServers": {"files": {"command": "fs"}}}`}
	for settings, want := range map[string]bool{"": true, `{"permissions": {"allow": []}}`: false} {
		if settings != "" {
			files["home/.claude/settings.json"] = settings
		}
		plan, err := Make(optionsFor(machine(t, files), "claude"))
		if err != nil {
			t.Fatal(err)
		}
		if note := plan.Hosts[0].Note; strings.Contains(note, `"mcp__callgate" is in permissions.allow`) != want {
			t.Errorf("%q: %q", settings, note)
		}
		delete(files, "home/.claude/settings.json")
	}
}

// A file without servers stays as it is, even an empty one.
func TestEmptyFileStays(t *testing.T) {
	for _, text := range []string{"", "\n", "{}"} {
		plan, err := Make(optionsFor(machine(t, map[string]string{"home/.codeium/windsurf/mcp_config.json": text}), "windsurf"))
		if err != nil || plan.Changes() {
			t.Errorf("%q: %v, %+v", text, err, plan.Hosts)
		}
	}
}

// In the home folder, a project's file is the user's own: it is not in the project scope, and a server that only the
// host can start stays.
func TestHomeIsTheProject(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers": {"files": {"command": "fs", "args": ["${workspaceFolder}"]}}}`})
	m.Project = m.Home
	plan, err := Make(optionsFor(m, "cursor"))
	if err != nil {
		t.Fatal(err)
	}
	if c := plan.Hosts[0].Changes; len(c) != 1 || len(c[0].Servers) != 1 || !c[0].Servers[0].Ungated() || c[0].Changes() {
		t.Errorf("%+v", c)
	}
}

// TestHostRewrote changes the host's file between connect and disconnect: the change stays, the servers come back.
func TestHostRewrote(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, map[string]string{c.path: c.before})
			o := optionsFor(m, c.host)
			path := filepath.Join(filepath.Dir(m.Home), c.path)
			f := fileOf(c.host, c.path)
			before := namesIn(t, f, c.before)
			connect(t, o)
			text := read(t, path)
			if f.Format == "json" {
				text = "/* host */ " + text
			} else {
				text = "# host\n" + text
			}
			if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
			for _, u := range disconnect(t, o) {
				if u.Exact || len(u.Conflicts) > 0 {
					t.Errorf("disconnect: exact %v, conflicts %q", u.Exact, u.Conflicts)
				}
			}
			now := read(t, path)
			if !strings.Contains(now, "host") || strings.Contains(now, "callgate") {
				t.Errorf("after disconnect:\n%s", now)
			}
			if names := namesIn(t, f, now); !slices.Equal(names, before) {
				t.Errorf("servers %q, want %q, in their order:\n%s", names, before, now)
			}
		})
	}
}

// TestHostWroteAnew makes the host rewrite its whole file with its own library and one more setting: no comments,
// another order, blocks for brackets and the other way round. The servers come back as they were.
func TestHostWroteAnew(t *testing.T) {
	for _, c := range cases {
		for _, brackets := range []bool{false, true} {
			m := machine(t, map[string]string{c.path: c.before})
			o := optionsFor(m, c.host)
			path := filepath.Join(filepath.Dir(m.Home), c.path)
			f := fileOf(c.host, c.path)
			before := serversIn(t, f, c.before)
			connect(t, o)
			text := wroteAnew(t, f, read(t, path), brackets)
			if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
			for _, u := range disconnect(t, o) {
				if u.Exact || len(u.Conflicts) > 0 {
					t.Errorf("%s: disconnect: exact %v, conflicts %q, of\n%s", c.name, u.Exact, u.Conflicts, text)
				}
			}
			now := read(t, path)
			if after := serversIn(t, f, now); !maps.Equal(before, after) || !strings.Contains(now, "hostsOwn") {
				t.Errorf("%s: servers %v, want %v, in\n%s\nfrom\n%s", c.name, after, before, now, text)
			}
		}
	}
}

// wroteAnew returns a file as a host rewrites it.
func wroteAnew(t *testing.T, f *File, text string, brackets bool) string {
	t.Helper()
	doc, err := open(f, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all, err := doc.value()
	if err != nil {
		t.Fatal(err)
	}
	values := all.(map[string]any)
	values["hostsOwn"] = true
	var out []byte
	switch {
	case f.Format == "json" && brackets:
		out, err = json.Marshal(values)
	case f.Format == "json":
		out, err = json.MarshalIndent(values, "", "\t")
	case f.Format == "yaml" && brackets:
		var n yaml.Node
		if err = n.Encode(values); err == nil {
			n.Style = yaml.FlowStyle
			out, err = yaml.Marshal(&n)
		}
	case f.Format == "yaml":
		out, err = yaml.Marshal(values)
	case brackets:
		for _, m := range members(values) {
			out = append(out, tomlKey(m.name)+" = "+tomlValue(m.value)+"\n"...)
		}
	default:
		out, err = toml.Marshal(values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func fileOf(host, path string) *File {
	hosts, _ := Find([]string{host})
	for i := range hosts[0].Files {
		if f := &hosts[0].Files[i]; strings.HasSuffix(path, filepath.Base(f.Path)) {
			return f
		}
	}
	return nil
}

// namesIn lists the servers at each place of the file.
func namesIn(t *testing.T, f *File, text string) []string {
	t.Helper()
	doc, err := open(f, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := doc.entries(f.Servers)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	return names
}

// TestConflicts checks that undo reports what it cannot put back, and keeps the old file.
func TestConflicts(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers":{"a":{"command":"old"}}}`})
	o := optionsFor(m, "cursor")
	path := filepath.Join(m.Home, ".cursor/mcp.json")
	connect(t, o)
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"new"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	list := disconnect(t, o)
	if len(list) != 1 || len(list[0].Conflicts) != 2 {
		t.Fatalf("%+v", list)
	}
	if now := read(t, path); now != `{"mcpServers":{"a":{"command":"new"}}}` {
		t.Errorf("the host's own entry was changed: %s", now)
	}
	var r record
	if err := json.Unmarshal([]byte(read(t, list[0].Kept())), &r); err != nil || !strings.Contains(string(r.Before), "old") {
		t.Errorf("what was there is not kept: %v", err)
	}
	if more, err := Undo(o.Records, nil, o.Scopes); err != nil || len(more) != 0 {
		t.Errorf("the record is still there: %v %v", more, err)
	}
}

// TestSecondConnect moves a server that an installer added next to callgate, and undoes both connects.
func TestSecondConnect(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers":{"a":{"command":"a"}}}`})
	o := optionsFor(m, "cursor")
	path := filepath.Join(m.Home, ".cursor/mcp.json")
	connect(t, o)
	text := strings.Replace(read(t, path), `{"callgate"`, `{"b":{"command":"b"},"callgate"`, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	connect(t, o)
	if s := serverFiles(t, o); len(s) != 2 {
		t.Errorf("served: %v", s)
	}
	for _, u := range disconnect(t, o) {
		if len(u.Conflicts) > 0 {
			t.Errorf("%q", u.Conflicts)
		}
	}
	if now := namesIn(t, fileOf("cursor", "mcp.json"), read(t, path)); !slices.Equal(slices.Sorted(slices.Values(now)), []string{"a", "b"}) {
		t.Errorf("after disconnect: %q", now)
	}
}

// TestSettings renames tools where the host names them, and nothing else.
func TestSettings(t *testing.T) {
	const before = `{
  "permissions": {
    "allow": ["mcp__files__read", "mcp__files", "Bash(ls:*)"], // mine
    "deny": ["mcp__other__x"]
  },
  "hooks": {"PreToolUse": [{"matcher": "mcp__files__.*|Bash", "hooks": []}]}
}
`
	const after = `{
  "permissions": {
    "allow": ["mcp__callgate__files_read", "mcp__callgate__files_*", "Bash(ls:*)", "mcp__callgate"], // mine
    "deny": ["mcp__other__x"]
  },
  "hooks": {"PreToolUse": [{"matcher": "mcp__callgate__files_.*|Bash", "hooks": []}]}
}
`
	m := machine(t, map[string]string{"home/.claude.json": `{"mcpServers":{"files":{"command":"fs"}}}`, "home/.claude/settings.json": before})
	o := optionsFor(m, "claude")
	path := filepath.Join(m.Home, ".claude/settings.json")
	connect(t, o)
	if now := read(t, path); now != after {
		t.Errorf("settings:\n%s\nwant:\n%s", now, after)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(after, "// mine", "// yours", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	disconnect(t, o)
	if now, want := read(t, path), strings.Replace(before, "// mine", "// yours", 1); now != want {
		t.Errorf("settings:\n%s\nwant:\n%s", now, want)
	}
}

// A host's other settings about servers and tools follow them: lists, members, matchers, words. They come back too.
func TestWhatNamesServersFollowsThem(t *testing.T) {
	for _, c := range []struct {
		host  string
		files map[string]string
		want  map[string][]string // what the file contains afterwards or, with !, does not
	}{
		{"gemini", map[string]string{".gemini/settings.json": `{"mcp":{"allowed":["files"]},"tools":{"allowed":["mcp_files_read","mcp_files_x_y"],"exclude":["mcp_files_x_z"]},"hooks":{"BeforeTool":[{"matcher":"mcp_files_.*","hooks":[]}]},"mcpServers":{"files":{"command":"fs"},"files_x":{"command":"x"}}}`},
			map[string][]string{".gemini/settings.json": {`"allowed":["files","callgate"]`, `"mcp_callgate_files_read"`, `"files_x":{`, `"mcp_files_x_y"`, `"mcp_callgate_files_.*"`}}},
		{"gemini", map[string]string{".gemini/settings.json": `{"mcp":{"excluded":["off"]},"mcpServers":{"off":{"command":"fs"},"b":{"command":"b","env":{"T":"$TOKEN"}}}}`},
			map[string][]string{".gemini/settings.json": {`"off":{"command":"fs"}`, `!"b"`}, "own": {`"${TOKEN}"`}}},
		{"qwen", map[string]string{".qwen/settings.json": `{"permissions":{"deny":["mcp__files__rm"]},"mcpServers":{"files":{"command":"fs"}}}`},
			map[string][]string{".qwen/settings.json": {`"mcp__callgate__files_rm"`}}},
		{"opencode", map[string]string{".config/opencode/opencode.json": `{"tools":{"files_rm":false,"myfiles_x":true},"permission":{"files_*":"ask"},"agent":{"a":{"tools":{"files*":true}}},"mcp":{"files":{"type":"local","command":["fs"]}}}`},
			map[string][]string{".config/opencode/opencode.json": {`"callgate_files_rm":false`, `"myfiles_x":true`, `"callgate_files_*":"ask"`, `"callgate_files_*":true`}}},
		{"cursor", map[string]string{".cursor/mcp.json": `{"mcpServers":{"files":{"command":"fs"}}}`, ".cursor/cli-config.json": `{"permissions":{"allow":["Mcp(files:read)","Shell(ls)"]}}`},
			map[string][]string{".cursor/cli-config.json": {`["Mcp(callgate:files_read)","Shell(ls)"]`}}},
		{"claude", map[string]string{".claude.json": `{"mcpServers":{"files":{"command":"fs"},"files_x":{"command":"x"}}}`, ".claude/settings.json": `{"hooks":{"PreToolUse":[{"matcher":"mcp__files.*|mcp__files_x__.*","hooks":[]}]}}`, ".claude/agents/a.md": "---\nname: a\ntools: mcp__files__read, mcp__files_x__y, Bash\n---\nUse mcp__files__read.\n"},
			map[string][]string{".claude/agents/a.md": {"tools: mcp__callgate__files_read, mcp__callgate__files-x_y, Bash\n---\nUse mcp__files__read."}, ".claude/settings.json": {`"mcp__callgate__files_.*|mcp__callgate__files-x_.*"`}}},
	} {
		files := map[string]string{}
		for name, text := range c.files {
			files["home/"+name] = text
		}
		m := machine(t, files)
		o := optionsFor(m, c.host)
		for _, h := range connect(t, o).Hosts {
			for _, change := range h.Changes {
				if change.Error != "" {
					t.Errorf("%s: %s", change.Path, change.Error)
				}
			}
		}
		for name, want := range c.want {
			path := filepath.Join(m.Home, name)
			if name == "own" {
				found, _ := filepath.Glob(filepath.Join(o.Folder, "*.json"))
				path = found[0]
			}
			now := read(t, path)
			for _, w := range want {
				if rest, not := strings.CutPrefix(w, "!"); strings.Contains(now, rest) == not {
					t.Errorf("%s: %s: want %s in\n%s", c.host, name, w, now)
				}
			}
		}
		disconnect(t, o)
		for name, text := range c.files {
			if now := read(t, filepath.Join(m.Home, name)); now != text {
				t.Errorf("%s: %s after disconnect:\n%s\nwant\n%s", c.host, name, now, text)
			}
		}
	}
}

// Servers of plugins move too, behind one entry for each plugin, wherever the plugin is.
func TestPlugins(t *testing.T) {
	m := machine(t, map[string]string{
		"market/.claude-plugin/marketplace.json":            `{"plugins":[{"name":"here","source":"./plugins/here"}]}`,
		"market/plugins/here/.mcp.json":                     `{"web":{"command":"${CLAUDE_PLUGIN_ROOT}/web"}}`,
		"home/.gemini/extensions/ext/gemini-extension.json": `{"name":"ext","mcpServers":{"docs":{"command":"node","args":["${extensionPath}${/}docs.js"]}}}`,
		"home/.claude/settings.json":                        `{"permissions":{"allow":["mcp__plugin_tools_files__read"]}}`,
	})
	cache := filepath.Join(m.Home, ".claude/plugins/cache/mp/tools/1.0.0")
	market := filepath.Join(filepath.Dir(m.Home), "market")
	for path, text := range map[string]string{
		filepath.Join(cache, ".claude-plugin/plugin.json"):               `{"name":"tools","mcpServers":{"files":{"command":"${CLAUDE_PLUGIN_ROOT}/files"}}}`,
		filepath.Join(m.Home, ".claude/plugins/installed_plugins.json"):  `{"plugins":{"tools@mp":[{"installPath":` + quote(cache) + `}],"here@dir":[{"installPath":"/nowhere"}]}}`,
		filepath.Join(m.Home, ".claude/plugins/known_marketplaces.json"): `{"dir":{"source":{"source":"directory","path":` + quote(market) + `}}}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{filepath.Join(cache, ".claude-plugin/plugin.json"), filepath.Join(market, "plugins/here/.mcp.json"), filepath.Join(m.Home, ".gemini/extensions/ext/gemini-extension.json"), filepath.Join(m.Home, ".claude/settings.json")}
	var before []string
	for _, path := range paths {
		before = append(before, read(t, path))
	}
	o := optionsFor(m, "claude", "gemini")
	connect(t, o)
	got := serverFiles(t, o)
	for name, want := range map[string]string{
		"files": filepath.Join(cache, "files"), "web-2": filepath.Join(market, "plugins/here/web"), "docs": "node " + filepath.Join(m.Home, ".gemini/extensions/ext/docs.js"),
	} {
		if s := got[name]; s.line() != want {
			t.Errorf("%s is %q, want %q", name, s.line(), want)
		}
	}
	for i, want := range []string{`{"name":"tools","mcpServers":{"callgate":{`, `{"callgate":{`, `"callgate-ext":{`, `{"allow":["mcp__plugin_tools_callgate__files_read","mcp__plugin_here_callgate","mcp__plugin_tools_callgate"]}`} {
		if now := read(t, paths[i]); !strings.Contains(now, want) {
			t.Errorf("want %s in %s", want, now)
		}
	}
	again, err := Make(o)
	if err != nil || again.Changes() {
		t.Errorf("a second connect changes something: %v", err)
	}
	disconnect(t, o)
	for i, path := range paths {
		if now := read(t, path); now != before[i] {
			t.Errorf("%s after disconnect: %s", path, now)
		}
	}
}

// A host can read several files of one scope, and several hosts one file. Each server moves once, behind an entry that
// hides no other.
func TestFilesThatHostsJoin(t *testing.T) {
	server := func(name string) string { return `{"command":` + quote(name) + `}` }
	files := map[string]string{
		"home/.continue/config.yaml":                  "mcpServers:\n  - name: c1\n    command: c1\n",
		"home/.continue/mcpServers/one.yaml":          "name: one\nmcpServers:\n  - {name: c2, command: c2}\n",
		"home/.continue/mcpServers/two.json":          `{"mcpServers":{"c3":` + server("c3") + `}}`,
		"home/.qwen/extensions/e/qwen-extension.json": `{"name":"e","mcpServers":{"q":{"command":"${extensionPath}/q"}}}`,
		"home/.config/opencode/opencode.json":         `{"mcp":{"o1":{"type":"local","command":["o1"]}}}`,
		"home/.config/opencode/opencode.jsonc":        `{"mcp":{"o2":{"type":"local","command":["o2"]}}}`,
		"home/.config/opencode/config.json":           `{"mcp":{"o3":{"type":"local","command":["o3"]}}}`,
		"project/.opencode/opencode.jsonc":            `{"mcp":{"o4":{"type":"local","command":["o4"]}}}`,
		"project/.mcp.json":                           `{"mcpServers":{"m":` + server("m") + `}}`,
		"project/.github/mcp.json":                    `{"mcpServers":{"g":` + server("g") + `}}`,
		"home/.aws/amazonq/cli-agents/dev.json":       `{"mcpServers":{"a":` + server("a") + `},"tools":["@builtin","@a"],"allowedTools":["@a/x"]}`,
	}
	m := machine(t, files)
	root := filepath.Dir(m.Home)
	o := optionsFor(m)
	o.Callgate = "/opt/gate" // callgate recognizes itself under any name
	connect(t, o)
	if got := serverFiles(t, o); len(got) != 11 {
		t.Errorf("%d servers are served, want 11: %v", len(got), got)
	}
	for name, want := range map[string]string{
		"home/.continue/mcpServers/one.yaml":          "- name: callgate-user-one\n",
		"home/.continue/mcpServers/two.json":          `"callgate-user-two"`,
		"home/.qwen/extensions/e/qwen-extension.json": `"callgate-e"`,
		"home/.config/opencode/opencode.jsonc":        `"callgate-jsonc"`,
		"project/.mcp.json":                           `"callgate-project"`,
		"project/.github/mcp.json":                    `"callgate-github"`,
		"home/.aws/amazonq/cli-agents/dev.json":       `"tools":["@builtin","@callgate-agent-dev"],"allowedTools":["@callgate-agent-dev/a_x"]`,
	} {
		if now := read(t, filepath.Join(root, name)); !strings.Contains(now, want) {
			t.Errorf("%s: want %s in\n%s", name, want, now)
		}
	}
	if again, err := Make(o); err != nil || again.Changes() {
		t.Errorf("a second connect changes something: %v", err)
	}
	disconnect(t, o)
	for name, text := range files {
		if now := read(t, filepath.Join(root, name)); now != text {
			t.Errorf("%s after disconnect: %s", name, now)
		}
	}
}

// If two files have the same name, neither hides callgate's entry in the other.
func TestFilesOfOneName(t *testing.T) {
	m := machine(t, map[string]string{
		"home/.opencode/opencode.json":       `{"mcp":{"a":{"type":"local","command":["a"]}}}`,
		"home/.opencode/opencode.jsonc":      `{"mcp":{"b":{"type":"local","command":["b"]}}}`,
		"home/.continue/mcpServers/one.yaml": "mcpServers:\n  - {name: c, command: c}\n",
		"home/.continue/mcpServers/one.json": `{"mcpServers":{"d":{"command":"d"}}}`,
	})
	connect(t, optionsFor(m))
	for name, want := range map[string]string{
		".opencode/opencode.json": `"callgate-home-opencode"`, ".opencode/opencode.jsonc": `"callgate-home-opencode-jsonc"`,
		".continue/mcpServers/one.yaml": "name: callgate-user-one\n", ".continue/mcpServers/one.json": `"callgate-user-one-json"`,
	} {
		if now := read(t, filepath.Join(m.Home, name)); !strings.Contains(now, want) {
			t.Errorf("%s: want %s in\n%s", name, want, now)
		}
	}
}

// A folder that a variable moves is found, with its settings.
func TestHostsElsewhere(t *testing.T) {
	m := machine(t, map[string]string{
		"home/else/.claude.json": `{"mcpServers":{"files":{"command":"fs"}}}`, "home/else/settings.json": `{"permissions":{"allow":["mcp__files__a"]}}`,
		"home/xdg/zed/settings.json": `{"context_servers":{"z":{"command":"z"}}}`,
	})
	m.Getenv = func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(m.Home, "else"), "XDG_CONFIG_HOME": filepath.Join(m.Home, "xdg")}[name]
	}
	o := optionsFor(m, "claude", "zed")
	connect(t, o)
	if now := read(t, filepath.Join(m.Home, "else/settings.json")); !strings.Contains(now, "mcp__callgate__files_a") {
		t.Error(now)
	}
	if s := serverFiles(t, o); len(s) != 2 {
		t.Errorf("served: %v", s)
	}
}

// A person's additions to callgate's own file are not lost.
func TestOwnFileChangedSince(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers":{"a":{"command":"a"}}}`})
	o := optionsFor(m, "cursor")
	connect(t, o)
	found, err := filepath.Glob(filepath.Join(o.Folder, "*.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.WriteFile(found[0], []byte(`{"mcpServers":{"a":{"command":"a"},"mine":{"command":"m"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	list := disconnect(t, o)
	if len(list) != 1 || len(list[0].Conflicts) != 1 || !strings.Contains(list[0].Conflicts[0], found[0]) {
		t.Errorf("%+v", list)
	}
	if !strings.Contains(read(t, found[0]), "mine") || read(t, filepath.Join(m.Home, ".cursor/mcp.json")) != `{"mcpServers":{"a":{"command":"a"}}}` {
		t.Error("something is lost")
	}
}

// TestVariables refers to the variables that a server took from the host's environment, and never copies a value.
func TestVariables(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers":{"gh":{"command":"npx","args":["-y","@modelcontextprotocol/server-github"]}}}`})
	m.Getenv = func(name string) string {
		if name == "GITHUB_TOKEN" {
			return "ghp_secret"
		}
		return ""
	}
	o := optionsFor(m, "cursor")
	connect(t, o)
	if s := serverFiles(t, o)["gh"]; s.Env["GITHUB_TOKEN"] != "${GITHUB_TOKEN:-}" || len(s.Env) != 1 {
		t.Errorf("env %v", s.Env)
	}
}

// TestChangedMeanwhile checks that a file that changed after its diff was shown is not written.
func TestChangedMeanwhile(t *testing.T) {
	m := machine(t, map[string]string{"home/.cursor/mcp.json": `{"mcpServers":{"a":{"command":"a"}}}`})
	plan, err := Make(optionsFor(m, "cursor"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(m.Home, ".cursor/mcp.json")
	if err := os.WriteFile(path, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Apply(); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("error %v", err)
	}
	if now := read(t, path); now != `{}` {
		t.Errorf("written over: %s", now)
	}
}

// TestUnreadable checks that a file that cannot be changed safely is left alone, with the reason.
func TestUnreadable(t *testing.T) {
	for _, c := range []struct{ host, path, text, why string }{
		{"cursor", "home/.cursor/mcp.json", `{"mcpServers":`, "JSON"},
		{"cursor", "home/.cursor/mcp.json", `{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`, "twice"},
		{"codex", "home/.codex/config.toml", "mcp_servers = [{command = \"x\"}]\n", "not a table"},
		{"goose", "home/.config/goose/config.yaml", "a: b: c\n", "YAML"},
	} {
		m := machine(t, map[string]string{c.path: c.text})
		plan, err := Make(optionsFor(m, c.host))
		if err != nil {
			t.Fatal(err)
		}
		if plan.Changes() || len(plan.Hosts[0].Changes) != 1 || !strings.Contains(plan.Hosts[0].Changes[0].Error, c.why) {
			t.Errorf("%s: %+v, want an error with %q", c.text, plan.Hosts[0].Changes, c.why)
		}
	}
}

// TestOnlyServersChange has files whose lines do not show where an entry ends, or whose other parts refer to it. Such
// files are changed correctly or not at all.
func TestOnlyServersChange(t *testing.T) {
	for _, c := range []struct{ host, path, text, why string }{
		{"goose", "home/.config/goose/config.yaml", "extensions:\n  a:\n    cmd: x\n# why\n    type: stdio\nother: 1\n", ""},
		{"goose", "home/.config/goose/config.yaml", "extensions:\n  a: {cmd: x,\n    type: stdio\n# why\n}\nother: 1\n", ""},
		{"goose", "home/.config/goose/config.yaml", "x: &x {cmd: x, type: stdio}\nextensions:\n  a: *x\n  b:\n    <<: *x\n    type: stdio\nother: 1\n", ""},
	} {
		m := machine(t, map[string]string{c.path: c.text})
		plan, err := Make(optionsFor(m, c.host))
		if err != nil {
			t.Fatal(err)
		}
		change := plan.Hosts[0].Changes[0]
		if (c.why == "") != plan.Changes() || !strings.Contains(change.Error, c.why) {
			t.Errorf("%q: becomes %q, error %q, want %q", c.text, change.After, change.Error, c.why)
		}
		if c.why == "" && (strings.Contains(string(change.After), "# why") || !strings.HasSuffix(string(change.After), "\n    type: stdio\nother: 1\n")) {
			t.Errorf("%q: becomes %q", c.text, change.After)
		}
	}
}

// FuzzRoundTrip connects and disconnects any text. The bytes come back. If the host rewrote its file in between, none
// of its servers is lost.
func FuzzRoundTrip(f *testing.F) {
	for _, c := range cases {
		f.Add(c.host, c.before)
	}
	f.Add("cursor", "\uFEFF{\r\n\t\"mcpServers\" : {\r\n\t\t\"a\" : {\"command\":\"x\"} ,\r\n\t}\r\n}")
	f.Add("codex", "[mcp_servers.a]\ncommand='x'")
	f.Add("goose", "extensions:\n    a:\n        cmd: x\n        type: stdio")
	f.Add("goose", "{extensions: {a: {cmd: x, type: stdio}, \"b\": {cmd: 'y'}}}")
	f.Add("continue", "mcpServers: [\n  # one\n  {name: a, command: x}\n]")
	f.Add("codex", "mcp_servers={a={command='x'}}")
	f.Add("continue", "mcpServers: [{command: [00]},{0}]")
	f.Add("goose", "extensions: {a: {cmd: !!str \"x,}\", type: stdio}, ? \"b\" : {cmd: 'y''z', type: stdio} }\nother: 1")
	f.Add("goose", "a: &a {q: 1}\nextensions: &e\n  # c\n  ! {a: {cmd: &k 'x', type: stdio}, b: {cmd: *k, type: stdio}, c : {cmd: x#y, type: stdio} # d\n }")
	f.Add("continue", "mcpServers: [{name: a, command: x, args: ['a', \"b\\\"]\"]}, name: b, {name: c, command: it's}]")
	f.Add("codex", "mcp_servers.a={command=\"x\"}\nmcp_servers.b.command='y'\n[mcp_servers.c] # z\ncommand=\"\"\"a\"\"\"\"\"\n[mcp_servers]\nd={command='x'}")
	f.Add("codex", "[mcp_servers.a]\ncommand='x'\n[other]\nk=1\n[mcp_servers.a.env]\nX='1'\n[mcp_servers.\"b c\"]\ncommand='y'")
	f.Add("codex", "[mcp_servers]\r\na.command='x'\r\na.args=[\r\n'y'] # z\r\n[mcp_servers.b]\r\ncommand='b'")
	f.Fuzz(func(t *testing.T, host, text string) {
		hosts, err := Find([]string{host})
		if err != nil || host == "" {
			return
		}
		file := &hosts[0].Files[0]
		m := Machine{Home: t.TempDir(), OS: "linux", Getenv: func(string) string { return "" }}
		path := m.path(&hosts[0], file.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := optionsFor(m, host)
		plan := connect(t, o)
		if !plan.Changes() {
			return
		}
		moved := 0
		for _, c := range plan.Hosts[0].Changes {
			for _, s := range c.Servers {
				if s.Stays == "" {
					moved++
				}
			}
		}
		served := 0
		paths, _ := filepath.Glob(filepath.Join(o.Folder, "*.mcp.json"))
		for _, p := range paths {
			list, err := readServing(p)
			if err != nil {
				t.Fatal(err)
			}
			served += len(list)
		}
		if served != moved {
			t.Errorf("%d servers moved, %d are served", moved, served)
		}
		disconnect(t, o)
		if now := read(t, path); now != text {
			t.Errorf("got back %q, want %q", now, text)
		}
		// The host rewrites the file in between, with one more server.
		connect(t, o)
		written := read(t, path)
		rewritten, place := written+"\n", strings.Join(file.Servers, ".")
		if doc, err := open(file, []byte(rewritten)); err != nil {
			t.Fatalf("what connect wrote cannot be read: %v: %q", err, written)
		} else if !strings.Contains(place, "*") {
			raw := ""
			entries, err := doc.entries(file.Servers)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.name == entryNames[file.Scope] {
					raw = strings.ReplaceAll(e.raw, "callgate", "zz-late")
				}
			}
			if raw != "" && doc.insert(file.Servers, entry{name: "zz-late", raw: raw}, "") == nil {
				rewritten = string(doc.bytes())
			}
		}
		if err := os.WriteFile(path, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, u := range disconnect(t, o) {
			if len(u.Conflicts) > 0 {
				t.Errorf("from %q by %q: conflicts %q", text, rewritten, u.Conflicts)
			}
		}
		want, got := serversIn(t, file, text), serversIn(t, file, read(t, path))
		delete(got, "zz-late")
		if !maps.Equal(want, got) {
			t.Errorf("from  %q\nby    %q\nto    %q\nwant %v\ngot  %v", text, rewritten, read(t, path), want, got)
		}
	})
}

// serversIn returns the servers in a host's file, with their contents.
func serversIn(t *testing.T, f *File, text string) map[string]string {
	t.Helper()
	doc, err := open(f, []byte(text))
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	places, err := expandPlaces(doc, f.Servers)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, place := range places {
		entries, err := doc.entries(place)
		if err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		for _, e := range entries {
			value, err := json.Marshal(e.value)
			if err != nil {
				t.Fatal(err)
			}
			name := e.name
			if len(places) > 1 {
				name = strings.Join(place, ".") + "." + name
			}
			all[name] = string(value)
		}
	}
	return all
}
