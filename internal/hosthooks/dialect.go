// Package hosthooks judges the tools that are built into LLM hosts.
//
// A host's hook runs "callgate hook". This package reads the host's message, asks the gate, and answers in the host's
// format. The differences between hosts are data: hosts/*.yaml.
package hosthooks

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"callgate/internal/hosthooks/door"
)

// Role is the meaning of a host's event to callgate.
type Role string

const (
	Before     Role = "before"     // a call is about to run: callgate judges it
	Permission Role = "permission" // the host would ask its person: it gets the decision instead
	After      Role = "after"      // a call ran
	Failed     Role = "failed"     // a call failed, or never ran
	Done       Role = "done"       // something happened that the host reports only afterwards
	Reported   Role = "told"       // a call ran, as the host says outside its hooks
	Prompt     Role = "prompt"     // the person sent a prompt
	Start      Role = "start"
	End        Role = "end"
	Subagent   Role = "subagent"
	Idle       Role = "idle" // the turn is over
)

var roles = []Role{Before, Permission, After, Failed, Done, Reported, Prompt, Start, End, Subagent, Idle}

// Decides reports whether the host waits for a yes or no.
func (r Role) Decides() bool { return r == Before || r == Permission }

// Dialect describes how one host talks to its hooks.
type Dialect struct {
	ID       string                       `yaml:"id"`
	Name     string                       `yaml:"name"`
	Client   string                       `yaml:"client"` // the host's client name over MCP
	Like     string                       `yaml:"like"`   // the dialect that provides the values left out here
	Fields   Fields                       `yaml:"fields"`
	Project  string                       `yaml:"project"` // environment variable with the project's folder
	Version  string                       `yaml:"version"` // environment variable with the host's version
	MCP      string                       `yaml:"mcp"`     // the form of the host's names for tools of MCP servers
	Careless []string                     `yaml:"careless"`
	Planning []string                     `yaml:"planning"`
	Limit    time.Duration                `yaml:"limit"` // the host's timeout for hooks, which connect sets
	Events   map[string]Spec              `yaml:"events"`
	Reshape  map[string]string            `yaml:"reshape"` // list arguments: "lines" joins them to one text; otherwise the relevant member of each element
	Texts    map[string]string            `yaml:"texts"`   // tools with a string as input → the argument's name
	Answers  map[Role]map[string]template `yaml:"answers"`
	Install  []Place                      `yaml:"install"`
	Probe    struct {                     // the call with which doctor tests the way to the gate
		Event string `yaml:"event"`
		Tool  string `yaml:"tool"`
		Path  string `yaml:"path"` // the argument with a file's name
	} `yaml:"probe"`
	Post  string   `yaml:"post"` // the type of hooks that the host sends over HTTP, or ""
	Guard struct { // the member of a hook that stops a call if the hook fails
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"guard"`
	Off  map[string]bool `yaml:"off"`  // settings that turn hooks off, in the file with the hooks
	Note string          `yaml:"note"` // what the person still has to do in the host

	Transcript Transcript `yaml:"transcript"`
}

// field is the path to a value: the names of nested members.
type field []string

// Fields describes where values are in the host's message.
type Fields struct {
	Event     field `yaml:"event"`
	Session   field `yaml:"session"`
	Cwd       field `yaml:"cwd"`
	Workspace field `yaml:"workspace"`
	Tool      field `yaml:"tool"`
	Arguments field `yaml:"arguments"`
	Call      field `yaml:"call"`
	Agent     field `yaml:"agent"`
	Mode      field `yaml:"mode"`
	Version   field `yaml:"version"`
	Prompt    field `yaml:"prompt"`
	Result    field `yaml:"result"`
	Failure   field `yaml:"failure"`
}

// Spec describes an event by its role alone, or with its peculiarities.
type Spec struct {
	Role      Role             `yaml:"role"`
	Is        string           `yaml:"is"`        // the tool, if the event stands for one
	Arguments map[string]field `yaml:"arguments"` // their fields, if the host does not send the arguments as one object
	Tool      field            `yaml:"tool"`
	Server    field            `yaml:"server"`
	Raw       field            `yaml:"raw"` // the arguments, if they are not where other events have them
	Call      field            `yaml:"call"`
	Result    field            `yaml:"result"`
	Foreign   bool             `yaml:"foreign"` // the tool is an MCP server's
}

// UnmarshalYAML decodes a role or an object.
func (s *Spec) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&s.Role)
	}
	type plain Spec
	return n.Decode((*plain)(s))
}

// template is an answer in which $reason stands for the reason.
type template struct {
	Body   any    `yaml:"body"`
	Stderr string `yaml:"stderr"`
	Exit   int    `yaml:"exit"`
}

// Reply is what "callgate hook" answers the host.
type Reply struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Exit   int    `json:"exit"`
}

//go:embed hosts/*.yaml
var hostFiles embed.FS

// Dialects returns all dialects by id.
var Dialects = sync.OnceValue(func() map[string]*Dialect {
	all, err := readDialects(hostFiles)
	if err != nil {
		panic(err) // the files are embedded, and a test reads them
	}
	return all
})

// IDs returns the hosts that have hooks, sorted.
func IDs() []string { return slices.Sorted(maps.Keys(Dialects())) }

// Find returns the dialect of a host.
func Find(id string) (*Dialect, error) {
	if d, ok := Dialects()[id]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("unknown host %q: callgate has hooks for %s", id, strings.Join(IDs(), ", "))
}

func readDialects(files fs.FS) (map[string]*Dialect, error) {
	names, err := fs.Glob(files, "hosts/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]*Dialect{}
	for _, name := range names {
		d := &Dialect{}
		if err := d.readFile(files, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if d.ID+".yaml" != path.Base(name) {
			return nil, fmt.Errorf("%s: the id is %q", name, d.ID)
		}
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[d.ID] = d
	}
	return all, nil
}

// readFile reads a dialect on top of the one named by its like.
func (d *Dialect) readFile(files fs.FS, name string) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	var first struct {
		Like string `yaml:"like"`
	}
	if err := yaml.Unmarshal(text, &first); err != nil {
		return err
	}
	if first.Like != "" {
		if err := d.readFile(files, path.Join(path.Dir(name), first.Like+".yaml")); err != nil {
			return err
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	return dec.Decode(d)
}

func (d *Dialect) check() error {
	for name, s := range d.Events {
		if !slices.Contains(roles, s.Role) {
			return fmt.Errorf("event %s: unknown role %q", name, s.Role)
		}
		if s.Role.Decides() && d.Answers[s.Role]["deny"].Exit == 0 {
			return fmt.Errorf("event %s: a denial needs an exit code", name)
		}
		if s.Role.Decides() && d.Post != "" && d.Answers[s.Role]["deny"].Body == nil {
			return fmt.Errorf("event %s: a denial that is posted needs a body", name)
		}
	}
	if form := d.Transcript.Form; form != "" && transcriptForms[form] == nil {
		return fmt.Errorf("unknown form of transcripts %q", form)
	}
	if len(d.Events) == 0 || d.Client == "" || d.Limit <= door.Patience {
		return fmt.Errorf("events, client and a limit of more than %s are needed", door.Patience)
	}
	return nil
}

// has reports whether the host has an event of that role.
func (d *Dialect) has(r Role) bool {
	for _, s := range d.Events {
		if s.Role == r {
			return true
		}
	}
	return false
}

// say returns the reply to an event; word is allow, deny or context. If the dialect does not have the word, the reply
// is empty. check makes sure that every dialect can deny.
func (d *Dialect) say(r Role, word, reason string) Reply {
	t, ok := d.Answers[r][word]
	if !ok {
		return Reply{}
	}
	out := Reply{Stderr: fill(t.Stderr, reason).(string), Exit: t.Exit}
	if t.Body != nil {
		body, err := json.Marshal(fill(t.Body, reason))
		if err != nil {
			return Reply{Stderr: err.Error(), Exit: 2}
		}
		out.Stdout = string(body)
	}
	return out
}

// Fail returns the reply when callgate cannot judge. A call that waits for an answer is denied.
func (d *Dialect) Fail(event string, body []byte, reason string) Reply {
	if e, err := d.Read(event, body, nil); err == nil && !e.Role.Decides() {
		return Reply{Stderr: reason, Exit: 1}
	} else if err == nil {
		return d.say(e.Role, "deny", reason)
	}
	return d.say(Before, "deny", reason)
}

// fill replaces strings that are $reason.
func fill(v any, reason string) any {
	switch v := v.(type) {
	case string:
		if v == "$reason" {
			return reason
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = fill(e, reason)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = fill(e, reason)
		}
		return out
	}
	return v
}
