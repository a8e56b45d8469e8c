package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools/kinds"
	"callgate/permissions"
)

// TestCatalogue checks what the catalogue says of every tool that touches more than its own server, and of one harmless
// tool for each server.
func TestCatalogue(t *testing.T) {
	for _, c := range []struct {
		pkg, tool string
		kind      string
		primary   string
		risk      permissions.Risk
	}{
		{"callgate-demo", "read_file", KindReadFile, "path", permissions.ReadOnly},
		{"callgate-demo", "write_file", KindWriteFile, "path", permissions.Write},
		{"callgate-demo", "edit_file", KindEditFile, "path", permissions.Write},
		{"callgate-demo", "glob", KindGlob, "pattern", permissions.ReadOnly},
		{"callgate-demo", "grep", KindGrep, "path", permissions.ReadOnly},
		{"callgate-demo", "shell_exec", KindShell, "command", permissions.ReadOnly},
		{"@modelcontextprotocol/server-filesystem", "read_text_file", KindReadFile, "path", permissions.ReadOnly},
		{"@modelcontextprotocol/server-filesystem", "read_multiple_files", KindReadFile, "paths", permissions.ReadOnly},
		{"@modelcontextprotocol/server-filesystem", "write_file", KindWriteFile, "path", permissions.Write},
		{"@modelcontextprotocol/server-filesystem", "edit_file", KindEditFile, "path", permissions.Write},
		{"@modelcontextprotocol/server-filesystem", "move_file", KindMoveFile, "source", permissions.Write},
		{"@modelcontextprotocol/server-filesystem", "search_files", KindGlob, "pattern", permissions.ReadOnly},
		{"@modelcontextprotocol/server-filesystem", "list_directory", KindGlob, "path", permissions.ReadOnly},
		{"@modelcontextprotocol/server-filesystem", "list_allowed_directories", "", "", permissions.ReadOnly},
		{"@modelcontextprotocol/server-everything", "get-env", "", "", permissions.Unknown},
		{"@modelcontextprotocol/server-everything", "echo", "", "", permissions.ReadOnly},
		{"@modelcontextprotocol/server-memory", "search_nodes", "", "", permissions.ReadOnly},
		{"@modelcontextprotocol/server-memory", "delete_entities", "", "", permissions.Destructive},
		{"@modelcontextprotocol/server-sequential-thinking", "sequentialthinking", "", "", permissions.ReadOnly},
		{"@wonderwhy-er/desktop-commander", "start_process", KindShell, "command", permissions.ReadOnly},
		{"@wonderwhy-er/desktop-commander", "interact_with_process", KindProcessInput, "input", permissions.Unknown},
		{"@wonderwhy-er/desktop-commander", "edit_block", KindEditFile, "file_path", permissions.Write},
		{"@wonderwhy-er/desktop-commander", "start_search", KindGrep, "path", permissions.ReadOnly},
		{"@wonderwhy-er/desktop-commander", "set_config_value", "", "", permissions.Destructive},
		{"mcp-server-commands", "run_command", KindShell, "command", permissions.ReadOnly},
		{"@agent-infra/mcp-server-commands", "run_script", KindShell, "script", permissions.ReadOnly},
		{"@mako10k/mcp-shell-server", "shell_execute", KindShell, "command", permissions.ReadOnly},
		{"@mako10k/mcp-shell-server", "terminal_operate", KindShell, "command", permissions.ReadOnly},
		{"ssh-mcp", "run-command", KindShell, "command", permissions.ReadOnly},
		{"ssh-mcp", "privileged-command", KindShell, "command", permissions.Escalation},
		{"kubernetes-mcp-server", "pods_exec", KindShell, "command", permissions.ReadOnly},
		{"kubernetes-mcp-server", "pods_delete", "", "", permissions.Destructive},
		{"mcp-server-git", "git_status", "", "", permissions.ReadOnly},
		{"mcp-server-git", "git_commit", "", "", permissions.Write},
		{"mcp-server-fetch", "fetch", KindFetch, "url", permissions.Network},
		{"mcp-server-time", "get_current_time", "", "", permissions.ReadOnly},
		{"mcp-server-sqlite", "read_query", "", "", permissions.ReadOnly},
		{"@modelcontextprotocol/server-postgres", "query", "", "", permissions.ReadOnly},
		{"@playwright/mcp", "browser_navigate", KindFetch, "url", permissions.Network},
		{"@playwright/mcp", "browser_run_code_unsafe", "", "", permissions.Unknown},
		{"chrome-devtools-mcp", "evaluate_script", "", "", permissions.Unknown},
		{"chrome-devtools-mcp", "new_page", KindFetch, "url", permissions.Network},
	} {
		tool := Describe(Server{Name: "srv", Packages: []string{c.pkg}}, c.tool, "srv_"+c.tool, nil)
		if !tool.Bound || tool.Kind != c.kind || tool.baseRisk != c.risk || PrimaryArgument(tool) != c.primary {
			t.Errorf("%s %s: bound %v, kind %q, risk %v, primary %q; want kind %q, risk %v, primary %q",
				c.pkg, c.tool, tool.Bound, tool.Kind, tool.baseRisk, PrimaryArgument(tool), c.kind, c.risk, c.primary)
		}
		if !strings.Contains(tool.Why, c.pkg) {
			t.Errorf("%s %s: why %q", c.pkg, c.tool, tool.Why)
		}
	}
}

// The table is consistent: kinds exist, a tool of a kind has a value, a tool without a kind has a class and a category,
// and nothing is unmapped.
func TestCatalogueIsConsistent(t *testing.T) {
	for pkg, list := range catalogue() {
		for name, e := range list() {
			id := pkg + " " + name
			if e.kind == "" {
				if e.category == "" {
					t.Errorf("%s has no category", id)
				}
			} else if _, ok := kinds.Of[e.kind]; !ok {
				t.Errorf("%s: kind %q does not exist", id, e.kind)
			} else if PrimaryArgument(&Tool{Kind: e.kind, Roles: e.roles}) == "" {
				t.Errorf("%s has no value", id)
			}
			for argument, role := range e.roles {
				if role == Unmapped {
					t.Errorf("%s: %s is unmapped", id, argument)
				}
			}
		}
	}
}

func TestDescribeBinds(t *testing.T) {
	filesystem := "@modelcontextprotocol/server-filesystem"
	mapping := Mapping{Tool: "look", Kind: KindReadFile, Roles: map[string]Role{"what": kinds.ReadPath}}
	for _, c := range []struct {
		name   string
		server Server
		tool   string
		bound  bool
		kind   string
	}{
		{"the package is configured", Server{Packages: []string{filesystem}}, "read_text_file", true, KindReadFile},
		{"with a version", Server{Packages: []string{filesystem + "@2026.1.1"}}, "read_text_file", true, KindReadFile},
		{"by the binary", Server{Packages: []string{"mcp-server-filesystem"}}, "read_text_file", true, KindReadFile},
		{"PyPI version", Server{Packages: []string{"mcp-server-git==2.0"}}, "git_status", true, ""},
		{"another package", Server{Packages: []string{"evil-server"}}, "read_text_file", false, ""},
		{"a name that only contains it", Server{Packages: []string{"x-" + filesystem}}, "read_text_file", false, ""},
		{"no package", Server{}, "read_file", false, KindReadFile},
		{"a tool of a newer version", Server{Packages: []string{filesystem}}, "format_disk", false, ""},
		{"the user's mapping", Server{Mappings: []Mapping{mapping}}, "look", true, KindReadFile},
		{"the user's mapping is for another tool", Server{Mappings: []Mapping{mapping}}, "seek", false, ""},
		{"the user's mapping wins", Server{Packages: []string{filesystem}, Mappings: []Mapping{{Tool: "read_text_file", Kind: KindSkill}}}, "read_text_file", true, KindSkill},
		{"without a kind", Server{Mappings: []Mapping{{Tool: "look", Roles: map[string]Role{"a": Plain}, Risk: permissions.ReadOnly}}}, "look", true, ""},
		{"a kind that does not exist", Server{Mappings: []Mapping{{Tool: "look", Kind: "no_kind", Roles: map[string]Role{"a": Plain}}}}, "look", true, ""},
	} {
		tool := Describe(c.server, c.tool, "srv_"+c.tool, nil)
		if tool.Bound != c.bound || tool.Kind != c.kind {
			t.Errorf("%s: bound %v, kind %q, why %q", c.name, tool.Bound, tool.Kind, tool.Why)
		}
	}
	tool := Describe(Server{Mappings: []Mapping{{Tool: "look", Kind: "no_kind", Roles: map[string]Role{"a": Plain}}}}, "look", "srv_look", nil)
	if a := Analyze(Call{Tool: tool, Arguments: []byte(`{"a":1}`)}); !slices.Contains(codes(a), "unmapped-argument") || a.Risk != permissions.Unknown {
		t.Errorf("a mapping to no kind: %v %v", a.Risk, a.Marks)
	}
}

// A guess adds denies and risk; it never allows, and never makes the class lower than UNKNOWN.
func TestGuess(t *testing.T) {
	for _, c := range []struct {
		tool, schema string
		kind         string
		primary      string
		risk         permissions.Risk
	}{
		{"run_command", `"command":{"type":"string"}`, KindShell, "command", permissions.Unknown},
		{"bash", `"script":{"type":"string"}`, KindShell, "", permissions.Unknown},
		{"execute", `"cmd":{"type":"string"}`, KindShell, "cmd", permissions.Unknown},
		{"doTask", `"commandLine":{"type":"string"}`, KindShell, "commandLine", permissions.Unknown},
		{"readTextFile", `"filePath":{"type":"string"}`, KindReadFile, "filePath", permissions.Unknown},
		{"read_file", ``, KindReadFile, "", permissions.Unknown},
		{"save_document", `"path":{"type":"string"}`, KindWriteFile, "path", permissions.Unknown},
		{"str_replace_file", `"path":{"type":"string"}`, KindEditFile, "path", permissions.Unknown},
		{"remove-file", `"path":{"type":"string"}`, KindDeleteFile, "path", permissions.Destructive},
		{"rename_file", `"from":{},"to":{}`, KindMoveFile, "from", permissions.Unknown},
		{"search_flights", `"from":{},"to":{}`, "", "", permissions.Unknown},
		{"save_draft", `"to":{}`, "", "", permissions.Unknown},
		{"grep_code", `"pattern":{},"path":{}`, KindGrep, "path", permissions.Unknown},
		{"browse_page", `"url":{}`, KindFetch, "url", permissions.Unknown},
		{"send_keys_to_session", `"keys":{}`, KindProcessInput, "keys", permissions.Unknown},
		{"drop_table", `"table":{}`, "", "", permissions.Destructive},
		{"add_numbers", `"a":{},"b":{}`, "", "", permissions.Unknown},
		{"sampling", ``, "", "", permissions.Unknown},
	} {
		definition := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, c.tool, c.schema)
		tool := Describe(Server{Name: "srv"}, c.tool, "srv_"+c.tool, []byte(definition))
		if tool.Bound || tool.Kind != c.kind || PrimaryArgument(tool) != c.primary || tool.baseRisk != c.risk {
			t.Errorf("%s: bound %v, kind %q, primary %q, risk %v; want %q, %q, %v", c.tool, tool.Bound, tool.Kind,
				PrimaryArgument(tool), tool.baseRisk, c.kind, c.primary, c.risk)
		}
	}
}

func TestAnnotations(t *testing.T) {
	for _, c := range []struct {
		name   string
		server Server
		tool   string
		hints  string
		want   permissions.Risk
	}{
		{"a claim of a stranger lowers nothing", Server{}, "thing", `"readOnlyHint":true,"openWorldHint":false`, permissions.Unknown},
		{"of a trusted server it does", Server{Trusted: true}, "thing", `"readOnlyHint":true,"openWorldHint":false`, permissions.ReadOnly},
		{"whose tool's name says otherwise", Server{Trusted: true}, "delete_customer", `"readOnlyHint":true,"openWorldHint":false`, permissions.Destructive},
		{"or ends otherwise", Server{Trusted: true}, "search_and_send", `"readOnlyHint":true,"openWorldHint":false`, permissions.Unknown},
		{"a noun is no verb", Server{Trusted: true}, "message_stats", `"readOnlyHint":true,"openWorldHint":false`, permissions.ReadOnly},
		{"and open world raises that", Server{Trusted: true}, "thing", `"readOnlyHint":true,"openWorldHint":true`, permissions.Network},
		{"trusted and not destructive", Server{Trusted: true}, "thing", `"readOnlyHint":false,"destructiveHint":false`, permissions.Write},
		{"trusted and silent", Server{Trusted: true}, "thing", ``, permissions.Unknown},
		{"destructive raises", Server{}, "thing", `"destructiveHint":true`, permissions.Destructive},
		{"open world does not lower", Server{}, "thing", `"openWorldHint":true`, permissions.Unknown},
		{"destructive and read-only contradict", Server{}, "thing", `"destructiveHint":true,"readOnlyHint":true`, permissions.Unknown},
		{"what libraries fill in says nothing", Server{}, "thing", `"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true`, permissions.Unknown},
		{"more than the catalogue says raises", Server{Packages: []string{"@modelcontextprotocol/server-memory"}}, "read_graph", `"destructiveHint":true,"openWorldHint":true`, permissions.Destructive},
		{"the catalogue knows kinds better", Server{Packages: []string{"@modelcontextprotocol/server-filesystem"}}, "write_file", `"destructiveHint":true`, permissions.Write},
		{"also of what a trusted server says", Server{Packages: []string{"@modelcontextprotocol/server-filesystem"}, Trusted: true}, "write_file", `"readOnlyHint":true`, permissions.Write},
	} {
		tool := Describe(c.server, c.tool, "srv_"+c.tool, []byte(`{"name":"x","annotations":{`+c.hints+`}}`))
		if got := Analyze(Call{Tool: tool, Arguments: object(t, "path", "x"), Place: Place{Dir: t.TempDir()}}).Risk; got != c.want && c.tool != "read_graph" {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if tool.baseRisk != c.want {
			t.Errorf("%s: base %v, want %v", c.name, tool.baseRisk, c.want)
		}
	}
}

func TestDescribeReadsNothingFromBrokenDefinitions(t *testing.T) {
	for _, definition := range []string{``, `{`, `[]`, `{"inputSchema":7}`, `{"inputSchema":{"properties":[]}}`, `{"annotations":{"readOnlyHint":"yes"}}`,
		`{"name":"a","name":"b"}`, "\xff"} {
		tool := Describe(Server{Name: "srv", Trusted: true}, "thing", "srv_thing", []byte(definition))
		if tool.Bound || tool.Kind != "" || tool.baseRisk != permissions.Unknown {
			t.Errorf("%q: %+v", definition, tool)
		}
	}
	if a, b := Describe(Server{}, "x", "x", []byte(`{}`)), Describe(Server{}, "x", "x", []byte(`{ }`)); a.Hash == b.Hash || len(a.Hash) != 64 {
		t.Errorf("hashes %q and %q", a.Hash, b.Hash)
	}
	if tool := Describe(Server{}, "x", "x", nil); tool.Hash != "" {
		t.Errorf("hash of no definition: %q", tool.Hash)
	}
}

func TestKindTool(t *testing.T) {
	if KindTool("no_kind") != nil {
		t.Error("a kind that does not exist is a tool")
	}
	want := map[string]string{
		KindReadFile: "path", KindWriteFile: "path", KindEditFile: "path", KindDeleteFile: "path", KindMoveFile: "source",
		KindGlob: "pattern", KindGrep: "path", KindShell: "command", KindFetch: "url", KindSkill: "name",
		KindProcessInput: "input", KindResource: "uri", KindPrompt: "name", KindSampling: "server", KindConnect: "to", kinds.KindSandboxRead: "path", kinds.KindSandboxWrite: "path",
	}
	if got := Kinds(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("kinds %q", got)
	}
	for kind, primary := range want {
		tool := KindTool(kind)
		if !tool.Bound || tool.Kind != kind || tool.Qualified != kind || PrimaryArgument(tool) != primary {
			t.Errorf("%s: %+v, primary %q", kind, tool, PrimaryArgument(tool))
		}
	}
	if PrimaryArgument(&Tool{}) != "" {
		t.Error("a tool without kind has a primary argument")
	}
}

func TestRoleNames(t *testing.T) {
	for r := Plain; int(r) < len(kinds.RoleNames); r++ {
		if got, err := ParseRole(r.String()); err != nil || got != r {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
	for _, s := range []string{"", "unmapped", "Path"} {
		if _, err := ParseRole(s); err == nil {
			t.Errorf("ParseRole(%q) succeeds", s)
		}
	}
}

func TestWordsOf(t *testing.T) {
	for in, want := range map[string][]string{
		"readTextFile": {"read", "text", "file"}, "run-command": {"run", "command"}, "git_status": {"git", "status"},
		"A.b c": {"a", "b", "c"}, "": nil, "__": nil, "größeÄndern": {"größe", "ändern"}, "x\xffy": {"x", "y"},
	} {
		if got := wordsOf(in); !slices.Equal(got, want) {
			t.Errorf("wordsOf(%q) = %q, want %q", in, got, want)
		}
	}
}

// What a person says of an unknown tool counts as the catalogue does, for effect and roles. But an argument that could
// be a path or a command still has to be named.
func TestLabelsOfTheConfiguration(t *testing.T) {
	definition := []byte(`{"name":"post","inputSchema":{"properties":{"room":{"type":"string"},"text":{"type":"string"},"path":{"type":"string"}}}}`)
	describe := func(l Labels, definition []byte, trusted bool) *Tool {
		return Describe(Server{Name: "chat", Trusted: trusted, Mappings: []Mapping{{Tool: "post", Labels: l}}}, "post", "chat_post", definition)
	}
	tool := describe(Labels{Effect: EffectOutside, Returns: []string{ReturnsPrivate}, Destination: []string{"room"}, Content: []string{"text"}}, definition, false)
	if tool.Risk() != permissions.Network || tool.Labels.Effect != EffectOutside || !tool.Bound {
		t.Errorf("%+v", tool)
	}
	if tool.Roles["room"] != Plain || tool.Roles["text"] != Plain || tool.Roles["path"] != Unmapped {
		t.Errorf("roles %v", tool.Roles)
	}
	// A plain name in an argument that may be a path does not ask, and what rules deny of files stays denied.
	for arguments, asks := range map[string]bool{
		`{"room":"a","path":"bill-2023.txt"}`: false, `{"path":["a.txt","Riverside hotel"]}`: false, `{"path":""}`: false,
		`{"path":"a/b.txt"}`: true, `{"path":"../b.txt"}`: true, `{"path":".env"}`: true, `{"path":"~"}`: true, `{"path":"C:b"}`: true, `{"path":["a.txt","/etc/passwd"]}`: true, `{"path":{"x":"a"}}`: true,
	} {
		a := Analyze(Call{Tool: tool, Arguments: []byte(arguments), Place: Place{Dir: "/w", Home: "/home/me"}})
		if slices.Contains(codes(a), "unmapped-argument") != asks {
			t.Errorf("%s: marks %v", arguments, a.Marks)
		}
		if strings.Contains(arguments, "bill-2023.txt") && !slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool { return s.DeniesOnly && s.Value == "/w/bill-2023.txt" }) {
			t.Errorf("%s: no deny of the file could hold: %+v", arguments, a.Subjects)
		}
	}
	// The same holds if nobody asked the server for its tools, as in callgate check.
	unseen := describe(Labels{Effect: EffectMoney, Destination: []string{"to"}}, nil, false)
	for arguments, asks := range map[string]bool{`{"to":"a","amount":5,"subject":"x"}`: false, `{"to":"a","command":"ls"}`: true} {
		if a := Analyze(Call{Tool: unseen, Arguments: []byte(arguments), Place: Place{Dir: "/w"}}); slices.Contains(codes(a), "unmapped-argument") != asks {
			t.Errorf("%s: marks %v", arguments, a.Marks)
		}
	}
	// What a server says of its results adds to their labels.
	for annotations, want := range map[string][]string{
		`{}`: {ReturnsPublic}, `{"privateHint":true}`: {ReturnsPublic, ReturnsPrivate}, `{"sensitiveHint":"high","unsafeOutputHint":true}`: {ReturnsPublic, ReturnsSecret, ReturnsUntrusted},
		`{"sensitiveHint":"low","privateHint":false}`: {ReturnsPublic}, `{"maliciousActivityHint":true}`: {ReturnsPublic, ReturnsUntrusted}, `{"sensitiveHint":{},"privateHint":"x"}`: {ReturnsPublic},
	} {
		if got := describe(Labels{Effect: EffectNone, Returns: []string{ReturnsPublic}}, []byte(`{"name":"post","annotations":`+annotations+`}`), false).Labels.Returns; !slices.Equal(got, want) {
			t.Errorf("%s: returns %v, want %v", annotations, got, want)
		}
	}
	for result, want := range map[string][]string{
		`{"content":[{"type":"text","text":"\"privateHint\":true"}]}`: nil, `{"_meta":{"openWorldHint":true}}`: {ReturnsUntrusted},
		`{"content":[{"type":"text","text":"x","annotations":{"secretHint":true}},{"_meta":{"sensitiveHint":"medium"}}]}`: {ReturnsSecret, ReturnsPrivate},
	} {
		if got := HintsOf([]byte(result)); !slices.Equal(got, want) {
			t.Errorf("%s: returns %v, want %v", result, got, want)
		}
	}
	for _, l := range []Labels{{Effect: "sends"}, {Returns: []string{"mine"}}} {
		if l.Check() == nil {
			t.Errorf("%+v passes", l)
		}
	}

	// A definition raises an effect and never lowers one. A trusted server's hints do neither, but a credential counts.
	for _, c := range []struct {
		effect, annotations, argument string
		trusted                       bool
		want                          string
	}{
		{EffectNone, `{}`, "a", false, EffectNone},
		{EffectNone, `{"readOnlyHint":false}`, "a", false, EffectOwn},
		{EffectNone, `{"readOnlyHint":false,"destructiveHint":true}`, "a", false, EffectDeletes},
		{EffectOwn, `{"readOnlyHint":true}`, "a", false, EffectOwn},
		{EffectOwn, `{"destructiveHint":true}`, "a", true, EffectOwn},
		{EffectOutside, `{"readOnlyHint":true}`, "a", false, EffectOutside},
		{EffectOwn, `{}`, "new_password", true, EffectAccess},
		{EffectOwn, `{}`, "page_token", false, EffectOwn},
	} {
		tool := describe(Labels{Effect: c.effect}, []byte(`{"name":"post","annotations":`+c.annotations+`,"inputSchema":{"properties":{"`+c.argument+`":{}}}}`), c.trusted)
		if tool.Labels.Effect != c.want || tool.Risk() != effectRisk[c.want] {
			t.Errorf("%+v: effect %q, risk %s", c, tool.Labels.Effect, tool.Risk())
		}
	}
}

// A label that says that a tool has no effect also says that it runs no code. So its text may be code without asking.
func TestCodeWithoutEffect(t *testing.T) {
	definition := []byte(`{"name":"format_code","inputSchema":{"properties":{"code":{"type":"string"},"command":{"type":"string"}}}}`)
	for effect, want := range map[string]Role{EffectNone: Plain, EffectOwn: Unmapped} {
		tool := Describe(Server{Mappings: []Mapping{{Tool: "*", Labels: Labels{Effect: effect}}}}, "format_code", "x_format_code", definition)
		if tool.Roles["code"] != want || tool.Roles["command"] != Unmapped {
			t.Errorf("effect %s: roles %v", effect, tool.Roles)
		}
	}
}
