package translate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"callgate/internal/lazyregexp"
	"callgate/permissions"
)

// claudeSettings holds the permissions in a settings.json of Claude Code.
type claudeSettings struct {
	Permissions struct {
		Allow       []string `json:"allow,omitempty"`
		Ask         []string `json:"ask,omitempty"`
		Deny        []string `json:"deny,omitempty"`
		Mode        string   `json:"defaultMode,omitzero"`
		Directories []string `json:"additionalDirectories,omitempty"`
	} `json:"permissions"`
}

// claudeTools maps Claude Code's tools to callgate's kinds.
var claudeTools = map[string][]string{
	"Bash": {"shell_exec"}, "Read": {"read_file"}, "Edit": {"write_file", "edit_file"}, "Write": {"write_file"}, "MultiEdit": {"edit_file"},
	"NotebookEdit": {"edit_file"}, "Glob": {"glob"}, "Grep": {"grep"}, "WebFetch": {"web_fetch"}, "Skill": {"skill"},
}

var claudeRule = lazyregexp.New(`^([A-Za-z]+)(?:\((.*)\))?$`)

func importClaude(text []byte) (*Import, error) {
	standard, err := hujson.Standardize(text)
	if err != nil {
		return nil, err
	}
	var s claudeSettings
	if err := json.Unmarshal(standard, &s); err != nil {
		return nil, err
	}
	im := new(Import)
	// Claude Code takes the strictest rule that matches, callgate the last one.
	for _, list := range []struct {
		rules  []string
		action permissions.Action
	}{{s.Permissions.Allow, permissions.Allow}, {s.Permissions.Ask, permissions.Ask}, {s.Permissions.Deny, permissions.Deny}} {
		for _, rule := range list.rules {
			im.claude(rule, list.action)
		}
	}
	if mode := s.Permissions.Mode; mode != "" && mode != "default" {
		im.leave("defaultMode "+mode, "set an autonomy level instead, see docs/gate.md")
	}
	for _, dir := range s.Permissions.Directories {
		im.leave("additionalDirectories "+dir, "add rules for the folder, such as \"%s/**\"", dir)
	}
	return im, nil
}

func (im *Import) claude(rule string, action permissions.Action) {
	if name, ok := strings.CutPrefix(rule, "mcp__"); ok {
		im.claudeServer(name, rule, action)
		return
	}
	if rule == "*" && action != permissions.Allow {
		im.add("*", "*", action, rule)
		return
	}
	m := claudeRule.FindStringSubmatch(rule)
	if m == nil && action != permissions.Allow {
		im.Lost++
	}
	if m == nil || claudeTools[m[1]] == nil {
		im.leave(rule, "callgate has no such tool")
		return
	}
	for _, kind := range claudeTools[m[1]] {
		patterns, why := claudePatterns(kind, m[2], action)
		if why != "" {
			im.leave(rule, "%s", why)
			if action == permissions.Allow || strings.HasPrefix(m[2], "!") { // a negation weakens other rules
				return
			}
			im.Lost++
			for _, kind := range claudeTools[m[1]] {
				im.withdraw(kind, "*", rule)
			}
			return
		}
		for _, p := range patterns {
			im.add(kind, p, action, rule)
		}
	}
}

// claudeServer translates a rule for a server or one of its tools.
func (im *Import) claudeServer(name, rule string, action permissions.Action) {
	server, tool, _ := strings.Cut(name, "__")
	tool = cmp.Or(tool, "*")
	if server != "*" && !strings.ContainsAny(name, "()") {
		im.add(sanitized(server)+"_"+sanitized(tool), "*", action, rule)
		return
	}
	im.loseServers(action, rule, "no server has that name")
}

// claudePatterns translates the text in the parentheses of a rule for a kind.
func claudePatterns(kind, arg string, action permissions.Action) (patterns []string, why string) {
	if arg == "" || arg == "*" {
		return []string{"*"}, ""
	}
	switch kind {
	case "shell_exec":
		return []string{claudeCommand(arg)}, ""
	case "web_fetch":
		return claudeDomain(arg, action)
	case "skill":
		return []string{permissions.QuoteGlob(arg)}, ""
	default:
		return gitignored(arg, action)
	}
}

// sanitized returns a server's name as it appears in tool names.
func sanitized(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '*' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// claudeCommand translates the text in Bash(…): a final ":*" becomes " *".
func claudeCommand(arg string) string {
	if words, ok := strings.CutSuffix(arg, ":*"); ok {
		return quoteStars(words) + " *"
	}
	return quoteStars(arg)
}

// quoteStars quotes all wildcards but `*`.
func quoteStars(text string) string {
	parts := strings.Split(text, "*")
	for i, p := range parts {
		parts[i] = permissions.QuoteGlob(p)
	}
	return strings.Join(parts, "*")
}

func claudeDomain(arg string, action permissions.Action) (patterns []string, why string) {
	domain, ok := strings.CutPrefix(arg, "domain:")
	if !ok || domain == "" || strings.ContainsAny(domain, "/()") {
		return nil, "callgate translates only domain:"
	}
	host := quoteStars(strings.ToLower(domain))
	if action != permissions.Allow { // with any scheme, port and user
		return []string{"*://" + host, "*://" + host + "[/:?#]*", "*://*@" + host, "*://*@" + host + "[/:?#]*"}, ""
	}
	return []string{"https://" + host + "/*", "http://" + host + "/*"}, ""
}

// brackets matches character classes and escaped characters.
var brackets = lazyregexp.New(`\[[!^]?\]?[^\]]*\]|\\.`)

// gitignored translates a pattern of gitignore. In callgate's patterns a star crosses slashes. If the translation is
// inexact, an allow becomes narrower, and other actions become wider.
func gitignored(arg string, action permissions.Action) (patterns []string, why string) {
	if action != permissions.Allow {
		arg = brackets.ReplaceAllString(arg, "*")
	}
	if strings.HasPrefix(arg, "!") || strings.ContainsAny(arg, "[\\") {
		return nil, "negations and brackets are not translated"
	}
	folder, arg := anchored(arg, action)
	arg = strings.TrimSuffix(arg, "/")
	path := folder + starred(arg, action)
	if last := arg[strings.LastIndexByte(arg, '/')+1:]; !strings.Contains(last, "*") {
		path += "/**" // itself, and what is below it
	}
	return []string{path}, ""
}

// anchored splits a path pattern into its first folder, as callgate writes it, and the rest.
func anchored(arg string, action permissions.Action) (folder, rest string) {
	switch {
	case strings.HasPrefix(arg, "//"):
		return "", arg[1:]
	case strings.HasPrefix(arg, "~/"):
		return "~/", arg[2:]
	case strings.HasPrefix(arg, "/"):
		return "$WORKSPACE/", arg[1:]
	case strings.HasPrefix(arg, "./"):
		return "$WORKSPACE/", arg[2:]
	case !strings.Contains(strings.TrimSuffix(arg, "/"), "/"): // a name at any depth
		if action == permissions.Allow {
			return "$WORKSPACE/**/", arg
		}
		return "**/", arg
	case action != permissions.Allow && strings.HasPrefix(arg, "**/"):
		return "", arg
	default:
		return "$WORKSPACE/", arg
	}
}

// starred translates the wildcards of a path pattern.
func starred(arg string, action permissions.Action) string {
	var b strings.Builder
	for i := 0; i < len(arg); i++ {
		switch {
		case strings.HasPrefix(arg[i:], "**") && (action != permissions.Allow || (i == 0 || arg[i-1] == '/') && (i+2 == len(arg) || arg[i+2] == '/')):
			b.WriteString("**")
			i++
		case arg[i] == '*' && action == permissions.Allow:
			b.WriteString("*([!/])")
		case arg[i] == '?' && action == permissions.Allow:
			b.WriteString("[!/]")
		case arg[i] == '*' || arg[i] == '?':
			b.WriteByte(arg[i])
		default:
			b.WriteString(permissions.QuoteGlob(arg[i : i+1]))
		}
	}
	return b.String()
}

func exportClaude(e *Export) ([]byte, error) {
	var s claudeSettings
	p := &s.Permissions
	e.strictest(func(r *permissions.Rule) {
		list := map[permissions.Action]*[]string{permissions.Allow: &p.Allow, permissions.Ask: &p.Ask, permissions.Confirm: &p.Ask, permissions.Deny: &p.Deny}[r.Action]
		for _, name := range e.claudeNames(r) {
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	})
	text, err := json.Marshal(s, jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false))
	return append(bytes.TrimSpace(text), '\n'), err
}

// claudeNames writes a rule as Claude Code's rules.
func (e *Export) claudeNames(r *permissions.Rule) (names []string) {
	covered, own := covers(r)
	if own {
		server, tool, ok := e.mcpTool(r.Tool)
		switch {
		case r.Pattern != "*":
			e.leave(r, "the program's rules for MCP tools cannot look at arguments")
		case !ok:
			e.leave(r, "callgate does not know the tool's server: configure it")
		case tool == "*":
			return []string{"mcp__" + server}
		default:
			return []string{"mcp__" + server + "__" + tool}
		}
		return nil
	}
	values := e.texts(r)
	if values == nil {
		return nil
	}
	for _, kind := range covered {
		tool := map[string]string{"shell_exec": "Bash", "read_file": "Read", "write_file": "Edit", "edit_file": "Edit", "glob": "Glob", "grep": "Grep", "web_fetch": "WebFetch", "skill": "Skill"}[kind]
		switch {
		case tool == "":
			if len(covered) == 1 {
				e.leave(r, "the program has no tool for %s", kind)
			}
			continue
		case r.Action == permissions.Allow && (kind == "write_file" || kind == "edit_file") && !e.allowsBoth(r):
			e.leave(r, "the program has one rule for writing and editing: allow the pattern for both")
			continue
		}
		for _, value := range values {
			if value == permissions.WorkspaceVariable {
				continue // another text of the rule covers its contents
			}
			name, why := e.claudeName(tool, kind, value, r.Action)
			if why != "" {
				e.leave(r, "%s", why)
				continue
			}
			names = append(names, name)
		}
	}
	return names
}

// allowsBoth reports whether the rules allow both writing and editing for the rule's pattern.
func (e *Export) allowsBoth(r *permissions.Rule) bool {
	found := map[string]bool{}
	for i := range e.Rules {
		q := &e.Rules[i]
		if q.Action == permissions.Allow && (q.Pattern == r.Pattern || q.Pattern == "*") {
			covered, _ := covers(q)
			for _, kind := range covered {
				found[kind] = true
			}
		}
	}
	return found["write_file"] && found["edit_file"]
}

func (e *Export) claudeName(tool, kind, value string, action permissions.Action) (name, why string) {
	switch {
	case value == "*":
		return tool, ""
	case kind == "shell_exec":
		if strings.ContainsAny(value, "\n") {
			return "", "it has line breaks"
		}
		if before, ok := strings.CutSuffix(value, " *"); ok && !strings.Contains(before, "*") {
			value = before + ":*"
		}
		return fmt.Sprintf("%s(%s)", tool, value), ""
	case kind == "web_fetch":
		for _, scheme := range []string{"https://", "http://"} {
			if rest, ok := strings.CutPrefix(value, scheme); ok {
				host, path, _ := strings.Cut(rest, "/")
				if path == "*" && !strings.Contains(host, "*") {
					return fmt.Sprintf("%s(domain:%s)", tool, host), ""
				}
			}
		}
		return "", "the program can name only whole domains"
	case kind == "skill":
		return fmt.Sprintf("%s(%s)", tool, value), ""
	case kind == "grep" || kind == "glob":
		return "", "the program has no patterns for this tool"
	}
	path, why := e.ignorePattern(value, action)
	return fmt.Sprintf("%s(%s)", tool, path), why
}

// ignorePattern writes a path as a gitignore pattern.
func (e *Export) ignorePattern(value string, action permissions.Action) (path, why string) {
	path = e.shortened(value)
	switch rest, below := strings.CutPrefix(path, permissions.WorkspaceVariable+"/"); {
	case below:
		path = "./" + rest
	case strings.HasPrefix(path, "/"):
		path = "/" + path
	case strings.HasPrefix(path, "~/"), strings.HasPrefix(path, "**/"):
	case strings.HasPrefix(path, "*"):
		path = "**/" + path
	default:
		path = "./" + strings.TrimPrefix(path, "./")
	}
	if before, ok := strings.CutSuffix(path, "/*"); ok {
		path = before + "/**"
	}
	// In gitignore a star ends at a slash, so a deny would cover less.
	if inner := strings.ReplaceAll(strings.TrimPrefix(path, "**/"), "**", ""); strings.Contains(inner, "*") && action != permissions.Allow {
		if at := strings.LastIndexByte(inner, '/'); strings.Contains(inner[:at+1], "*") {
			return "", "in the program a star ends at a slash, so the rule would cover less"
		}
	}
	return path, ""
}
