package hosthooks

import (
	"embed"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"callgate/internal/hosthooks/door"
	"callgate/internal/install"
)

// Place describes where a host looks for hooks.
type Place struct {
	Path    string   `yaml:"path"`
	Shape   string   `yaml:"shape"` // form of an entry: groups, copilot, cursor, windsurf, files or plugin
	At      []string `yaml:"at"`
	Whole   bool     `yaml:"whole"` // the whole file is callgate's
	Timeout struct {
		Unit string `yaml:"unit"` // s or ms
	} `yaml:"timeout"`
}

//go:embed hosts/opencode.js
var plugins embed.FS

// Hooks returns the files that make a host run "callgate hook". arguments are the options that choose its data
// directory. It returns nil for a host without hooks.
func Hooks(host string, program string, arguments []string) []install.HookFile {
	d, ok := Dialects()[host]
	if !ok {
		return nil
	}
	var files []install.HookFile
	for _, p := range d.Install {
		f := install.HookFile{Path: p.Path, At: p.At, Whole: p.Whole}
		switch p.Shape {
		case "plugin":
			words, _ := json.Marshal(append([]string{program, "hook", host}, arguments...)) // strings always can
			text, _ := plugins.ReadFile("hosts/" + host + ".js")                            // embedded
			f.Text = strings.Replace(string(text), "$COMMAND", string(words), 1)
		default:
			for name := range sortedEvents(d) {
				f.Events = append(f.Events, d.hookEvent(p, name, program, arguments))
			}
			f.Separate = p.Shape == "files"
		}
		files = append(files, f)
	}
	return files
}

// hookEvent returns the entry for one event.
func (d *Dialect) hookEvent(p Place, name, program string, arguments []string) install.HookEvent {
	words := []string{quote(program), "hook", d.ID}
	if len(d.Fields.Event) == 0 {
		words = append(words, name)
	}
	for _, a := range arguments {
		words = append(words, quote(a))
	}
	command := strings.Join(words, " ")
	limit := int64(d.Limit.Seconds())
	if p.Timeout.Unit == "ms" {
		limit = d.Limit.Milliseconds()
	}
	e := install.HookEvent{Name: name, Command: command, Like: " hook " + d.ID + " "}
	var entry any
	switch p.Shape {
	case "groups":
		entry = d.group(name, d.unanswered(ordered{{"type", "command"}, {"command", command}, {"timeout", limit}}, name))
	case "copilot":
		entry = ordered{{"type", "command"}, {"bash", command}, {"powershell", command}, {"timeoutSec", limit}}
	case "cursor":
		entry = ordered{{"command", command}, {"timeout", limit}, {"failClosed", d.Events[name].Role.Decides()}}
	case "windsurf":
		entry = ordered{{"command", command}, {"show_output", true}}
	case "files":
		e.Text = "#!/bin/sh\n# callgate asks about the tools of this host. Written by \"callgate connect\"; \"callgate disconnect\" removes it.\nexec " + command + "\n"
		return e
	}
	text, _ := json.Marshal(entry) // marshalling values made above cannot fail
	e.Text = string(text)
	return e
}

// sortedEvents yields the names of events, sorted.
func sortedEvents(d *Dialect) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(d.Events)))
}

// group returns a hook for all tools, in the form of Claude Code and similar hosts.
func (d *Dialect) group(event string, hook ordered) ordered {
	group := ordered{}
	switch d.Events[event].Role {
	case Before, Permission, After, Failed:
		group = append(group, member{"matcher", "*"})
	}
	return append(group, member{"hooks", []any{hook}})
}

// unanswered adds the member that keeps the host from running a call whose hook fails.
func (d *Dialect) unanswered(hook ordered, event string) ordered {
	if d.Guard.Name != "" && d.Events[event].Role.Decides() {
		hook = append(hook, member{d.Guard.Name, d.Guard.Value})
	}
	return hook
}

// ordered is a JSON object that keeps the order of its members.
type ordered []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o ordered) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// quote quotes a word for a shell.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Sessions of callgate's own test calls. They prove nothing about a host, and nobody is asked about doctor's call.
const (
	trying  = "callgate doctor"
	Showing = "callgate demo"
)

// Try returns the host's message that asks whether a tool may read a file: event and body.
func (d *Dialect) Try(path, folder string) (event string, body []byte) {
	return d.Probe.Event, d.message(d.Probe.Event, d.Probe.Tool, map[string]any{d.Probe.Path: path}, trying, folder)
}

// Ask returns the host's message before a call of a built-in tool: event and body.
func (d *Dialect) Ask(tool string, arguments map[string]any, session, folder string) (event string, body []byte) {
	return d.Probe.Event, d.message(d.Probe.Event, tool, arguments, session, folder)
}

// message returns the host's message about a call.
func (d *Dialect) message(event, tool string, arguments map[string]any, session, folder string) []byte {
	s := d.Events[event]
	root := map[string]any{}
	put := func(f field, value any) {
		if len(f) == 0 {
			return
		}
		at := root
		for _, name := range f[:len(f)-1] {
			inner, ok := at[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at[f[len(f)-1]] = value
	}
	put(d.Fields.Event, event)
	put(d.Fields.Session, session)
	put(d.Fields.Cwd, folder)
	put(d.Fields.Workspace, []string{folder})
	put(either(s.Call, d.Fields.Call), "call-"+door.Nonce())
	if s.Arguments != nil {
		for name, value := range arguments {
			put(s.Arguments[name], value)
		}
	} else {
		put(either(s.Tool, d.Fields.Tool), tool)
		put(either(s.Raw, d.Fields.Arguments), arguments)
	}
	body, _ := json.Marshal(root) // strings always can
	return body
}

// Bundled returns hooks.json for a plugin or extension of the host. Its hooks start the callgate on the PATH.
func Bundled(host string) (any, error) {
	d, err := Find(host)
	if err != nil {
		return nil, err
	}
	events := ordered{}
	for name := range sortedEvents(d) {
		events = append(events, member{name, []any{json.RawMessage(d.hookEvent(d.Install[0], name, "callgate", nil).Text)}})
	}
	return ordered{{"hooks", events}}, nil
}
