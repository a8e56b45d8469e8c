package install

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// Server is an entry of callgate's own file, with the members of "mcpServers".
type Server struct {
	Type       string            `json:"type,omitempty"`
	Command    string            `json:"command,omitempty"`
	Args       []string          `json:"args,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Cwd        string            `json:"cwd,omitempty"`
	URL        string            `json:"url,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	AllowTools []string          `json:"allowTools,omitempty"`
	HideTools  []string          `json:"hideTools,omitempty"`
}

// Names of members in hosts' files.
var (
	commandMembers = []string{"command", "cmd"}
	envMembers     = []string{"env", "environment", "envs"}
	urlMembers     = []string{"httpUrl", "url", "serverUrl", "uri"}
	headerMembers  = []string{"headers", "http_headers", "requestInit"}
	allowMembers   = []string{"includeTools", "enabled_tools"}
	hideMembers    = []string{"excludeTools", "disabled_tools", "disabledTools"}
	cwdMembers     = []string{"cwd", "workingDirectory"}
)

// onlyHostMembers lists members for what only the host can provide: variables from a file, headers from a program, an
// identity.
var onlyHostMembers = []string{"envFile", "headersHelper", "authProviderType", "targetAudience"}

// types maps hosts' names for transports to callgate's; "" means that callgate detects it.
var types = map[string]string{
	"": "", "stdio": "stdio", "local": "stdio", "custom": "stdio", "remote": "", "http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http", "sse": "sse",
}

// variables lists the variables that well-known servers need from the host's environment. callgate passes none on by
// default.
var variables = []struct {
	word  string // in the command or its arguments
	names []string
}{
	{"server-github", []string{"GITHUB_PERSONAL_ACCESS_TOKEN", "GITHUB_TOKEN"}},
	{"github-mcp-server", []string{"GITHUB_PERSONAL_ACCESS_TOKEN", "GITHUB_TOKEN", "GITHUB_HOST"}},
	{"server-gitlab", []string{"GITLAB_PERSONAL_ACCESS_TOKEN", "GITLAB_API_URL"}},
	{"slack", []string{"SLACK_BOT_TOKEN", "SLACK_TEAM_ID", "SLACK_CHANNEL_IDS", "SLACK_MCP_XOXP_TOKEN"}},
	{"brave-search", []string{"BRAVE_API_KEY"}},
	{"exa-mcp", []string{"EXA_API_KEY"}},
	{"tavily", []string{"TAVILY_API_KEY"}},
	{"notion", []string{"NOTION_TOKEN", "OPENAPI_MCP_HEADERS"}},
	{"supabase", []string{"SUPABASE_ACCESS_TOKEN"}},
	{"postgres", []string{"DATABASE_URL", "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"}},
	{"mysql", []string{"MYSQL_HOST", "MYSQL_PORT", "MYSQL_USER", "MYSQL_PASSWORD", "MYSQL_DATABASE"}},
	{"mongodb", []string{"MDB_MCP_CONNECTION_STRING", "MONGODB_URI"}},
	{"redis", []string{"REDIS_URL", "REDIS_HOST", "REDIS_PWD"}},
	{"stripe", []string{"STRIPE_SECRET_KEY"}},
	{"sentry", []string{"SENTRY_ACCESS_TOKEN", "SENTRY_AUTH_TOKEN", "SENTRY_HOST"}},
	{"linear", []string{"LINEAR_API_KEY"}},
	{"figma", []string{"FIGMA_API_KEY"}},
	{"kubernetes", []string{"KUBECONFIG"}},
	{"aws", []string{"AWS_PROFILE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}},
	{"docker", []string{"DOCKER_HOST"}},
}

// Reasons why an entry stays although nothing bypasses the gate.
const (
	itself   = "it is callgate"
	disabled = "it is disabled"
	partOf   = "it is a part of " // the host: a built-in tool
)

// Ungated reports whether the server stays and the host still starts it.
func (f *Found) Ungated() bool {
	return f.Stays != "" && f.Stays != disabled && !strings.HasPrefix(f.Stays, partOf)
}

// read turns a host's entry into a Server. why is the reason why the entry must stay; "" if it can move.
func (p *Plan) read(h *Host, e *entry, l *located) (s Server, why string) {
	v := e.value
	if why := h.keeps(v); why != "" {
		return s, why
	}
	r := reader(v)
	kind, known := types[text(cmp.Or[any](v["type"], v["source"], ""))]
	if !known {
		return s, fmt.Sprintf("callgate does not know its type %q", text(cmp.Or[any](v["type"], v["source"])))
	}
	s.Type = kind
	s.readProcess(r)
	for _, name := range slices.Concat(r.strings("env_vars"), r.strings("env_keys")) {
		if v["env_keys"] != nil && s.Env[name] == "" && p.machine.Getenv(name) == "" {
			return s, "only the host knows its secret " + name
		}
		s.set(name, "${"+name+":-}")
	}
	s.AllowTools, s.HideTools = listOf(r.member(allowMembers)), listOf(r.member(hideMembers))
	if tools := r.strings("tools"); len(tools) > 0 && !slices.Contains(tools, "*") {
		s.AllowTools = tools
	}
	s.readAddress(r)
	if s.Type == "" && s.URL != "" && h.meansSSE(v, s.URL) {
		s.Type = "sse"
	}
	if s.Command != "" && s.Command == p.options.Callgate {
		return s, itself
	}
	if why := s.unfit(); why != "" {
		return s, why
	}
	if s.Type == "stdio" {
		s.Type = ""
	}
	if why := p.expand(&s, h, l); why != "" {
		return s, why
	}
	p.pass(&s)
	return s, ""
}

// keeps returns why only the host can use an entry; "" if callgate can too.
func (h *Host) keeps(v map[string]any) string {
	off, _ := v["disabled"].(bool)
	on, set := v["enabled"].(bool)
	switch {
	case v == nil:
		return "it is not a JSON object"
	case off, set && !on:
		return disabled
	case v["type"] == "builtin" || v["type"] == "platform":
		return partOf + h.Name
	}
	for _, name := range onlyHostMembers {
		if v[name] != nil {
			return "only the host knows what its " + name + " gives"
		}
	}
	return ""
}

// meansSSE reports whether the address is in the host's member for HTTP+SSE.
func (h *Host) meansSSE(entry map[string]any, address string) bool {
	return h.SSE != "" && text(entry[h.SSE]) == address && entry["httpUrl"] == nil
}

// unfit returns why a server cannot be moved; "" if it can.
func (s *Server) unfit() string {
	switch {
	case s.Command == "" && s.URL == "":
		return "it has no command and no address"
	case s.Command != "" && s.URL != "":
		return "it has a command and an address"
	case strings.TrimSuffix(strings.ToLower(filepath.Base(filepath.ToSlash(s.Command))), ".exe") == "callgate":
		return itself
	}
	return ""
}

// readProcess reads how to start the server.
func (s *Server) readProcess(r reader) {
	switch command := r.member(commandMembers).(type) {
	case string:
		s.Command, s.Args = command, r.strings("args")
	case []any: // the command and its arguments in one list
		if words := listOf(command); len(words) > 0 {
			s.Command, s.Args = words[0], words[1:]
		}
	case map[string]any: // {path, args, env}
		s.Command, s.Args = text(command["path"]), listOf(command["args"])
		s.Env = mapOf(command["env"])
	}
	for name, value := range mapOf(r.member(envMembers)) {
		s.set(name, value)
	}
	s.Cwd = text(r.member(cwdMembers))
}

// readAddress reads the server's address and headers.
func (s *Server) readAddress(r reader) {
	s.URL = text(r.member(urlMembers))
	s.Headers = mapOf(r.member(headerMembers))
	if name := text(r["bearer_token_env_var"]); name != "" {
		s.header("Authorization", "Bearer ${"+name+"}")
	}
	for name, variable := range mapOf(r["env_http_headers"]) {
		s.header(name, "${"+variable+"}")
	}
}

// set adds a variable unless it is already there.
func (s *Server) set(name, value string) {
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	if _, ok := s.Env[name]; !ok {
		s.Env[name] = value
	}
}

func (s *Server) header(name, value string) {
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	s.Headers[name] = value
}

// pass adds references to the variables that the server got from the host's environment. It never copies a value.
func (p *Plan) pass(s *Server) {
	words := strings.Join(append([]string{s.Command}, s.Args...), " ")
	for _, v := range variables {
		if s.Command == "" || !strings.Contains(words, v.word) {
			continue
		}
		for _, name := range v.names {
			if p.machine.Getenv(name) != "" {
				s.set(name, "${"+name+":-}")
			}
		}
	}
}

var (
	hostVariable  = lazyregexp.New(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	bareVariable  = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	otherVariable = lazyregexp.New(`\$\{(workspaceFolder|workspaceRoot|workspaceFolderBasename|userHome|pathSeparator|/|input:[^}]*|config:[^}]*|command:[^}]*|file[A-Za-z]*)\}|\$\{\{[^}]*\}\}|\{file:[^}]*\}`)
)

// expand translates a host's variables into callgate's. why names a variable that only the host knows;
// "" if there is none.
func (p *Plan) expand(s *Server, h *Host, l *located) (why string) {
	one := func(value string) string {
		if l.plugins != nil {
			value = strings.ReplaceAll(strings.ReplaceAll(value, l.plugins.Root, l.folder), "${/}", string(os.PathSeparator))
		}
		if h.Dollar {
			value = bareVariable.ReplaceAllString(value, "$${$1}")
		}
		value = hostVariable.ReplaceAllString(value, "$${$1$2}")
		return otherVariable.ReplaceAllStringFunc(value, func(v string) string {
			switch {
			case v == "${userHome}":
				return p.machine.Home
			case v == "${pathSeparator}" || v == "${/}":
				return string(os.PathSeparator)
			case (v == "${workspaceFolder}" || v == "${workspaceRoot}") && l.Scope == "project" && p.machine.Project != "":
				return p.machine.Project
			}
			why = "only the host knows what " + v + " is"
			return v
		})
	}
	s.Command, s.Cwd, s.URL = one(s.Command), one(s.Cwd), one(s.URL)
	for i := range s.Args {
		s.Args[i] = one(s.Args[i])
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for k, v := range m {
			m[k] = one(v)
		}
	}
	return why
}

// reader looks up members by hosts' names.
type reader map[string]any

func (r reader) member(names []string) any {
	for _, name := range names {
		if v, ok := r[name]; ok {
			if inner, ok := v.(map[string]any); ok && name == "requestInit" {
				return inner["headers"]
			}
			return v
		}
	}
	return nil
}

func (r reader) strings(name string) []string { return listOf(r[name]) }

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64, bool:
		b, _ := json.Marshal(v) // of a number or bool: cannot fail
		return string(b)
	}
	return ""
}

func listOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		out = append(out, text(x))
	}
	return out
}

func mapOf(v any) map[string]string {
	m, _ := v.(map[string]any)
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, x := range m {
		out[k] = text(x)
	}
	return out
}
