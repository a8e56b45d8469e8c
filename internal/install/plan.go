package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/durable"
)

// Options say what to connect.
type Options struct {
	Machine  Machine
	Hosts    []Host   // from Find
	Scopes   []string // user, local, project
	Servers  []string // only these; none means all
	Callgate string   // the program that hosts start
	Folder   string   // where callgate keeps its own files of servers
	Records  string   // where it remembers what it changed
	Sanitize func(string) string
	// OnlyHooks leaves servers where they are.
	OnlyHooks bool
	// Hooks are what a host's own files need so that it asks callgate about its own tools; nil leaves them alone.
	Hooks func(host string) []HookFile
	// Check is callgate's own rule for a set of server names.
	Check func(names []string) error
}

// Plan is what connecting would change. Making one changes nothing.
type Plan struct {
	Hosts []HostPlan `json:"hosts"`

	machine Machine
	options Options
}

// HostPlan is what is found of one host.
type HostPlan struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Found   bool     `json:"found"`
	Changes []Change `json:"changes,omitempty"`
	Note    string   `json:"note,omitempty"` // what the person has to do in the host
}

// Change is one file as it is and as it would be.
type Change struct {
	Path    string   `json:"path"`
	Scope   string   `json:"scope"`
	Servers []Found  `json:"servers,omitempty"`
	Renames []rename `json:"renames,omitempty"`
	// Error says why the file cannot be changed; the other files can.
	Error string `json:"error,omitempty"`

	Before []byte `json:"-"`
	After  []byte `json:"-"`

	host    string
	file    *File
	hooks   []hooked
	hooking bool // it is about callgate's hooks
	create  bool // there is no file yet
	mode    fs.FileMode
	edits   []edit
	serving []serving
}

// Found is a server of a host.
type Found struct {
	Name  string `json:"name"`
	As    string `json:"as,omitempty"`    // its name behind callgate, when it moves
	Stays string `json:"stays,omitempty"` // why it stays where it is
}

// serving is a file of callgate's own with servers that one entry of a host leads to.
type serving struct {
	path    string
	servers []named
}

type named struct {
	name   string
	server Server
}

// edit is one entry that was taken out of a file, or put into it, in a form that a later disconnect understands.
type edit struct {
	Place []string       `json:"place"`
	Name  string         `json:"name"`
	Own   bool           `json:"own,omitempty"`   // put in
	Next  string         `json:"next,omitempty"`  // what stood behind it
	Raw   string         `json:"raw,omitempty"`   // its text, of what was taken out
	Value map[string]any `json:"value,omitempty"` // what it said
}

// entryNames are callgate's entries by scope: hosts merge scopes by name, and one must not hide another.
var entryNames = map[string]string{"user": "callgate", "local": "callgate-local", "project": "callgate-project"}

// Make looks at the hosts and says what would change.
func Make(o Options) (*Plan, error) {
	p := &Plan{machine: o.Machine, options: o}
	for i := range o.Hosts {
		h := &o.Hosts[i]
		hp := HostPlan{ID: h.ID, Name: h.Name, Found: o.Machine.Installed(h)}
		byPath := map[string]int{}
		moved := map[string]map[string]string{} // by scope: server → alias
		for k := range h.Files {
			f := &h.Files[k]
			path := o.Machine.path(h, f.Path)
			if path == "" || !slices.Contains(o.Scopes, f.Scope) {
				continue
			}
			n, ok := byPath[path]
			if !ok {
				before, err := readFile(path)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				c := Change{Path: path, Before: before, After: before, host: h.ID, file: f, Scope: f.Scope}
				if err != nil {
					c.Error = err.Error()
				}
				hp.Found = hp.Found || f.Scope != "project"
				n, byPath[path] = len(hp.Changes), len(hp.Changes)
				hp.Changes = append(hp.Changes, c)
			}
			if c := &hp.Changes[n]; c.Error == "" && !o.OnlyHooks {
				names, err := p.move(h, f, c)
				if err != nil {
					c.Error, c.After, c.edits, c.serving = err.Error(), c.Before, nil, nil
				}
				if len(names) > 0 {
					if moved[f.Scope] == nil {
						moved[f.Scope] = map[string]string{}
					}
					maps.Copy(moved[f.Scope], names)
				}
			}
		}
		for k := range h.Settings {
			if c := p.rename(h, &h.Settings[k], moved); c != nil {
				hp.Changes = append(hp.Changes, *c)
			}
		}
		if len(moved) > 0 {
			hp.Note = h.Prompt
		}
		if hp.Found && o.Hooks != nil && slices.Contains(o.Scopes, "user") {
			hp.Changes = append(hp.Changes, p.hook(h, hp.Changes)...)
		}
		hp.Changes = slices.DeleteFunc(hp.Changes, func(c Change) bool { return c.Error == "" && len(c.Servers) == 0 && !c.Changes() })
		p.Hosts = append(p.Hosts, hp)
	}
	return p, nil
}

// maxFile bounds a host's file: the state file of one holds its whole history.
const maxFile = 64 << 20

// readFile reads a regular file, through links.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxFile>>20)
	}
	return os.ReadFile(path)
}

// Changes reports whether the file would have other bytes.
func (c *Change) Changes() bool { return !bytes.Equal(c.Before, c.After) }

// Changes reports whether anything would change.
func (p *Plan) Changes() bool {
	for _, h := range p.Hosts {
		if slices.ContainsFunc(h.Changes, func(c Change) bool { return c.Changes() }) {
			return true
		}
	}
	return false
}

// move takes the servers of one place out of the file and puts callgate's entry in. It returns the names of those that
// moved, with their names behind callgate.
func (p *Plan) move(h *Host, f *File, c *Change) (map[string]string, error) {
	doc, err := open(f, c.After)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	places, err := expandPlaces(doc, f.Servers)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		names, err := p.moveFrom(h, f, c, doc, place)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(place, "."), err)
		}
		maps.Copy(all, names)
	}
	c.After = doc.bytes()
	return all, nil
}

// expandPlaces replaces * by each member that is there.
func expandPlaces(doc document, pattern []string) ([][]string, error) {
	i := slices.Index(pattern, "*")
	if i < 0 {
		return [][]string{pattern}, nil
	}
	members, err := doc.entries(pattern[:i])
	if err != nil {
		return nil, err
	}
	var places [][]string
	for _, m := range members {
		places = append(places, slices.Concat(pattern[:i], []string{m.name}, pattern[i+1:]))
	}
	return places, nil
}

func (p *Plan) moveFrom(h *Host, f *File, c *Change, doc document, place []string) (map[string]string, error) {
	entries, err := doc.entries(place)
	if err != nil {
		return nil, err
	}
	entryName := entryNames[f.Scope]
	path := p.servingPath(h, c.Path, place)
	kept, err := readServing(path)
	if err != nil {
		return nil, err
	}
	moved := map[string]string{}
	own := slices.ContainsFunc(entries, func(e entry) bool { return e.name == entryName })
	for i := range entries {
		e := &entries[i]
		found := Found{Name: e.name}
		server, why := p.read(h, e, f.Scope)
		if why == itself {
			continue
		}
		if why == "" && len(p.options.Servers) > 0 && !slices.Contains(p.options.Servers, e.name) {
			why = "it was not asked for"
		}
		if why == "" {
			if found.As, err = p.alias(e.name, kept); err != nil {
				why = err.Error()
			}
		}
		found.Stays = why
		c.Servers = append(c.Servers, found)
		if why != "" {
			continue
		}
		if !own { // where the first one stood
			if err := doc.insert(place, entry{name: entryName, own: p.ownEntry(h, path)}, e.name); err != nil {
				return nil, err
			}
			c.edits = append(c.edits, edit{Place: place, Name: entryName, Own: true})
			own = true
		}
		if err := doc.remove(place, e.name); err != nil {
			return nil, err
		}
		next := ""
		if i+1 < len(entries) {
			next = entries[i+1].name
		}
		c.edits = append(c.edits, edit{Place: place, Name: e.name, Next: next, Raw: e.raw, Value: e.value})
		kept = append(kept, named{found.As, server})
		moved[e.name] = found.As
	}
	if len(moved) > 0 {
		c.serving = append(c.serving, serving{path, kept})
	}
	return moved, nil
}

// ownEntry is callgate in a host's file.
func (p *Plan) ownEntry(h *Host, path string) []member {
	args := []string{"run", "--mcp-config", path}
	var list []member
	switch h.Shape {
	case "opencode":
		list = append(list, member{"command", append([]string{p.options.Callgate}, args...)})
	case "goose":
		list = append(list, member{"cmd", p.options.Callgate}, member{"args", args})
	default:
		list = append(list, member{"command", p.options.Callgate}, member{"args", args})
	}
	for _, name := range slices.Sorted(maps.Keys(h.Entry)) {
		list = append(list, member{name, h.Entry[name]})
	}
	return list
}

// servingPath is callgate's own file for a place of a host.
func (p *Plan) servingPath(h *Host, path string, place []string) string {
	return filepath.Join(p.options.Folder, h.ID+"-"+short(path+"\x00"+strings.Join(place, "\x00"))+".mcp.json")
}

// alias finds a name that callgate accepts beside those that are there.
func (p *Plan) alias(name string, kept []named) (string, error) {
	clean := p.options.Sanitize(name)
	candidates := []string{clean, strings.ReplaceAll(clean, "_", "-")}
	for n := 2; n < 10; n++ {
		candidates = append(candidates, fmt.Sprintf("%s-%d", strings.ReplaceAll(clean, "_", "-"), n), fmt.Sprintf("%d-%s", n, strings.ReplaceAll(clean, "_", "-")))
	}
	var names []string
	for _, k := range kept {
		names = append(names, k.name)
	}
	var err error
	for _, c := range candidates {
		if slices.Contains(names, c) {
			continue
		}
		if err = p.options.Check(append(slices.Clone(names), c)); err == nil {
			return c, nil
		}
	}
	return "", fmt.Errorf("no name for it: %w", err)
}

// rename changes the names of moved tools in a settings file; nil when nothing changes.
func (p *Plan) rename(h *Host, s *Settings, moved map[string]map[string]string) *Change {
	scope := s.Scope
	if scope == "" {
		scope = "user"
	}
	path := p.machine.path(h, s.Path)
	names, any := moved[scope]
	if scope == "user" && !any {
		names, any = moved["local"]
		scope = "local"
	}
	if path == "" || !any {
		return nil
	}
	before, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c := &Change{Path: path, Scope: scope, Before: before, After: before, host: h.ID, file: &File{Format: "json"}}
	if err == nil {
		c.Renames, err = renamesFor(s, before, entryNames[scope], names)
	}
	if err == nil {
		c.After, _, err = applyRenames(before, c.Renames)
	}
	if err != nil {
		c.Error, c.After, c.Renames = err.Error(), before, nil
	}
	return c
}

// readServing reads callgate's own file of servers, which a person may have changed since; nil when it is not there.
func readServing(path string) ([]named, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := openJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	entries, err := doc.entries([]string{"mcpServers"})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list []named
	for _, e := range entries {
		n := named{name: e.name}
		value, err := json.Marshal(e.value)
		if err == nil {
			err = json.Unmarshal(value, &n.server)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, e.name, err)
		}
		list = append(list, n)
	}
	return list, nil
}

// write puts callgate's own file of servers on the disk. It may hold secrets that a host's file held.
func (s *serving) write() error {
	var b bytes.Buffer
	b.WriteString("{\"mcpServers\":{")
	for i, n := range s.servers {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(n.server)
		if err != nil {
			return err
		}
		b.WriteString(quote(n.name) + ":" + string(value))
	}
	b.WriteString("}}")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	return durable.Replace(s.path, out.Bytes(), 0o600)
}
