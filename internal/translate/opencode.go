package translate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/internal/jsonx"
	"callgate/permissions"
)

// opencodeTools maps opencode's permissions to callgate's kinds. In opencode too, the last rule that matches wins.
var opencodeTools = map[string][]string{
	"bash": {"shell_exec"}, "read": {"read_file"}, "edit": {"write_file", "edit_file"}, "glob": {"glob"}, "grep": {"grep"},
	"webfetch": {"web_fetch"}, "skill": {"skill"}, "*": {"*"},
}

// opencodeOnly lists permissions without a counterpart in callgate.
var opencodeOnly = []string{"task", "todoread", "todowrite", "websearch", "codesearch", "lsp", "doom_loop", "external_directory", "list", "question"}

func importOpencode(text []byte) (*Import, error) {
	root, err := hujson.Parse(append(slices.Clip(text), '\n'))
	if err != nil {
		return nil, err
	}
	root.Standardize()
	im := new(Import)
	permission := root.Find("/permission")
	if permission == nil {
		return im, nil
	}
	if literal, ok := permission.Value.(hujson.Literal); ok {
		im.opencode("*", "*", literal)
		return im, nil
	}
	object, ok := permission.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf(`"permission" must be an object, or one action`)
	}
	for _, m := range object.Members {
		name := m.Name.Value.(hujson.Literal).String()
		switch value := m.Value.Value.(type) {
		case hujson.Literal:
			im.opencode(name, "*", value)
		case *hujson.Object:
			for _, p := range value.Members {
				literal, _ := p.Value.Value.(hujson.Literal)
				im.opencode(name, p.Name.Value.(hujson.Literal).String(), literal)
			}
		default:
			im.leave(name, "it is not an action")
			im.Lost++
		}
	}
	return im, nil
}

func (im *Import) opencode(name, pattern string, value hujson.Literal) {
	from := fmt.Sprintf("%s %q", name, pattern)
	if value.Kind() != '"' {
		im.leave(from, "it is not an action")
		im.Lost++
		return
	}
	action, err := permissions.ParseAction(value.String())
	if err != nil || action == permissions.Confirm {
		im.leave(from, "the action is not allow, ask or deny")
		im.Lost++
		return
	}
	if slices.Contains(opencodeOnly, name) {
		im.leave(from, "callgate has no such tool")
		return
	}
	mapped := opencodeTools[name]
	if mapped == nil {
		mapped = []string{sanitized(name)}
	}
	for _, kind := range mapped {
		switch {
		case slices.Contains([]string{"read_file", "write_file", "edit_file"}, kind) && action == permissions.Allow && !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") && !strings.Contains(pattern, "?"):
			// opencode asks about other folders, whatever the rules allow.
			p := quoteStars(pattern)
			if pattern == "*" {
				p = "**"
			}
			im.add(kind, permissions.WorkspaceVariable+"/"+p, action, from)
		case pattern == "*":
			im.add(kind, "*", action, from)
		case !slices.Contains(kinds, kind):
			im.lose(kind, "*", action, from, "the tool has no patterns")
		case strings.Contains(pattern, "?"):
			im.lose(kind, strings.ReplaceAll(quoteStars(pattern), `\?`, "*"), action, from, "? matches a slash in opencode, but not in callgate")
		default:
			p := quoteStars(pattern)
			if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
				p = "~/" + quoteStars(rest)
			}
			im.add(kind, p, action, from)
		}
	}
}

// opencodeTool returns opencode's tool for a kind, or "".
func opencodeTool(kind string) (name string) {
	for n, mapped := range opencodeTools {
		if slices.Contains(mapped, kind) {
			name = n
		}
	}
	return name
}

func exportOpencode(e *Export) ([]byte, error) {
	var names []string
	byName := map[string][]opencodeRule{}
	for i := range e.Rules {
		r := &e.Rules[i]
		if !e.plain(r) {
			continue
		}
		action := r.Action.String()
		if r.Action == permissions.Confirm {
			action = permissions.Ask.String()
		}
		put := func(name, pattern string) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			list := slices.DeleteFunc(byName[name], func(old opencodeRule) bool { return old.pattern == pattern })
			byName[name] = append(list, opencodeRule{pattern, action})
		}
		if r.Tool == "*" && r.Pattern == "*" {
			put("*", "*")
			continue
		}
		covered, own := covers(r)
		if own {
			if r.Pattern != "*" || strings.ContainsAny(r.Tool, "?[{(!") {
				e.leave(r, "the program's rules for MCP tools have names with stars and no arguments")
			} else {
				put(r.Tool, "*")
			}
			continue
		}
		values := e.texts(r)
		if values == nil {
			continue
		}
		for _, kind := range covered {
			name := opencodeTool(kind)
			switch {
			case name == "" && len(covered) == 1:
				e.leave(r, "the program has no tool for %s", kind)
			case name == "":
			case name == "edit" && r.Action == permissions.Allow && !e.allowsBoth(r):
				e.leave(r, "the program has one rule for writing and editing: allow the pattern for both")
			default:
				for _, value := range values {
					if value == permissions.WorkspaceVariable {
						continue // another text of the rule covers its contents
					}
					put(name, strings.TrimPrefix(e.shortened(value), permissions.WorkspaceVariable+"/"))
				}
			}
		}
	}
	return writeOpencode(names, byName), nil
}

// opencodeRule is the action for a tool's calls that match a pattern.
type opencodeRule struct{ pattern, action string }

// writeOpencode writes the rules, ordered by tool.
func writeOpencode(names []string, byName map[string][]opencodeRule) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"permission\": {\n")
	for i, name := range names {
		list := byName[name]
		if len(list) == 1 && list[0].pattern == "*" {
			fmt.Fprintf(&b, "    %s: %s", jsonx.Quote(name), jsonx.Quote(list[0].action))
		} else {
			fmt.Fprintf(&b, "    %s: {\n", jsonx.Quote(name))
			for j, x := range list {
				fmt.Fprintf(&b, "      %s: %s%s\n", jsonx.Quote(x.pattern), jsonx.Quote(x.action), comma(j < len(list)-1))
			}
			b.WriteString("    }")
		}
		b.WriteString(comma(i < len(names)-1) + "\n")
	}
	b.WriteString("  }\n}\n")
	return b.Bytes()
}
