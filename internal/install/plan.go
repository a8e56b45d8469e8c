package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/internal/durable"
	"callgate/internal/lazyregexp"
)

// Options describes what to connect.
type Options struct {
	Machine  Machine
	Hosts    []Host   // from Find
	Scopes   []string // user, local, project, plugin
	Servers  []string // only these; empty means all
	Callgate string   // the program that hosts start
	Location []string // options that set its data directory, configuration and worker; nil for the defaults
	Folder   string   // where callgate keeps its own files of servers
	Records  string   // where it keeps its records
	Sanitize func(string) string
	// OnlyHooks leaves servers where they are.
	OnlyHooks bool
	// Hooks, if not nil, returns the files in which a host is told to ask callgate about its built-in tools.
	Hooks func(host string) []HookFile
	// Check returns an error if these server names together break callgate's rules for names.
	Check func(names []string) error
}

// Plan is what a connect would change. Making a plan changes nothing.
type Plan struct {
	Hosts []HostPlan `json:"hosts"`

	machine Machine
	options Options
}

// Serving returns callgate's own files with the moved servers.
func (p *Plan) Serving() (files []string) {
	for _, h := range p.Hosts {
		for i := range h.Changes {
			for _, s := range h.Changes[i].serving {
				if h.Changes[i].Changes() && !slices.Contains(files, s.path) {
					files = append(files, s.path)
				}
			}
		}
	}
	return files
}

// HostPlan is the plan for one host.
type HostPlan struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Found   bool     `json:"found"`
	Project bool     `json:"project,omitempty"` // the project has a file of the host's servers
	Changes []Change `json:"changes,omitempty"`
	Own     string   `json:"own,omitempty"`  // about built-in tools that no hook sees
	Note    string   `json:"note,omitempty"` // what the person has to do in the host
}

// Change is the content of a file before and after.
type Change struct {
	Path    string   `json:"path"`
	Scope   string   `json:"scope"`
	Servers []Found  `json:"servers,omitempty"`
	Renames []rename `json:"renames,omitempty"`
	// Error, if not "", is why this file cannot be changed. Other files still can.
	Error string `json:"error,omitempty"`

	Before []byte `json:"-"`
	After  []byte `json:"-"`

	host    string
	file    *File
	hooks   []hooked
	hooking bool // it adds callgate's hooks
	create  bool // the file does not exist yet
	mode    fs.FileMode
	edits   []edit
	serving []serving
}

// Found is a server of a host.
type Found struct {
	Name  string `json:"name"`
	As    string `json:"as,omitempty"`    // its name behind callgate if it moves
	Stays string `json:"stays,omitempty"` // why it stays where it is
}

// serving is one of callgate's own files, with the servers behind one entry of a host.
type serving struct {
	path    string
	servers []named
}

type named struct {
	name   string
	server Server
}

// edit is an entry that connect removed from a file or added to it, for a later disconnect.
type edit struct {
	Place []string       `json:"place"`
	Name  string         `json:"name"`
	Own   bool           `json:"own,omitempty"`   // callgate's own entry, which was added
	Next  string         `json:"next,omitempty"`  // the entry after it
	Raw   string         `json:"raw,omitempty"`   // the text of a removed entry
	Flow  bool           `json:"flow,omitempty"`  // the text was between brackets, with others
	Value map[string]any `json:"value,omitempty"` // its content
}

// moving is a server that may move behind callgate, with the names that the host knows.
type moving struct {
	called string // the server's name in the host
	entry  string // the name of callgate's entry; "" if the server stays and its tools keep their names
	alias  string // the server's name behind callgate
}

func moves(m moving) bool { return m.entry != "" }

// Make plans a connect.
func Make(o Options) (*Plan, error) {
	p := &Plan{machine: o.Machine, options: o}
	for i := range o.Hosts {
		h := &o.Hosts[i]
		hp := HostPlan{ID: h.ID, Name: h.Name, Own: h.Own, Found: o.Machine.Installed(h)}
		moved := p.moveServers(h, &hp)
		for k := range h.Settings {
			hp.Changes = append(hp.Changes, p.rename(h, &h.Settings[k], moved, hp.Changes)...)
		}
		hp.Note = h.prompt(moved, hp.Changes)
		if hp.Found && o.Hooks != nil && slices.Contains(o.Scopes, "user") {
			hp.Changes = append(hp.Changes, p.hook(h, hp.Changes)...)
		}
		hp.Changes = slices.DeleteFunc(hp.Changes, func(c Change) bool { return c.Error == "" && len(c.Servers) == 0 && !c.Changes() })
		p.Hosts = append(p.Hosts, hp)
	}
	return p, nil
}

// prompt returns what the person has to do in the host after servers have moved; "" if nothing.
func (h *Host) prompt(moved map[string][]moving, changes []Change) string {
	var names []string
	for _, scope := range slices.Sorted(maps.Keys(moved)) {
		for _, m := range moved[scope] {
			if moves(m) && !slices.Contains(names, m.entry) && !h.allowed(m.entry, changes) {
				names = append(names, m.entry)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return entryWord.ReplaceAllStringFunc(h.Prompt, func(word string) string {
		words := make([]string, len(names))
		for i, name := range names {
			words[i] = strings.Replace(word, "ENTRY", name, 1)
		}
		return strings.Join(words, " and ")
	})
}

// allowed reports whether the changes leave the entry in a list of tools about which the host does not ask.
func (h *Host) allowed(entry string, changes []Change) bool {
	for i := range h.Settings {
		s := &h.Settings[i]
		if len(s.Allow) == 0 {
			continue
		}
		word := []byte(`"` + wholeServer(s.Tools[0], entry) + `"`)
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Renames != nil && bytes.Contains(c.After, word) }) {
			return true
		}
	}
	return false
}

// entryWord matches the part of a prompt to repeat for each of callgate's entries.
var entryWord = lazyregexp.New(`"[^" ]*ENTRY[^" ]*"|ENTRY`)

// moveServers plans the changes of a host's server files. moved holds the moving servers by scope.
func (p *Plan) moveServers(h *Host, hp *HostPlan) (moved map[string][]moving) {
	o := p.options
	byPath := map[string]int{}
	moved = map[string][]moving{}
	files := o.Machine.files(h)
	for k := range files {
		l := &files[k]
		if !slices.Contains(o.Scopes, l.Scope) || p.plans(l.path) {
			continue
		}
		n, ok := byPath[l.path]
		if !ok {
			before, err := readFile(l.path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			c := Change{Path: l.path, Before: before, After: before, host: h.ID, file: l.File, Scope: l.Scope}
			if err != nil {
				c.Error = err.Error()
			}
			hp.Found, hp.Project = hp.Found || l.Scope != "project", hp.Project || l.Scope == "project"
			n, byPath[l.path] = len(hp.Changes), len(hp.Changes)
			hp.Changes = append(hp.Changes, c)
		}
		if c := &hp.Changes[n]; c.Error == "" && !o.OnlyHooks {
			list, err := p.move(h, l, c)
			if err != nil {
				c.Error, c.After, c.edits, c.serving = err.Error(), c.Before, nil, nil
			}
			moved[l.Scope] = append(moved[l.Scope], list...)
		}
	}
	return moved
}

// Leave removes the files of another plan from this one.
func (p *Plan) Leave(other *Plan) {
	for i := range p.Hosts {
		h := &p.Hosts[i]
		h.Changes = slices.DeleteFunc(h.Changes, func(c Change) bool { return other.plans(c.Path) })
	}
}

// plans reports whether the plan already has this file, because another host reads it too.
func (p *Plan) plans(path string) bool {
	return slices.ContainsFunc(p.Hosts, func(h HostPlan) bool {
		return slices.ContainsFunc(h.Changes, func(c Change) bool { return c.Path == path })
	})
}

// maxFile bounds a host's file. One host keeps its whole history in such a file.
const maxFile = 64 << 20

// readFile reads a regular file, through links.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return os.ReadFile(path)
}

// Changes reports whether the file would change.
func (c *Change) Changes() bool { return !bytes.Equal(c.Before, c.After) }

// OfMachine reports whether the change would write this machine's paths into a project file, which may be shared.
func (c *Change) OfMachine() bool {
	return c.Scope == "project" && slices.ContainsFunc(c.edits, func(e edit) bool { return e.Own })
}

// Changes reports whether anything would change.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Hosts, func(h HostPlan) bool {
		return slices.ContainsFunc(h.Changes, func(c Change) bool { return c.Changes() })
	})
}

// move replaces the servers of a file by callgate's entry, and returns the moved ones.
func (p *Plan) move(h *Host, l *located, c *Change) ([]moving, error) {
	if err := p.renew(h, l, c); err != nil {
		return nil, err
	}
	doc, err := open(l.File, c.After)
	if err != nil {
		return nil, err
	}
	places, err := placesOf(doc, l.File)
	if err != nil {
		return nil, err
	}
	var all []moving
	for _, place := range places {
		list, err := p.moveFrom(h, l, c, doc, place)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(place, "."), err)
		}
		all = append(all, list...)
	}
	if !slices.ContainsFunc(all, moves) {
		return all, nil // opening an empty file makes it an object
	}
	after := doc.bytes()
	if err := unharmed(l.File, c.After, after, c.edits); err != nil {
		return nil, err
	}
	c.After = after
	return all, nil
}

// placesOf returns where a file has servers.
func placesOf(doc document, f *File) ([][]string, error) {
	if f.Bare {
		if all, err := doc.entries(nil); err != nil || !slices.ContainsFunc(all, func(e entry) bool { return e.name == f.Servers[0] }) {
			return [][]string{nil}, err
		}
	}
	return expandPlaces(doc, f.Servers)
}

// expandPlaces replaces * by each existing member.
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

func (p *Plan) moveFrom(h *Host, l *located, c *Change, doc document, place []string) (moved []moving, err error) {
	entries, err := doc.entries(place)
	if err != nil {
		return nil, err
	}
	path := p.servingPath(h, c.Path, place)
	kept, err := readServing(path)
	if err != nil {
		return nil, err
	}
	own := slices.ContainsFunc(entries, func(e entry) bool { return e.name == l.entry })
	for i := range entries {
		e := &entries[i]
		found := Found{Name: e.name}
		server, why := p.read(h, e, l)
		if why == itself {
			continue
		}
		why = cmp.Or(why, e.stays)
		if why == "" && p.off(h, l.Scope, e.name) {
			why = disabled
		}
		if why == "" && len(p.options.Servers) > 0 && !slices.Contains(p.options.Servers, e.name) {
			why = "not selected"
		}
		if why == "" {
			if found.As, err = p.alias(e.name, kept); err != nil {
				why = err.Error()
			}
		}
		found.Stays = why
		c.Servers = append(c.Servers, found)
		if why != "" {
			moved = append(moved, moving{called: l.called(e.name)})
			continue
		}
		if !own { // where the first moved server was
			if err := doc.insert(place, entry{name: l.entry, own: p.ownEntry(h, path)}, e.name); err != nil {
				return nil, err
			}
			c.edits = append(c.edits, edit{Place: place, Name: l.entry, Own: true})
			own = true
		}
		if err := doc.remove(place, e.name); err != nil {
			return nil, err
		}
		next := ""
		if i+1 < len(entries) {
			next = entries[i+1].name
		}
		c.edits = append(c.edits, edit{Place: place, Name: e.name, Next: next, Raw: e.raw, Flow: e.flow, Value: e.value})
		kept = append(kept, named{found.As, server})
		moved = append(moved, moving{l.called(e.name), l.called(l.entry), found.As})
	}
	if slices.ContainsFunc(moved, moves) {
		c.serving = append(c.serving, serving{path, kept})
	}
	return moved, nil
}

// ownArgs returns the arguments with which a host starts callgate.
func (p *Plan) ownArgs(path string) []string {
	return append([]string{"run", "--mcp-config", path}, p.options.Location...)
}

// ownEntry returns callgate's entry in a host's file.
func (p *Plan) ownEntry(h *Host, path string) []member {
	args := p.ownArgs(path)
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

// servingPath returns the path of callgate's own file for a place in a host's file.
func (p *Plan) servingPath(h *Host, path string, place []string) string {
	return filepath.Join(p.options.Folder, h.ID+"-"+short(path+"\x00"+strings.Join(place, "\x00"))+".mcp.json")
}

// alias returns a name for the server that callgate accepts next to the existing ones.
func (p *Plan) alias(name string, kept []named) (string, error) {
	clean := p.options.Sanitize(name)
	if strings.Trim(clean, "_-") == "" { // a name in another script
		clean = "server"
	}
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
	return "", fmt.Errorf("callgate cannot name it: %w", err)
}

// rename plans the new names of moved servers and tools in settings files. earlier lists the changes planned so far,
// perhaps to the same files.
func (p *Plan) rename(h *Host, s *Settings, moved map[string][]moving, earlier []Change) (list []Change) {
	scope := cmp.Or(s.Scope, "user")
	var all []moving
	for _, from := range []string{"user", "local", "plugin", "project"} {
		if from != "project" || scope == "project" {
			all = append(all, moved[from]...)
		}
	}
	if !slices.ContainsFunc(all, moves) || scope == "project" && !slices.Contains(p.options.Scopes, scope) {
		return nil
	}
	for _, path := range p.machine.matching(h, s.Path) {
		before, err := readFile(path)
		for i := range earlier {
			if earlier[i].Path == path && earlier[i].Error == "" {
				before = earlier[i].After
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c := Change{Path: path, Scope: scope, Before: before, After: before, host: h.ID, file: &File{Format: cmp.Or(s.Format, "json")}}
		if err == nil {
			c.Renames, err = renamesFor(s, before, all)
		}
		if err == nil {
			c.After, _, err = applyRenames(c.file.Format, before, c.Renames)
		}
		if err != nil {
			c.Error, c.After, c.Renames = err.Error(), before, nil
		}
		list = append(list, c)
	}
	return list
}

// off reports whether the host's settings disable a server of the scope.
func (p *Plan) off(h *Host, scope, name string) bool {
	for i := range h.Settings {
		s := &h.Settings[i]
		if len(s.Off)+len(s.Only) == 0 || cmp.Or(s.Scope, "user") != scope {
			continue
		}
		for _, path := range p.machine.matching(h, s.Path) {
			text, err := readFile(path)
			if err != nil {
				continue
			}
			v, err := hujson.Parse(text)
			if err != nil {
				continue // the change of the file reports it
			}
			for _, list := range s.Off {
				if array := arrayAt(&v, list); array != nil && slices.ContainsFunc(array.Elements, is(name)) {
					return true
				}
			}
			for _, list := range s.Only {
				if array := arrayAt(&v, list); array != nil && !slices.ContainsFunc(array.Elements, is(name)) {
					return true
				}
			}
		}
	}
	return false
}

// readServing reads callgate's own file of servers, which a person may have edited; nil if it does not exist.
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

// write writes callgate's own file of servers, and returns its digest. The file may hold secrets from a host's file.
func (s *serving) write() (sum string, err error) {
	var b bytes.Buffer
	b.WriteString("{\"mcpServers\":{")
	for i, n := range s.servers {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(n.server)
		if err != nil {
			return "", err
		}
		b.WriteString(quote(n.name) + ":" + string(value))
	}
	b.WriteString("}}")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return "", err
	}
	out.WriteByte('\n')
	return digest(out.Bytes()), durable.Replace(s.path, out.Bytes(), 0o600)
}
