package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"callgate/internal/lazyregexp"
	"callgate/proxy"
)

// mcpServer is one entry of a host's file. Other members concern only the host and are ignored.
type mcpServer struct {
	Type     string            `json:"type"`
	Command  string            `json:"command" toml:"command"`
	Args     []string          `json:"args" toml:"args"`
	Env      map[string]string `json:"env" toml:"env"`
	Cwd      string            `json:"cwd" toml:"cwd"`
	URL      string            `json:"url" toml:"url"`
	Headers  map[string]string `json:"headers" toml:"http_headers"`
	Disabled bool              `json:"disabled"`
	Others   jsontext.Value    `json:",embed" toml:"-"`

	// Of Codex.
	Enabled    *bool             `json:"-" toml:"enabled"`
	EnvNames   []string          `json:"-" toml:"env_vars"`             // passed on if they are set
	EnvHeaders map[string]string `json:"-" toml:"env_http_headers"`     // header → variable
	BearerName string            `json:"-" toml:"bearer_token_env_var"` // variable
}

// mcpFile is a file in which hosts keep their servers: under "mcpServers" in most, and for each project in
// ~/.claude.json; under "servers" in VS Code's mcp.json, and under "mcp" in its settings.
type mcpFile struct {
	MCPServers jsontext.Value `json:"mcpServers"`
	Servers    jsontext.Value `json:"servers"`
	MCP        struct {
		Servers jsontext.Value `json:"servers"`
	} `json:"mcp"`
	Projects map[string]struct {
		MCPServers jsontext.Value `json:"mcpServers"`
	} `json:"projects"`
}

// readMCPConfig reads the servers of a host's file, in their order in the file. The case of keys counts, and a
// duplicate name is an error. If the file has several projects, it reads the one that the current folder belongs to.
func readMCPConfig(path string) ([]ServerConfig, error) {
	text, err := os.ReadFile(ExpandHome(path))
	if err != nil {
		return nil, fmt.Errorf("mcpConfig: %w", err)
	}
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return readCodexConfig(path, text)
	}
	plain, err := hujson.Standardize(slices.Clone(text)) // comments become spaces, so positions stay the same
	if err != nil {
		plain = text // the decoder reports the error
	}
	if len(bytes.TrimSpace(plain)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty", path)
	}
	var file mcpFile
	if err := json.Unmarshal(plain, &file); err != nil {
		return nil, explainJSON(path, text, "", err)
	}
	lists := []struct {
		at   string
		list jsontext.Value
	}{{"mcpServers", file.MCPServers}, {"servers", file.Servers}, {"mcp.servers", file.MCP.Servers}}
	if dir := projectOf(slices.Collect(maps.Keys(file.Projects))); dir != "" {
		lists = append(lists, lists[0])
		lists[len(lists)-1].at, lists[len(lists)-1].list = fmt.Sprintf("projects[%q].mcpServers", dir), file.Projects[dir].MCPServers
	}
	found := false
	var servers []ServerConfig
	for _, l := range lists {
		if l.list == nil {
			continue
		}
		found = true
		more, err := readMCPServers(path, l.at, l.list)
		if err != nil {
			return nil, explainJSON(path, text, l.at, err)
		}
		servers = append(servers, more...)
	}
	if !found && len(file.Projects) == 0 {
		return nil, fmt.Errorf(`%s: it has no "mcpServers" (or "servers", as in VS Code's mcp.json)`, path)
	}
	return servers, nil
}

// projectOf returns the innermost of the folders that holds the current one, or "" if none does.
func projectOf(dirs []string) (best string) {
	cwd, err := os.Getwd()
	if err != nil {
		return ""
	}
	for _, dir := range dirs {
		rel, err := filepath.Rel(dir, cwd)
		if err == nil && (rel == "." || filepath.IsLocal(rel)) && len(dir) > len(best) {
			best = dir
		}
	}
	return best
}

func readMCPServers(path, at string, list jsontext.Value) (servers []ServerConfig, err error) {
	var byName map[string]mcpServer
	if err := json.Unmarshal(list, &byName); err != nil {
		return nil, err
	}
	names, err := memberNames(list)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s := byName[name]
		one, err := s.config(name, fmt.Sprintf("%s: %s.%s", path, at, name))
		if err != nil {
			return nil, err
		}
		servers = append(servers, one)
	}
	return servers, nil
}

// readCodexConfig reads [mcp_servers.NAME] from ~/.codex/config.toml.
func readCodexConfig(path string, text []byte) ([]ServerConfig, error) {
	var file struct {
		Servers map[string]mcpServer `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(text, &file); err != nil {
		if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := wrong.Position()
			return nil, fmt.Errorf("%s:%d:%d: %w", path, line, column, err)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Servers == nil {
		return nil, fmt.Errorf("%s: it has no [mcp_servers.NAME], as Codex has them", path)
	}
	var servers []ServerConfig
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		s := file.Servers[name]
		for _, v := range s.EnvNames {
			if _, ok := os.LookupEnv(v); ok {
				s.Env = with(s.Env, v, "${"+v+"}")
			}
		}
		for header, v := range s.EnvHeaders {
			s.Headers = with(s.Headers, header, "${"+v+"}")
		}
		if s.BearerName != "" {
			s.Headers = with(s.Headers, "Authorization", "Bearer ${"+s.BearerName+"}")
		}
		s.Disabled = s.Enabled != nil && !*s.Enabled
		one, err := s.config(name, fmt.Sprintf("%s: mcp_servers.%s", path, name))
		if err != nil {
			return nil, err
		}
		servers = append(servers, one)
	}
	return servers, nil
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// config returns the entry as callgate.yaml would have it.
func (s *mcpServer) config(name, source string) (ServerConfig, error) {
	enabled := !s.Disabled
	c := ServerConfig{
		Name: proxy.Sanitize(name), Type: s.Type, Command: s.Command, Args: s.Args, Cwd: s.Cwd, URL: s.URL, Enabled: &enabled,
		Env: pairs(s.Env, "="), Headers: pairs(s.Headers, ": "), Source: source,
	}
	for _, text := range slices.Concat([]*string{&c.Command, &c.Cwd, &c.URL}, pointers(c.Args), pointers(c.Env), pointers(c.Headers)) {
		var err error
		if *text, err = translateVariables(*text); err != nil && enabled {
			return c, fmt.Errorf("%s: %w", source, err)
		}
	}
	if enabled && s.isCallgate() {
		return c, fmt.Errorf("%s: this is callgate itself, which the host starts: name the file of its servers instead%s", source, s.servers())
	}
	if c.Command == "" && c.URL == "" && enabled {
		err := fmt.Errorf(`%s: it needs either a "command" or a "url"`, source)
		if names, wrong := memberNames(s.Others); wrong == nil && len(names) > 0 {
			err = fmt.Errorf("%w; callgate does not know %s", err, strings.Join(names, ", "))
		}
		return c, err
	}
	return c, nil
}

// isCallgate reports whether a host starts callgate with this entry.
func (s *mcpServer) isCallgate() bool {
	return strings.TrimSuffix(filepath.Base(s.Command), ".exe") == "callgate" && slices.Contains(s.Args, "run")
}

// servers returns the options with which callgate's entry names files of servers, after a colon, or "" without any.
func (s *mcpServer) servers() string {
	var b strings.Builder
	for i, word := range s.Args {
		if file, ok := strings.CutPrefix(word, "--mcp-config="); ok {
			b.WriteString(" --mcp-config " + Quote(file))
		} else if word == "--mcp-config" && i+1 < len(s.Args) {
			b.WriteString(" --mcp-config " + Quote(s.Args[i+1]))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return ":" + b.String()
}

func pointers(list []string) []*string {
	out := make([]*string, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

var hostVariable = lazyregexp.New(`\$\{(env|input|workspaceFolder|userHome)(?::([^}]*))?\}`)

// translateVariables rewrites the variables of VS Code and Cursor as callgate's.
func translateVariables(text string) (string, error) {
	var missing error
	return hostVariable.ReplaceAllStringFunc(text, func(ref string) string {
		m := hostVariable.FindStringSubmatch(ref)
		switch m[1] {
		case "env":
			return "${" + m[2] + "}"
		case "userHome":
			return ExpandHome("~")
		case "workspaceFolder":
			dir, err := os.Getwd()
			missing = errors.Join(missing, err)
			return dir
		}
		missing = fmt.Errorf("%s: callgate cannot ask for inputs: put the value into an environment variable and write ${NAME}", ref)
		return ref
	}), missing
}

// explainJSON adds the line and column in the file to an error. at names the part of the file that the error's offset
// counts from; "" means the whole file.
func explainJSON(path string, text []byte, at string, err error) error {
	var offset int64
	var syntax *jsontext.SyntacticError
	var shape *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
		err = fmt.Errorf("this is not JSON: %w", syntax.Err)
		if errors.Is(syntax, jsontext.ErrDuplicateName) {
			err = fmt.Errorf("the name %q appears twice", syntax.JSONPointer.LastToken())
		}
	case errors.As(err, &shape):
		offset = shape.ByteOffset
		what := cmp.Or(strings.Trim(string(shape.JSONPointer), "/"), "the value")
		err = fmt.Errorf("%s cannot be %s", strings.ReplaceAll(what, "/", "."), article(shape.JSONKind))
	default:
		return err // it names its place
	}
	if at != "" {
		err = fmt.Errorf("%s: %w", at, err)
		if start := bytes.Index(text, []byte(`"`+at[strings.LastIndexByte(at, '.')+1:]+`"`)); start >= 0 {
			offset += int64(start + bytes.IndexByte(text[start:], '{'))
		}
	}
	if offset > int64(len(text)) {
		return fmt.Errorf("%s: %w", path, err)
	}
	before := text[:offset]
	return fmt.Errorf("%s:%d:%d: %w", path, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'), err)
}

// article returns a phrase for a kind of JSON value.
func article(k jsontext.Kind) string {
	words := map[jsontext.Kind]string{'n': "null", 't': "true", 'f': "false", '"': "text", '0': "a number", '{': "an object", '[': "a list"}
	if word := words[k]; word != "" {
		return word
	}
	return k.String()
}

// memberNames returns the names of an object's members, in their order.
func memberNames(object []byte) (names []string, err error) {
	dec := jsontext.NewDecoder(strings.NewReader(string(object)))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		names = append(names, name.String())
		if err := dec.SkipValue(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func pairs(m map[string]string, separator string) []string {
	list := make([]string, 0, len(m))
	for name, value := range m {
		list = append(list, name+separator+value)
	}
	slices.Sort(list)
	return list
}
