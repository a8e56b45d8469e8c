package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/guard"
)

// exchange is one request in a comparison of a server with the same server behind callgate.
type exchange struct {
	method, params string
	mask           string // regexp of what differs between runs; it is removed from both answers
}

// tool returns the exchange that calls a tool.
func tool(name, arguments string) exchange {
	return exchange{method: "tools/call", params: fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)}
}

func (e exchange) masked(pattern string) exchange {
	e.mask = pattern
	return e
}

// behind is a way to reach a server through callgate.
type behind struct {
	name   string
	prefix string // of tool and prompt names
	flags  []string
}

var (
	wrapped = behind{name: "wrap"}
	routed  = behind{name: "run", prefix: "s_"}
)

// ways lists the ways that this machine has.
func ways() []behind {
	if !sandboxes() {
		return []behind{wrapped, routed}
	}
	return []behind{wrapped, routed, {name: "sandbox", flags: []string{"--sandbox", "workspace"}}}
}

// sandboxes reports whether the kernel of this machine can enforce a sandbox.
func sandboxes() bool {
	return (&guard.Wall{Mode: guard.On, Box: &guard.Box{Net: guard.ProxyNet}}).Probe().Kind != guard.None
}

// environment returns what the server gets directly, and what callgate passes on to it.
func environment(t *testing.T) []string {
	return []string{"PATH=" + servers(t) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir()}
}

// direct starts the server itself.
func direct(t *testing.T, env []string, command ...string) *client {
	t.Helper()
	return begin(t, command[0], command[1:], env)
}

// start starts callgate with the server behind it and these rules. It denies what would ask, so that a test which
// should not ask fails instead of waiting.
func (b behind) start(t *testing.T, env []string, rules string, command ...string) *client {
	t.Helper()
	if b.prefix == "" {
		return begin(t, callgateProgram(t), slices.Concat([]string{"wrap", "--name", "s"}, b.flags, unprompted(t, rules), []string{"--"}, command), env)
	}
	return begin(t, callgateProgram(t), runsServer(t, rules, map[string]any{"name": "s", "command": command[0], "args": command[1:]}), env)
}

// unprompted returns the options of a separate callgate with these rules. It denies what would ask.
func unprompted(t *testing.T, rules string) []string {
	t.Helper()
	data := t.TempDir()
	write(t, filepath.Join(data, "workers", "default", "permissions.jsonc"), rules)
	return []string{"--data-dir", data, "--listen", "off", "--mode", "no-prompt"}
}

// runsServer returns the arguments of such a callgate with one server behind it.
func runsServer(t *testing.T, rules string, server map[string]any) []string {
	t.Helper()
	return runsConfigured(t, rules, map[string]any{"servers": []any{server}})
}

func runsConfigured(t *testing.T, rules string, config map[string]any) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text)) // JSON is YAML
	return append([]string{"run", "--config", file}, unprompted(t, rules)...)
}

// everywhere runs the reference server of the TypeScript SDK over each transport, and returns its entries in callgate's
// configuration, where it is named "s".
func everywhere(t *testing.T, command, env []string) map[string]map[string]any {
	t.Helper()
	servers := map[string]map[string]any{"stdio": {"name": "s", "command": command[0], "args": command[1:]}}
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		servers[transport] = map[string]any{"name": "s", "url": "http://" + listening(t, append(slices.Clone(command), transport), env) + path}
	}
	return servers
}

// begin starts a process, answers what servers ask of hosts, and initializes.
func begin(t *testing.T, path string, args, env []string) *client {
	t.Helper()
	if !filepath.IsAbs(path) {
		found, err := exec.LookPath(path)
		if err != nil {
			found = filepath.Join(servers(t), path)
		}
		path = found
	}
	c, err := startClient(path, args, t.TempDir(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	c.mu.Lock()
	c.answers = map[string]string{
		"roots/list":             `"result":{"roots":[{"uri":"file:///srv/project","name":"project"}]}`,
		"elicitation/create":     `"result":{"action":"accept","content":{"name":"Ada","check":true,"integer":42}}`,
		"sampling/createMessage": `"result":{"role":"assistant","content":{"type":"text","text":"sampled"},"model":"none","stopReason":"endTurn"}`,
	}
	c.mu.Unlock()
	if err := c.handshake(`{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ask makes the exchange, with prefix in front of the names that the host knows, and returns the whole response.
func ask(t *testing.T, c *client, i int, e exchange, prefix string) string {
	t.Helper()
	params := e.params
	if named := regexp.MustCompile(`^\{"name":"|^\{"ref":\{"type":"ref/prompt","name":"`); prefix != "" {
		params = named.ReplaceAllString(params, "${0}"+prefix)
	}
	response, err := c.request(fmt.Sprintf("%d-%s", i, e.method), e.method, params)
	if err != nil {
		t.Fatal(err)
	}
	if e.mask != "" {
		if !regexp.MustCompile(e.mask).Match(response) {
			t.Errorf("%s %s: nothing to mask in %s", e.method, e.params, response)
		}
		response = regexp.MustCompile(e.mask).ReplaceAll(response, []byte("MASKED"))
	}
	return string(response)
}

// askAll makes all exchanges in their order.
func askAll(t *testing.T, c *client, exchanges []exchange, prefix string) []string {
	t.Helper()
	responses := make([]string, len(exchanges))
	for i, e := range exchanges {
		responses[i] = ask(t, c, i, e, prefix)
	}
	return responses
}

// compare reports where the responses of callgate differ from the server's own. They must be the same bytes, except for
// lists, which callgate composes: there the names have a prefix, and only the result is compared.
func compare(t *testing.T, exchanges []exchange, want, got []string, prefix string) {
	t.Helper()
	for i, e := range exchanges {
		expected, actual := want[i], got[i]
		if strings.HasSuffix(e.method, "/list") {
			expected, actual = answerOf(t, prefixNames(t, expected, prefix)), answerOf(t, actual)
		}
		if expected != actual {
			t.Errorf("%s %s\n direct: %.1500s\n gated:  %.1500s\n%s", e.method, e.params, expected, actual, differenceOf(expected, actual))
		}
	}
}

// answerOf returns the raw result or error of a response.
func answerOf(t *testing.T, response string) string {
	t.Helper()
	var m struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal([]byte(response), &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Result) + string(m.Error)
}

// differenceOf shows where two texts start to differ.
func differenceOf(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-40)
	return fmt.Sprintf(" at byte %d: %.120q and %.120q", i, a[from:], b[from:])
}

// prefixNames puts the prefix in front of the name of every tool or prompt in a list response, and changes no other
// byte.
func prefixNames(t *testing.T, response, prefix string) string {
	t.Helper()
	if prefix == "" {
		return response
	}
	for _, name := range listedNames(t, response) {
		spelled := `"name":"` + name + `"`
		if !strings.Contains(response, spelled) {
			t.Fatalf("the name %q is spelled otherwise in %s", name, response)
		}
		response = strings.Replace(response, spelled, `"name":"`+prefix+name+`"`, 1)
	}
	return response
}

// listedNames returns the names of the tools or prompts in a list response.
func listedNames(t *testing.T, response string) (names []string) {
	t.Helper()
	var list struct {
		Result struct{ Tools, Prompts []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(response), &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range append(list.Result.Tools, list.Result.Prompts...) {
		names = append(names, item.Name)
	}
	return names
}

// calledTools returns the names of the tools that the exchanges call, sorted and without duplicates.
func calledTools(t *testing.T, exchanges []exchange) (names []string) {
	t.Helper()
	for _, e := range exchanges {
		var p struct{ Name string }
		if e.method != "tools/call" {
			continue
		}
		if err := json.Unmarshal([]byte(e.params), &p); err != nil {
			t.Fatal(err)
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// npmServer returns the command of a server that npm installed.
func npmServer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers of Node.js")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the real servers need Node.js: %v", err)
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("the servers to test with are not installed: run the tests with `make test`, which installs them (%v)", err)
	}
	return append([]string{node, script}, args...)
}

// untilListed lists the tools until there is one of that name, because some servers offer theirs one after the other.
func untilListed(t *testing.T, c *client, name string) {
	t.Helper()
	for i := 0; ; i++ {
		response, err := c.request(fmt.Sprintf("until-%d", i), "tools/list", "")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(listedNames(t, string(response)), name) {
			return
		}
		if _, err := c.notified("notifications/tools/list_changed"); err != nil {
			t.Fatal(err)
		}
	}
}

const allowAll = `{ "*": "allow" }`

// TestRealServers compares two well-known servers with themselves behind callgate, in both of its forms: every tool,
// prompt and resource, byte for byte.
func TestRealServers(t *testing.T) {
	t.Parallel()
	t.Run("filesystem", testFilesystem)
	t.Run("everything", testEverything)
	t.Run("deny", testDenyEnv)
}

// times matches what differs between the files of two runs.
const times = `(created|modified|accessed): [^\\"]*`

func testFilesystem(t *testing.T) {
	t.Parallel()
	box := filepath.Join(t.TempDir(), "box")
	at := func(path string) string { return filepath.Join(box, path) }
	files := map[string]string{
		"hello.txt": "Hello\nWorld\n", "other.txt": "line one\nline two\nline three \U0001F680\n", "sub/deep.txt": "deep\n", "sub/deeper/x.md": "# x\n",
		"pixel.png": "\x89PNG\r\n\x1a\n", "empty.txt": "",
	}
	reset := func() {
		if err := os.RemoveAll(box); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			write(t, at(name), text)
		}
	}
	call := func(name, format string, paths ...any) exchange {
		for i := range paths {
			paths[i] = at(paths[i].(string))
		}
		return tool(name, fmt.Sprintf(format, paths...))
	}
	exchanges := []exchange{
		{method: "tools/list"},
		call("list_allowed_directories", `{}`),
		call("read_file", `{"path":%q}`, "hello.txt"),
		call("read_text_file", `{"path":%q}`, "other.txt"),
		call("read_text_file", `{"path":%q,"head":1}`, "other.txt"),
		call("read_text_file", `{"path":%q,"tail":1}`, "other.txt"),
		call("read_text_file", `{"path":%q}`, "empty.txt"),
		call("read_text_file", `{"path":%q}`, "missing.txt"),
		call("read_text_file", `{"path":%q}`, "../outside.txt"),
		call("read_media_file", `{"path":%q}`, "pixel.png"),
		call("read_multiple_files", `{"paths":[%q,%q,%q]}`, "hello.txt", "sub/deep.txt", "missing.txt"),
		call("get_file_info", `{"path":%q}`, "hello.txt").masked(times),
		call("list_directory", `{"path":%q}`, "."),
		call("list_directory_with_sizes", `{"path":%q,"sortBy":"size"}`, "sub"),
		call("directory_tree", `{"path":%q,"excludePatterns":["*.md"]}`, "."),
		call("search_files", `{"path":%q,"pattern":"**/*.txt","excludePatterns":["sub/**"]}`, "."),
		call("write_file", `{"path":%q,"content":"new \u0041\n\"quoted\""}`, "made.txt"),
		call("read_text_file", `{"path":%q}`, "made.txt"),
		call("edit_file", `{"path":%q,"edits":[{"oldText":"World","newText":"Gate"}],"dryRun":true}`, "hello.txt"),
		call("edit_file", `{"path":%q,"edits":[{"oldText":"World","newText":"Gate"}]}`, "hello.txt"),
		call("edit_file", `{"path":%q,"edits":[{"oldText":"nowhere","newText":"x"}]}`, "hello.txt"),
		call("read_text_file", `{"path":%q}`, "hello.txt"),
		call("create_directory", `{"path":%q}`, "made/by/test"),
		call("move_file", `{"source":%q,"destination":%q}`, "made.txt", "made/moved.txt"),
		call("directory_tree", `{"path":%q}`, "made"),
		call("read_text_file", `{"path":%q,"head":"many"}`, "hello.txt"),
		call("edit_file", `{"path":%q,"edits":17}`, "hello.txt"),
	}
	command, env := npmServer(t, "server-filesystem", box), environment(t)
	reset()
	c := direct(t, env, command...)
	want := askAll(t, c, exchanges, "")
	offered := listedNames(t, want[0])
	slices.Sort(offered)
	if diff := cmp.Diff(offered, calledTools(t, exchanges)); diff != "" {
		t.Errorf("the table does not call every tool (-offered +called):\n%s", diff)
	}
	for _, b := range ways() {
		reset()
		c := b.start(t, env, allowAll, command...)
		untilListed(t, c, b.prefix+"read_text_file")
		got := askAll(t, c, exchanges, b.prefix)
		t.Run(b.name, func(t *testing.T) { compare(t, exchanges, want, got, b.prefix) })
	}
}

// everything returns all that the reference server offers.
func everything() []exchange {
	prompt := func(params string) exchange { return exchange{method: "prompts/get", params: params} }
	read := func(uri string) exchange {
		return exchange{method: "resources/read", params: fmt.Sprintf(`{"uri":%q}`, uri)}
	}
	const clock = `\d{1,2}:\d\d:\d\d( [AP]M)?`
	return []exchange{
		{method: "tools/list"}, {method: "prompts/list"}, {method: "resources/list"}, {method: "resources/templates/list"},
		tool("echo", `{"message":"hé \ud83d\ude80 \u0041"}`),
		tool("echo", `{"message":17}`),
		tool("get-annotated-message", `{"messageType":"error","includeImage":true}`),
		tool("get-annotated-message", `{"messageType":"debug"}`),
		tool("get-env", `{}`), // callgate adds nothing to a server's environment
		tool("get-resource-links", `{"count":3}`),
		tool("get-resource-reference", `{"resourceType":"Text","resourceId":1}`).masked(clock),
		tool("get-structured-content", `{"location":"Chicago"}`),
		tool("get-sum", `{"a":1.50,"b":9007199254740993}`),
		tool("get-tiny-image", `{}`),
		tool("get-roots-list", `{}`),
		tool("gzip-file-as-resource", `{"name":"a.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`),
		tool("trigger-long-running-operation", `{"duration":0.1,"steps":2}`),
		tool("trigger-elicitation-request", `{}`),
		tool("trigger-sampling-request", `{"prompt":"say it","maxTokens":10}`),
		tool("simulate-research-query", `{"topic":"gates","ambiguous":false}`),
		tool("toggle-simulated-logging", `{}`), tool("toggle-simulated-logging", `{}`),
		tool("toggle-subscriber-updates", `{}`), tool("toggle-subscriber-updates", `{}`),
		prompt(`{"name":"simple-prompt"}`),
		prompt(`{"name":"args-prompt","arguments":{"city":"Oslo","state":"\u0041"}}`),
		prompt(`{"name":"args-prompt","arguments":{}}`),
		prompt(`{"name":"completable-prompt","arguments":{"department":"Engineering","name":"Alice"}}`),
		prompt(`{"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"1"}}`).masked(clock),
		{method: "completion/complete", params: `{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"E"}}`},
		{method: "completion/complete", params: `{"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"1"}}`},
		read("demo://resource/dynamic/text/1").masked(clock),
		read("demo://resource/dynamic/blob/2").masked(`"blob":"[^"]*"`),
		read("demo://resource/dynamic/text/none"),
		read("demo://resource/static/document/features.md"),
		{method: "resources/subscribe", params: `{"uri":"demo://resource/dynamic/text/1"}`},
		{method: "resources/unsubscribe", params: `{"uri":"demo://resource/dynamic/text/1"}`},
	}
}

func testEverything(t *testing.T) {
	t.Parallel()
	exchanges := everything()
	command, env := npmServer(t, "server-everything"), environment(t)
	const last = "simulate-research-query"
	c := direct(t, env, command...)
	untilListed(t, c, last)
	want := askAll(t, c, exchanges, "")
	wantSteps := longRunning(t, c, "")
	offered := listedNames(t, want[0])
	slices.Sort(offered)
	if diff := cmp.Diff(offered, calledTools(t, exchanges)); diff != "" {
		t.Errorf("the table does not call every tool (-offered +called):\n%s", diff)
	}
	for _, b := range ways() {
		c := b.start(t, env, allowAll, command...)
		untilListed(t, c, b.prefix+last)
		got := askAll(t, c, exchanges, b.prefix)
		steps := longRunning(t, c, b.prefix)
		t.Run(b.name, func(t *testing.T) {
			if b.flags != nil { // the environment in a sandbox names its proxy
				i := slices.IndexFunc(exchanges, func(e exchange) bool { return strings.Contains(e.params, "get-env") })
				got[i] = want[i]
			}
			compare(t, exchanges, want, got, b.prefix)
			if diff := cmp.Diff(wantSteps, steps); diff != "" {
				t.Errorf("notifications and result of a long-running tool (-direct +gated):\n%s", diff)
			}
		})
	}
}

// longRunning calls a tool that sends progress, and returns the progress and the response, in order.
func longRunning(t *testing.T, c *client, prefix string) (lines []string) {
	t.Helper()
	_, err := c.request("long", "tools/call", `{"name":"`+prefix+`trigger-long-running-operation","arguments":{"duration":0.4,"steps":4},"_meta":{"progressToken":"\u0074ok"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.request("after", "ping", ""); err != nil {
		t.Fatal(err)
	}
	for _, line := range c.everything() {
		if strings.Contains(line, `"method":"notifications/progress"`) || strings.Contains(line, `"id":"long"`) {
			lines = append(lines, line)
		}
	}
	if len(lines) != 5 || !strings.Contains(lines[4], `"id":"long"`) {
		t.Errorf("want four progress notifications and then the result, got %q", lines)
	}
	return lines
}

// testDenyEnv reads a denied file through several tools of a real server. Directly each works, behind callgate none.
func testDenyEnv(t *testing.T) {
	t.Parallel()
	box := filepath.Join(t.TempDir(), "box")
	write(t, filepath.Join(box, ".env"), "SECRET=leaked\n")
	write(t, filepath.Join(box, "hello.txt"), "Hello\n")
	write(t, filepath.Join(box, "sub", "x.txt"), "x\n")
	if err := os.Symlink(".env", filepath.Join(box, "innocent.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(box, filepath.Join(box, "sub", "up")); err != nil {
		t.Fatal(err)
	}
	command, env := npmServer(t, "server-filesystem", box), environment(t)
	doors := []exchange{
		tool("read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(box, ".env"))),
		tool("read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(box, ".env"))),
		tool("read_multiple_files", fmt.Sprintf(`{"paths":[%q,%q]}`, filepath.Join(box, "hello.txt"), filepath.Join(box, ".env"))),
		tool("read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(box, "innocent.txt"))),
		tool("read_text_file", fmt.Sprintf(`{"path":%q}`, box+"/sub/../.env")),
		tool("read_text_file", fmt.Sprintf(`{"path":%q}`, box+"/sub/up/.env")),
		tool("read_text_file", fmt.Sprintf(`{"path":%q}`, box+"/./sub/..//.env")),
		tool("read_text_file", fmt.Sprintf(`{"path":%q,"head":1}`, filepath.Join(box, ".env"))),
		tool("edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"SECRET=leaked","newText":"SECRET=leaked"}],"dryRun":true}`, filepath.Join(box, ".env"))),
	}
	c := direct(t, env, command...)
	for i, e := range doors[:len(doors)-1] {
		if response := ask(t, c, i, e, ""); !strings.Contains(response, "leaked") {
			t.Errorf("%s does not open the file directly, so that nothing is tested: %s", e.params, response)
		}
	}
	const rules = `{ "*": "ask", "read_file": {"*": "allow", "*.env": "deny"}, "edit_file": {"*": "allow", "*.env": "deny"} }`
	for _, b := range []behind{wrapped, routed} {
		t.Run(b.name, func(t *testing.T) {
			c := b.start(t, env, rules, command...)
			untilListed(t, c, b.prefix+"read_text_file")
			for i, e := range doors {
				if response := ask(t, c, i, e, b.prefix); strings.Contains(response, "leaked") || !strings.Contains(response, "callgate denied") {
					t.Errorf("%s: %s", e.params, response)
				}
			}
			hello := ask(t, c, len(doors), tool("read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(box, "hello.txt"))), b.prefix)
			if !strings.Contains(hello, `Hello\n`) {
				t.Errorf("what is not denied is not read: %s", hello)
			}
		})
	}
}

// TestFidelity compares a server with awkward answers with itself behind callgate. The lines must be the same bytes,
// from the first brace to the last.
func TestFidelity(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	exchanges := []exchange{
		{method: "tools/list"}, {method: "prompts/list"}, {method: "resources/list"}, {method: "resources/templates/list"},
		tool("echo", `{}`),
		tool("echo", `{"n":[1.0,1e400,-0,9007199254740993,1E+2],"s":"\u0041\/\ud83d\ude80é","":{"z":1,"a":2},"K":null}`),
		tool("echo", "{ \"spaces\" :\t[ 1 , 2 ] }"),
		tool("echo", `{"text":"`+strings.Repeat("0123456789abcdef", 1<<16)+`"}`),
		{method: "tools/call", params: `{"name":"echo"}`},
		{method: "tools/call", params: `{"name":"echo","x-unknown":{"z":1.0,"a":[]},"arguments":{"k":1},"_meta":{"vendor.example/k":9007199254740993,"progressToken":1.0}}`},
		tool("every_keyword", `{"zulu":1.0}`), tool("unknown_content", `{}`), tool("numbers", `{}`), tool("escapes", `{}`),
		tool("is_error", `{}`), tool("is_no_error", `{}`), tool("bare", `{}`), tool("fail", `{}`), tool("envelope", `{}`),
		tool("big", `{}`), tool("slow", `{"ms":1}`), tool("cancelled", `{}`), tool("echo_env", `{}`),
		tool("ask_roots", `{}`), tool("ask_sampling", `{}`), tool("ask_elicitation", `{}`),
		{method: "prompts/get", params: `{"name":"greet","arguments":{"mood":"\u0041"}}`},
		{method: "resources/read", params: `{"uri":"awkward://fixed/%7Euser"}`},
		{method: "resources/read", params: `{"uri":"AWKWARD://Upper?q=1#f","x-unknown":1.0}`},
		{method: "resources/subscribe", params: `{"uri":"awkward://fixed/%7Euser"}`},
		{method: "resources/unsubscribe", params: `{"uri":"awkward://fixed/%7Euser"}`},
		{method: "completion/complete", params: `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"mood","value":"\u0041"},"context":{"arguments":{}}}`},
		{method: "completion/complete", params: `{"ref":{"type":"ref/resource","uri":"awkward://{+path}{?q*}"},"argument":{"name":"path","value":""}}`},
		tool("change_definition", `{}`),
	}
	env := environment(t)
	for _, args := range [][]string{nil, {"-noise"}} {
		command := append([]string{"awkward"}, args...)
		want := askAll(t, direct(t, env, command...), exchanges, "")
		if got := strings.Count(strings.Join(want, "\n"), `"error":{`); got != 1 {
			t.Errorf("%d exchanges are errors, want the one of the tool fail", got)
		}
		for _, b := range []behind{wrapped, routed} {
			t.Run(strings.Join(append([]string{b.name}, args...), ""), func(t *testing.T) {
				c := b.start(t, env, allowAll, command...)
				untilListed(t, c, b.prefix+"echo")
				compare(t, exchanges, want, askAll(t, c, exchanges, b.prefix), b.prefix)
				if _, err := c.notified("notifications/tools/list_changed"); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
