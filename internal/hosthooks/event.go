package hosthooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// Event is a host's message in callgate's terms.
type Event struct {
	Name      string
	Role      Role
	Session   string
	Cwd       string
	Workspace []string // the host's project folders
	Tool      string
	Server    string // the MCP tool's server, if the host names it
	Foreign   bool   // the host says that the tool is an MCP server's
	Arguments []byte // the raw object
	Call      string // the host's call id, or ""
	Agent     string
	Mode      string
	Version   string
	Prompt    string
	Result    []byte
	Failure   string

	Transcript string // the host's transcript file
	Named      string // the base name of that file, if the host does not give the path
}

// Read parses a host's message. name is the event if the command line names it; env holds the host's variables.
func (d *Dialect) Read(name string, body []byte, env map[string]string) (Event, error) {
	var e Event
	if own := d.text(body, d.Fields.Event); own != "" {
		name = own
	}
	spec, ok := d.Events[name]
	if !ok || spec.Role.Decides() { // messages about calls that ran contain results, which may hold any text
		if err := jsonx.Check(body); err != nil {
			return e, fmt.Errorf("cannot read the message of %s to its hook: %w", d.Name, err)
		}
	}
	if !ok {
		if name == "" {
			return e, fmt.Errorf("%s did not say which event its hook is for", d.Name)
		}
		e.Name = name
		return e, errUnknownEvent
	}
	f := d.Fields
	e = Event{
		Name: name, Role: spec.Role, Session: d.text(body, f.Session), Cwd: clean(d.text(body, f.Cwd)), Agent: d.text(body, f.Agent),
		Mode: d.text(body, f.Mode), Version: d.text(body, f.Version), Prompt: hookContext.ReplaceAllString(d.text(body, f.Prompt), ""), Failure: d.text(body, f.Failure), Foreign: spec.Foreign, Transcript: clean(d.text(body, d.Transcript.Path)),
		Tool: d.text(body, either(spec.Tool, f.Tool)), Server: d.text(body, spec.Server), Call: d.text(body, either(spec.Call, f.Call)), Result: at(body, either(spec.Result, f.Result)),
	}
	if name := d.text(body, d.Transcript.Name); simple.MatchString(name) {
		e.Named = name
	}
	if spec.Is != "" {
		e.Tool = spec.Is
	}
	if project := clean(env[d.Project]); d.Project != "" && project != "" {
		e.Workspace = []string{project}
	} else {
		e.Workspace = folders(at(body, f.Workspace))
	}
	if v := env[d.Version]; d.Version != "" && v != "" {
		e.Version = v
	}
	switch e.Role {
	case Before, Permission, After, Failed, Done, Reported:
		if e.Tool == "" {
			return e, fmt.Errorf("%s did not say which tool %s is about", d.Name, name)
		}
		var err error
		if e.Arguments, err = d.arguments(body, spec, e.Tool); err == nil {
			err = jsonx.Check(e.Arguments)
		}
		return e, err
	}
	return e, nil
}

// hookContext matches the output of hooks, callgate's included, which the host puts before the person's prompt.
var hookContext = lazyregexp.New(`(?s)<hook_context>.*?</hook_context>\s*`)

// simple matches names that cannot lead to another folder.
var simple = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

var errUnknownEvent = errors.New("callgate does not know this event")

// arguments returns the raw object of the call's arguments.
func (d *Dialect) arguments(body []byte, spec Spec, tool string) ([]byte, error) {
	if spec.Arguments != nil {
		object := map[string]json.RawMessage{}
		for name, f := range spec.Arguments {
			if v := at(body, f); v != nil {
				object[name] = v
			}
		}
		return json.Marshal(object)
	}
	return d.argumentsOf(at(body, either(spec.Raw, d.Fields.Arguments)), tool)
}

// argumentsOf returns a tool's arguments as a raw object.
func (d *Dialect) argumentsOf(raw []byte, tool string) ([]byte, error) {
	if name := d.Texts[tool]; name != "" && len(raw) > 0 && raw[0] == '"' {
		return slices.Concat([]byte("{"), jsonx.Quote(name), []byte(":"), raw, []byte("}")), nil
	}
	if text, ok := jsonx.String(raw); ok { // an object inside a string
		if raw = []byte(text); len(text) == 0 {
			raw = nil
		}
		if raw != nil {
			if err := jsonx.Check(raw); err != nil {
				return nil, fmt.Errorf("the arguments cannot be read: %w", err)
			}
		}
	}
	if raw == nil || string(raw) == "null" {
		return []byte("{}"), nil
	}
	if raw[0] != '{' {
		return nil, errors.New("the arguments are not an object")
	}
	for name, how := range d.Reshape {
		raw = reshape(raw, name, how)
	}
	return raw, nil
}

// reshape converts an argument to the form that the analysis reads: a list of command lines becomes one text, and a
// list of objects becomes a list of their relevant members. An argument of another form stays unchanged, and asks.
func reshape(raw []byte, name, how string) []byte {
	var m [1]jsonx.Member
	if jsonx.Members(raw, []string{name}, m[:]) != nil || m[0].Value == nil {
		return raw
	}
	var list []json.RawMessage
	if json.Unmarshal(m[0].Value, &list) != nil || len(list) == 0 {
		return raw
	}
	texts := make([]string, len(list))
	for i, element := range list {
		var ok bool
		if how == "lines" {
			texts[i], ok = jsonx.String(element)
		} else {
			texts[i], ok = jsonx.String(at(element, field{how}))
		}
		if !ok {
			return raw
		}
	}
	var with []byte
	if how == "lines" {
		with = jsonx.Quote(strings.Join(texts, "\n"))
	} else {
		with, _ = json.Marshal(texts) // never fails for strings
	}
	return jsonx.Splice(raw, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: with})
}

func either(a, b field) field {
	if len(a) > 0 {
		return a
	}
	return b
}

// at returns the raw value at a field; nil if there is none.
func at(body []byte, f field) []byte {
	if len(f) == 0 {
		return nil
	}
	for _, name := range f {
		var m [1]jsonx.Member
		if len(body) == 0 || body[0] != '{' && body[0] != ' ' && body[0] != '\n' || jsonx.Members(body, []string{name}, m[:]) != nil || m[0].Value == nil {
			return nil
		}
		body = m[0].Value
	}
	return body
}

func (d *Dialect) text(body []byte, f field) string {
	s, _ := jsonx.String(at(body, f))
	return s
}

// folders parses a folder or a list of folders.
func folders(raw []byte) (list []string) {
	var many []string
	if s, ok := jsonx.String(raw); ok {
		many = []string{s}
	} else if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	for _, s := range many {
		if s = clean(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// clean returns the folder if it is absolute, otherwise "".
func clean(folder string) string {
	if !filepath.IsAbs(folder) {
		return ""
	}
	return filepath.Clean(folder)
}

// ofServer reports whether the host's name for a tool belongs to the MCP server.
func (d *Dialect) ofServer(tool, server string) bool {
	head, _, ok := strings.Cut(strings.ReplaceAll(d.MCP, "{server}", server), "{tool}")
	return ok && strings.HasPrefix(tool, head) && len(tool) > len(head)
}

// plainName returns the name that rules see for the same tool behind callgate; "" if there is none.
func (d *Dialect) plainName(e *Event) string {
	if e.Server != "" {
		return e.Server + "_" + e.Tool
	}
	head, _, _ := strings.Cut(d.MCP, "{server}")
	if rest, ok := strings.CutPrefix(e.Tool, head); ok && head != "" {
		return strings.Replace(rest, "__", "_", 1)
	}
	return ""
}
