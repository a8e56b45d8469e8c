package translate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"callgate/internal/jsonx"
	"callgate/permissions"
)

// geminiRule is one [[rule]] of a Gemini CLI policy file. The rule with the highest priority wins.
type geminiRule struct {
	ToolName      any      `toml:"toolName"`
	McpName       string   `toml:"mcpName"`
	CommandPrefix any      `toml:"commandPrefix"`
	CommandRegex  string   `toml:"commandRegex"`
	ArgsPattern   string   `toml:"argsPattern"`
	Decision      string   `toml:"decision"`
	Priority      int      `toml:"priority"`
	Modes         []string `toml:"modes"`
	Subagent      string   `toml:"subagent"`
	Interactive   *bool    `toml:"interactive"`
}

// geminiTools maps Gemini CLI's tools to callgate's kinds.
var geminiTools = map[string]string{
	"run_shell_command": "shell_exec", "read_file": "read_file", "read_many_files": "read_file", "write_file": "write_file", "replace": "edit_file",
	"glob": "glob", "grep_search": "grep", "search_file_content": "grep", "web_fetch": "web_fetch", "activate_skill": "skill", "*": "*",
}

var geminiDecisions = map[string]permissions.Action{"allow": permissions.Allow, "ask_user": permissions.Ask, "deny": permissions.Deny}

func importGemini(text []byte) (*Import, error) {
	var file struct {
		Rules []geminiRule `toml:"rule"`
	}
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	im := new(Import)
	slices.SortStableFunc(file.Rules, func(a, b geminiRule) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, r := range file.Rules {
		names, prefixes := textsOf(r.ToolName), textsOf(r.CommandPrefix)
		from := fmt.Sprintf("rule for %s, priority %d", cmp.Or(strings.Join(names, ", "), r.McpName), r.Priority)
		action, ok := geminiDecisions[r.Decision]
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: decision %q is not allow, ask_user or deny", from, r.Decision)
		case r.CommandRegex != "" || r.ArgsPattern != "":
			im.loseGemini(&r, names, action, from, "regular expressions are not translated")
			continue
		case len(r.Modes) > 0 || r.Subagent != "" || r.Interactive != nil:
			im.loseGemini(&r, names, action, from, "it holds only in some modes")
			continue
		}
		if r.McpName != "" {
			if len(names) == 0 {
				names = []string{"*"}
			}
			for _, name := range names {
				im.add(sanitized(r.McpName)+"_"+sanitized(name), "*", action, from)
			}
			continue
		}
		for _, name := range names {
			kind := geminiKind(name)
			switch {
			case kind == "":
				im.leave(from, "callgate has no tool %s", name)
			case kind == "shell_exec" && len(prefixes) > 0:
				for _, p := range prefixes {
					im.add(kind, permissions.QuoteGlob(strings.TrimSpace(p))+" *", action, from)
				}
			default:
				im.add(kind, "*", action, from)
			}
		}
	}
	return im, nil
}

// geminiKind returns callgate's kind for a tool of Gemini CLI, the name of a server's tool, or "".
func geminiKind(name string) string {
	kind := geminiTools[name]
	if server, tool, found := strings.Cut(strings.TrimPrefix(name, "mcp_"), "__"); kind == "" && found {
		kind = sanitized(server) + "_" + sanitized(tool)
	}
	return kind
}

// loseGemini lists a rule as lost, for each of its tools.
func (im *Import) loseGemini(r *geminiRule, names []string, action permissions.Action, from, why string) {
	im.leave(from, "%s", why)
	if action == permissions.Allow {
		return
	}
	im.Lost++
	if r.McpName != "" {
		im.withdraw(sanitized(r.McpName)+"_*", "*", from)
		return
	}
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, name := range names {
		if kind := geminiKind(name); kind != "" {
			im.withdraw(kind, "*", from)
		}
	}
}

// textsOf returns a string, or the strings of a list.
func textsOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// maxGeminiPriority is the highest priority in a file.
const maxGeminiPriority = 999

func exportGemini(e *Export) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Made of callgate's rules. The rule with the highest priority wins.\n")
	for i := range e.Rules {
		r := &e.Rules[i]
		if !e.plain(r) {
			continue
		}
		if i+1 > maxGeminiPriority {
			return nil, fmt.Errorf("a policy file of Gemini CLI can order at most %d rules", maxGeminiPriority)
		}
		decision := map[permissions.Action]string{permissions.Allow: "allow", permissions.Ask: "ask_user", permissions.Confirm: "ask_user", permissions.Deny: "deny"}[r.Action]
		write := func(lines ...string) {
			fmt.Fprintf(&b, "\n[[rule]]\n%s\ndecision = %q\npriority = %d\n", strings.Join(lines, "\n"), decision, i+1)
		}
		line := func(key, value string) string { return key + " = " + string(jsonx.Quote(value)) }
		if r.Tool == "*" && r.Pattern == "*" {
			write(line("toolName", "*"))
			continue
		}
		covered, own := covers(r)
		if own {
			server, tool, ok := e.mcpTool(r.Tool)
			switch {
			case r.Pattern != "*" || strings.ContainsAny(tool, "?[{(!"):
				e.leave(r, "the program's rules for MCP tools have names and no arguments")
			case !ok:
				e.leave(r, "callgate does not know the tool's server: configure it")
			default:
				write(line("mcpName", server), line("toolName", tool))
			}
			continue
		}
		for _, kind := range covered {
			var names []string
			for name, k := range geminiTools {
				if k == kind {
					names = append(names, string(jsonx.Quote(name)))
				}
			}
			slices.Sort(names)
			switch {
			case len(names) == 0 && len(covered) == 1:
				e.leave(r, "the program has no tool for %s", kind)
			case len(names) == 0:
			case r.Pattern == "*":
				write("toolName = [" + strings.Join(names, ", ") + "]")
			case kind != "shell_exec":
				e.leave(r, "the program has patterns only for commands, except regular expressions")
			default:
				e.commands(r, func(words []string) {
					write(line("toolName", "run_shell_command"), line("commandPrefix", strings.Join(words, " ")))
				})
			}
		}
	}
	return b.Bytes(), nil
}
