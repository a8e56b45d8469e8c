package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/adrg/xdg"

	"callgate/gate/tools"
	"callgate/internal/lazyregexp"
	"callgate/internal/remote"
	"callgate/internal/signin"
	"callgate/internal/supply"
	"callgate/internal/upstream"
	"callgate/permissions"
	"callgate/proxy"
)

// ServerConfigs returns the entries of all servers, including disabled ones.
func (c *Config) ServerConfigs() ([]ServerConfig, error) {
	all := slices.Clone(c.Servers)
	for _, path := range c.MCPConfig {
		more, err := readMCPConfig(path)
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].File = path
		}
		all = append(all, more...)
	}
	if c.base != "" {
		for i := range all {
			all[i].tenant = c.Worker
		}
	}
	return withoutCopies(all)
}

// tenantVariable stands for the tenant's name in a server's configuration.
const tenantVariable = "${CALLGATE_TENANT}"

// withoutCopies drops entries that are the same in several files. Two different servers with one name are an error.
func withoutCopies(all []ServerConfig) (kept []ServerConfig, err error) {
	for _, s := range all {
		if s.Enabled != nil && !*s.Enabled {
			kept = append(kept, s)
			continue
		}
		at := slices.IndexFunc(kept, func(k ServerConfig) bool { return k.Name == s.Name && s.Name != "" && (k.Enabled == nil || *k.Enabled) })
		if at < 0 {
			kept = append(kept, s)
			continue
		}
		same := kept[at]
		same.Source, same.File, same.Enabled, s.Enabled = s.Source, s.File, nil, nil
		if !reflect.DeepEqual(same, s) {
			return nil, fmt.Errorf("server %q is configured twice, and differently: %s and %s; rename one, or remove it", s.Name, kept[at].Source, s.Source)
		}
	}
	return kept, nil
}

// ServerNames returns the names of all configured servers, including disabled ones, because rules may name those too.
func (c *Config) ServerNames() ([]string, error) {
	all, err := c.ServerConfigs()
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names, err
}

// ErrNoServers means that neither the configuration nor a file that it names has a server.
var ErrNoServers = errors.New("no servers")

// ProxyServers assembles every enabled server for the proxy, from the configuration and the mcpServers files. It checks
// each server; an error names the entry.
func (c *Config) ProxyServers() ([]proxy.Server, error) {
	all, err := c.ServerConfigs()
	if err != nil {
		return nil, err
	}
	lock, err := supply.Load(c.Files().Lock())
	if err != nil {
		return nil, err
	}
	var servers []proxy.Server
	for _, s := range all {
		if s.Enabled != nil && !*s.Enabled {
			continue
		}
		server, err := s.Assemble(c.ShellSetup)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Source, err)
		}
		if account, err := s.Account(c.DataDir, server.Upstream); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Source, err)
		} else if account != nil {
			upstream.TermsOf(&server.Upstream).Login = account
		}
		if err := c.Enclose(&s, &server.Upstream); err != nil {
			return nil, fmt.Errorf("%s: server %q: %w", s.Source, s.Name, err)
		}
		if err := c.enforceLock(&s, &server, lock); err != nil {
			return nil, fmt.Errorf("%s: server %q: %w", s.Source, s.Name, err)
		}
		servers = append(servers, server)
	}
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.Tools.Name
	}
	if err := proxy.CheckAliases(names); err != nil {
		return nil, err
	}
	if len(servers) == 0 && !c.RAG.Enabled && len(c.MCPConfig) > 0 {
		return nil, fmt.Errorf("%w in %s: list them there under \"mcpServers\"", ErrNoServers, strings.Join(c.MCPConfig, ", "))
	}
	if len(servers) == 0 && !c.RAG.Enabled && !c.noServers { // if the file says that there are none, callgate's own tools are enough
		return nil, fmt.Errorf("%w: add them under \"servers\" in callgate.yaml, name a file with --mcp-config, or wrap one command with callgate wrap -- COMMAND", ErrNoServers)
	}
	return servers, nil
}

// Assemble checks the entry, and makes the proxy's server from it with variables replaced. shell may be nil.
func (s *ServerConfig) Assemble(shell *tools.ShellSetup) (proxy.Server, error) {
	none := proxy.Server{}
	if err := s.check(); err != nil {
		return none, err
	}
	at, err := s.place()
	if err != nil {
		return none, err
	}
	era, err := upstream.ParseEra(s.Era)
	if err != nil {
		return none, fmt.Errorf("server %q: %w", s.Name, err)
	}
	mappings, err := s.mappings()
	if err != nil {
		return none, err
	}
	choice, err := s.choice()
	if err != nil {
		return none, err
	}
	packages := slices.DeleteFunc(upstream.Packages(at.command, at.args, at.url), func(name string) bool { return name == proxy.OwnName })
	if s.Package != "" {
		packages = append(packages, s.Package)
	}
	server := proxy.Server{
		Upstream: upstream.Config{
			Name: s.Name, Command: at.command, Args: at.args, Env: at.env, InheritEnv: s.InheritEnv, Dir: at.dir,
			URL: at.url, Header: at.header, IdleTimeout: s.IdleTimeout, MaxMessage: maxMessage(s.MaxResultBytes),
		},
		Shared: s.Shared, Choice: choice, Bounds: proxy.Bounds{Timeout: s.Timeout, MaxResult: s.MaxResultBytes},
		Tools: tools.Server{Name: s.Name, Packages: packages, Identity: identity(at.command, at.args, at.url, packages), Trusted: s.Trusted, Mappings: mappings},
		Place: tools.Place{Dir: at.dir, Roots: roots(at.dir, at.args), Workspace: []string{at.dir}, Home: xdg.Home, Shell: shell},
	}
	terms := upstream.TermsOf(&server.Upstream)
	terms.Transport, terms.Era = s.transport(), era
	return server, nil
}

// check checks what needs neither variables nor the disk.
func (s *ServerConfig) check() error {
	if s.Name == "" {
		return errors.New("a server needs a name")
	}
	if s.Name == proxy.OwnName || strings.HasPrefix(s.Name, proxy.OwnName+"_") || s.Package == proxy.OwnName {
		return fmt.Errorf("server %q: %q is the name of callgate's own tools; choose another", s.Name, proxy.OwnName)
	}
	if (s.Command == "") == (s.URL == "") {
		return fmt.Errorf("server %q needs either a command or a url", s.Name)
	}
	types := []string{"", "stdio"}
	if s.URL != "" {
		types = []string{"", "http", "sse", "streamable-http", "streamableHttp"}
	}
	if !slices.Contains(types, s.Type) {
		return fmt.Errorf("server %q: type %q does not fit: leave it out, or use %s", s.Name, s.Type, strings.Join(types[1:], ", "))
	}
	if s.Timeout < 0 || s.IdleTimeout < 0 || s.MaxResultBytes < 0 {
		return fmt.Errorf("server %q: timeout, idleTimeout and maxResultBytes: leave them out, or use 0, for none", s.Name)
	}
	return nil
}

// serverPlace is where a server is and how it is started, with variables replaced by their values.
type serverPlace struct {
	command, url, dir string
	args, env         []string
	header            http.Header
}

func (s *ServerConfig) place() (at serverPlace, err error) {
	var expansion error
	expand := func(text string) string {
		out, err := expandVariables(strings.ReplaceAll(text, tenantVariable, cmp.Or(s.tenant, tenantVariable)))
		if err != nil && expansion == nil {
			expansion = fmt.Errorf("server %q: %w", s.Name, err)
		}
		return out
	}
	at.args = make([]string, len(s.Args))
	for i, arg := range s.Args {
		at.args[i] = expand(arg)
	}
	at.env = make([]string, len(s.Env))
	for i, entry := range s.Env {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" {
			return at, fmt.Errorf("server %q: env entry %q is not NAME=value", s.Name, entry)
		}
		at.env[i] = expand(entry)
	}
	if at.header, err = s.header(expand); err != nil {
		return at, err
	}
	at.command, at.url = ExpandHome(expand(s.Command)), expand(s.URL)
	cwd := ExpandHome(expand(s.Cwd))
	if expansion != nil {
		return at, expansion
	}
	if at.dir, err = filepath.Abs(cwd); err != nil {
		return at, err
	}
	if info, err := os.Stat(at.dir); err != nil || !info.IsDir() {
		return at, fmt.Errorf("server %q: cwd %s is not a directory", s.Name, at.dir)
	}
	if at.url != "" {
		if err := (&remote.Config{URL: at.url}).Check(); err != nil {
			return at, fmt.Errorf("server %q: url: %w", s.Name, err)
		}
	}
	return at, nil
}

// Account returns callgate's login at a server behind a URL, or nil if none is needed or Authorization is configured.
func (s *ServerConfig) Account(dataDir string, u upstream.Config) (*signin.Account, error) {
	if u.URL == "" || u.Header.Get("Authorization") != "" {
		if s.OAuth.isSet() {
			return nil, fmt.Errorf("server %q: oauth is for servers with a url and without an Authorization header", s.Name)
		}
		return nil, nil
	}
	server, err := s.OAuth.assemble()
	if err != nil {
		return nil, fmt.Errorf("server %q: oauth: %w", s.Name, err)
	}
	server.Name, server.URL = proxy.Sanitize(s.Name), u.URL
	return signin.New(dataDir, server), nil
}

// transport returns the transport that the type of a server behind a URL stands for.
func (s *ServerConfig) transport() remote.Transport {
	switch s.Type {
	case "":
		return remote.Detect
	case "sse":
		return remote.SSE
	}
	return remote.Streamable
}

var headerName = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// header reads the entries of headers.
func (s *ServerConfig) header(expand func(string) string) (http.Header, error) {
	if len(s.Headers) > 0 && s.URL == "" {
		return nil, fmt.Errorf("server %q: headers are for servers with a url", s.Name)
	}
	header := http.Header{}
	for _, entry := range s.Headers {
		name, value, ok := strings.Cut(entry, ":")
		if name = strings.TrimSpace(name); !ok || !headerName.MatchString(name) {
			return nil, fmt.Errorf("server %q: header %q is not \"Name: value\"", s.Name, entry)
		}
		if value = strings.TrimSpace(expand(value)); strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("server %q: the value of header %q has characters that no header can have", s.Name, name)
		}
		header.Add(name, value)
	}
	return header, nil
}

// roots returns the folders that a server's relative paths may refer to: where it runs, and the folders on its command
// line, which file servers treat as their own.
func roots(dir string, args []string) []string {
	roots := []string{dir}
	for _, arg := range args {
		path := arg
		if !filepath.IsAbs(path) {
			if path != "." && path != ".." && !strings.ContainsRune(path, filepath.Separator) {
				continue
			}
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() && !slices.Contains(roots, filepath.Clean(path)) {
			roots = append(roots, filepath.Clean(path))
		}
	}
	return roots
}

func (s *ServerConfig) mappings() ([]tools.Mapping, error) {
	var mappings []tools.Mapping
	for _, t := range s.Tools {
		if _, err := path.Match(t.Name, ""); err != nil || t.Name == "" {
			return nil, fmt.Errorf("server %q: tool name %q: use a name, or a glob with * ? [..]", s.Name, t.Name)
		}
		if t.Kind != "" && !slices.Contains(tools.Kinds(), t.Kind) {
			return nil, fmt.Errorf("server %q: tool %q: unknown kind %q: use one of %s", s.Name, t.Name, t.Kind, strings.Join(tools.Kinds(), ", "))
		}
		if t.As != "" && t.Kind == "" && t.Risk == "" && len(t.Roles) == 0 && t.unlabelled() {
			continue // it only gets another name; callgate knows what it does all the same
		}
		m := tools.Mapping{Tool: t.Name, Kind: t.Kind, Roles: map[string]tools.Role{}, Labels: tools.Labels{Returns: t.Returns, Fields: t.fields(), Effect: t.Effect, Destination: t.Destination, Content: t.Content, Undo: t.Undo}}
		if err := m.Labels.Check(); err != nil {
			return nil, fmt.Errorf("server %q: tool %q: %w", s.Name, t.Name, err)
		}
		if t.Risk != "" {
			risk, err := permissions.ParseRisk(t.Risk)
			if err != nil {
				return nil, fmt.Errorf("server %q: tool %q: %w", s.Name, t.Name, err)
			}
			m.Risk = risk
		}
		for _, r := range t.Roles {
			role, err := tools.ParseRole(r.Role)
			if err != nil {
				return nil, fmt.Errorf("server %q: tool %q: argument %q: %w", s.Name, t.Name, r.Argument, err)
			}
			m.Roles[r.Argument] = role
		}
		mappings = append(mappings, m)
	}
	return mappings, nil
}

// unlabelled reports whether the entry says nothing about what the tool returns or does.
func (t *toolConfig) unlabelled() bool {
	return len(t.Returns)+len(t.Fields)+len(t.Destination)+len(t.Content) == 0 && t.Effect == "" && t.Undo == ""
}

// fields returns the labels of fields. A field with several entries gets the labels of all.
func (t *toolConfig) fields() map[string][]string {
	if len(t.Fields) == 0 {
		return nil
	}
	fields := map[string][]string{}
	for _, f := range t.Fields {
		fields[f.Field] = append(fields[f.Field], f.Returns...)
	}
	return fields
}

// choice compiles which tools hosts see, and their other names.
func (s *ServerConfig) choice() (proxy.Choice, error) {
	c := proxy.Choice{As: map[string]string{}}
	var err error
	if c.Allow, err = compileGlobs("allowTools", s.AllowTools); err == nil {
		c.Hide, err = compileGlobs("hideTools", s.HideTools)
	}
	if err != nil {
		return c, fmt.Errorf("server %q: %w", s.Name, err)
	}
	taken := map[string]string{}
	for _, t := range s.Tools {
		switch {
		case t.As == "":
			continue
		case strings.ContainsAny(t.Name, `*?[\`):
			return c, fmt.Errorf("server %q: tool %q: as: only one tool can have another name, not a pattern", s.Name, t.Name)
		case proxy.Sanitize(t.As) != t.As:
			return c, fmt.Errorf("server %q: tool %q: as %q: use letters, digits, - and _ only", s.Name, t.Name, t.As)
		case taken[t.As] != "":
			return c, fmt.Errorf("server %q: tools %q and %q are both called %q: choose another name", s.Name, taken[t.As], t.Name, t.As)
		}
		c.As[t.Name], taken[t.As] = t.As, t.Name
	}
	return c, nil
}

// Bound bounds the results of servers without a bound of their own. 0 means no bound.
func Bound(servers []proxy.Server, maxResult int) {
	for i := range servers {
		if s := &servers[i]; s.Bounds.MaxResult == 0 && maxResult > 0 {
			s.Bounds.MaxResult, s.Upstream.MaxMessage = maxResult, maxMessage(maxResult)
		}
	}
}

// maxMessage returns the bound on messages that lets a result of that many bytes through. 0 means the default.
func maxMessage(result int) int {
	if result <= 64<<20-1<<20 {
		return 0
	}
	return result + 1<<20
}

// identity returns which program or address a server is, whatever its alias. If the command names a package, that is
// the identity, so another version is the same server with other definitions.
func identity(command string, args []string, url string, packages []string) string {
	switch {
	case url != "":
		return url
	case len(packages) > 0:
		return strings.Join(packages, " ")
	default:
		return strings.Join(append([]string{command}, args...), " ")
	}
}

// runners lists programs that fetch the package that they are told to run.
var runners = []string{"npx", "npx.cmd", "bunx", "uvx", "pipx", "pnpm", "yarn", "npm", "deno"}

// Unpinned reports whether the server's command fetches a package without naming a version.
func Unpinned(s proxy.Server) bool {
	if !slices.Contains(runners, filepath.Base(s.Upstream.Command)) {
		return false
	}
	return slices.ContainsFunc(s.Upstream.Args, func(arg string) bool { return slices.Contains(s.Tools.Packages, arg) })
}

var variableReference = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expandVariables replaces ${NAME} and ${NAME:-default}. A name with neither a value nor a default is an error, because
// nobody wants an empty secret or path.
func expandVariables(text string) (string, error) {
	var missing error
	out := variableReference.ReplaceAllStringFunc(text, func(ref string) string {
		m := variableReference.FindStringSubmatch(ref)
		if value, ok := os.LookupEnv(m[1]); ok {
			return value
		}
		if m[2] == "" {
			missing = fmt.Errorf("${%s} is not set: set the variable, or give a default as ${%s:-value}", m[1], m[1])
		}
		return strings.TrimPrefix(m[2], ":-")
	})
	return out, missing
}

// AliasOf makes a server's name from its command: "filesystem" for npx -y @modelcontextprotocol/server-filesystem,
// "notes" for python3 notes.py and node notes/dist/index.js. Different programs get different names if their commands
// allow it, because rules and grants apply to names.
func AliasOf(command string, args []string) string {
	name := filepath.Base(command)
	packages := upstream.Packages(command, args, "")
	if len(packages) > 0 {
		name = packages[0][strings.LastIndexByte(packages[0], '/')+1:]
	}
	if upstream.Interprets(name) {
		name = cmp.Or(scriptName(args), name)
	}
	name = withoutAffixes(name)
	if name = proxy.Sanitize(name); name == "" || name == proxy.OwnName || strings.HasPrefix(name, proxy.OwnName+"_") || proxy.CheckAliases([]string{name}) != nil {
		return "wrapped"
	}
	return name
}

// withoutAffixes removes affixes that many servers' names have.
func withoutAffixes(name string) string {
	for _, affix := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, affix)
	}
	for _, affix := range []string{"-mcp-server", "-server", "-mcp", ".exe"} {
		name = strings.TrimSuffix(name, affix)
	}
	return name
}

// Extensions of scripts, and names of files and folders that say nothing about the server in them.
var (
	scriptExtensions = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".php", ".pl", ".sh", ".jar"}
	commonNames      = []string{"app", "cli", "index", "main", "--main--", "mcp", "mod", "run", "server", "start", "src", "dist", "build", "bin", "lib", "out"}
)

// scriptName returns the name of the script or module that an interpreter runs, or of the nearest folder above that
// says more. It returns "" if there is none.
func scriptName(args []string) string {
	for i, arg := range args {
		module := i > 0 && args[i-1] == "-m"
		if !module && !slices.Contains(scriptExtensions, filepath.Ext(arg)) {
			continue
		}
		place, err := filepath.Abs(arg)
		if err != nil {
			return ""
		}
		if !module {
			place = strings.TrimSuffix(place, filepath.Ext(place))
		}
		for ; filepath.Dir(place) != place; place = filepath.Dir(place) {
			name := withoutAffixes(strings.ReplaceAll(filepath.Base(place), "_", "-"))
			if !slices.Contains(commonNames, name) {
				return name
			}
		}
	}
	return ""
}
