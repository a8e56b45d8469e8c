package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// HookFile is a file, or a folder of files, in which a host looks for hooks.
type HookFile struct {
	Path     string
	At       []string    // the object that holds a list of hooks for each event
	Whole    bool        // the whole file is callgate's
	Text     string      // the whole text, if it is not JSON
	Separate bool        // each event is an executable file in the folder Path
	Events   []HookEvent // the events that callgate hooks
}

// HookEvent is callgate's hook for one event.
type HookEvent struct {
	Name    string
	Command string // identifies the hook
	Like    string // with "--data-dir=" identifies an older hook of callgate, which this one replaces
	Text    string // the JSON of the list's element, or the whole file
}

// hooked is a hook that connect added to a list, for a later disconnect.
type hooked struct {
	At      []string `json:"at"` // the list
	Command string   `json:"command"`
	Like    string   `json:"like,omitempty"`
	Made    int      `json:"made,omitempty"` // how many trailing members of At connect made
}

// hook plans callgate's hooks in a host's files. earlier lists the changes planned so far, perhaps to the same files.
func (p *Plan) hook(h *Host, earlier []Change) (list []Change) {
	defer func() {
		for i := range list {
			list[i].hooking = true
		}
	}()
	for _, f := range p.options.Hooks(h.ID) {
		path := p.machine.path(h, f.Path)
		if f.Separate {
			for _, e := range f.Events {
				c := Change{Path: filepath.Join(path, e.Name), Scope: "user", host: h.ID, file: &File{Format: "text"}, mode: 0o755, After: []byte(e.Text)}
				list = append(list, c.own())
			}
			continue
		}
		c := Change{Path: path, Scope: "user", host: h.ID, file: &File{Format: "json"}, mode: 0o600}
		if f.Text != "" {
			c.file, c.After = &File{Format: "text"}, []byte(f.Text)
			list = append(list, c.own())
			continue
		}
		before, err := readFile(path)
		for i := range earlier {
			if earlier[i].Path == path && earlier[i].Error == "" {
				before = earlier[i].After
			}
		}
		if c.create = errors.Is(err, fs.ErrNotExist); err != nil && !c.create {
			c.Error = err.Error()
		}
		c.Before, c.After = before, before
		if c.Error == "" {
			if c.After, c.hooks, err = addHooks(before, f); err != nil {
				c.Error, c.After = err.Error(), before
			}
		}
		list = append(list, c)
	}
	return list
}

// own plans the change of a file that belongs to callgate alone. It leaves a file that somebody else wrote.
func (c Change) own() Change {
	before, err := readFile(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.create = true
	case err != nil:
		c.Error, c.After = err.Error(), nil
	case bytes.Equal(before, c.After):
		c.Before = before
	case bytes.Contains(before, []byte(`Written by "callgate connect"`)):
		c.Before = before
	default:
		c.Before, c.After = before, before
		c.Error = "the host already has a hook of this name: call callgate from it, or move it away"
	}
	return c
}

// addHooks adds callgate's hooks to the lists of a file. Other hooks stay unchanged.
func addHooks(text []byte, f HookFile) ([]byte, []hooked, error) {
	bom := bytes.HasPrefix(text, byteOrderMark)
	text = bytes.TrimPrefix(text, byteOrderMark)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
		if f.Whole || strings.HasSuffix(f.Path, ".cursor/hooks.json") {
			text = []byte("{\"version\": 1}\n")
		}
	}
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read as JSON: %w", jsonx.Explain(err))
	}
	var done []hooked
	for _, e := range f.Events {
		at := append(slices.Clone(f.At), e.Name)
		made, array, err := arrayIn(&v, at)
		if err != nil {
			return nil, nil, err
		}
		element, err := hujson.Parse([]byte(e.Text))
		if err != nil {
			return nil, nil, err
		}
		if i := slices.IndexFunc(array.Elements, holds(e.Command)); i >= 0 {
			if !shared(array.Elements[i]) && !equalValues(array.Elements[i], element) {
				array.Elements[i].Value = element.Value
				done = append(done, hooked{At: at, Command: e.Command, Like: e.Like})
			}
			continue
		}
		if i := slices.IndexFunc(array.Elements, older(e.Like)); i >= 0 {
			if shared(array.Elements[i]) {
				for v := range array.Elements[i].All() {
					if isOlder(v, e.Like) {
						v.Value = hujson.String(e.Command)
					}
				}
			} else {
				array.Elements[i].Value = element.Value
			}
			done = append(done, hooked{At: at, Command: e.Command, Like: e.Like})
			continue
		}
		indent := "\n" + strings.Repeat("  ", len(at)+1)
		element.BeforeExtra = hujson.Extra(indent)
		if n := len(array.Elements); n > 0 {
			last := &array.Elements[n-1]
			element.BeforeExtra = last.BeforeExtra[len(strings.TrimRight(string(last.BeforeExtra), " \t\r\n")):]
			element.AfterExtra, last.AfterExtra = last.AfterExtra, nil
		} else if len(array.AfterExtra) == 0 {
			array.AfterExtra = hujson.Extra(indent[:len(indent)-2])
		}
		array.Elements = append(array.Elements, element)
		done = append(done, hooked{At: at, Command: e.Command, Like: e.Like, Made: made})
	}
	out := v.Pack()
	if bom {
		out = slices.Concat(byteOrderMark, out)
	}
	return out, done, nil
}

// holds reports whether a value contains the command as a string.
func holds(command string) func(hujson.Value) bool {
	return func(v hujson.Value) bool {
		for x := range v.All() {
			if l, ok := x.Value.(hujson.Literal); ok && l.Kind() == '"' && l.String() == command {
				return true
			}
		}
		return false
	}
}

// shared reports whether a list's element also has other hooks, and so belongs to the person.
func shared(v hujson.Value) bool {
	n := 0
	for x := range v.All() {
		if obj, ok := x.Value.(*hujson.Object); ok && slices.ContainsFunc(obj.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == "type" }) {
			n++
		}
	}
	return n > 1
}

// equalValues reports whether two values are equal.
func equalValues(a, b hujson.Value) bool {
	plain := func(v hujson.Value) string {
		v = v.Clone()
		v.Minimize()
		return v.String()
	}
	return plain(a) == plain(b)
}

// older reports whether a value is a hook of callgate with another program or data directory.
func older(like string) func(hujson.Value) bool {
	return func(v hujson.Value) bool {
		for x := range v.All() {
			if isOlder(x, like) {
				return true
			}
		}
		return false
	}
}

func isOlder(v *hujson.Value, like string) bool {
	l, ok := v.Value.(hujson.Literal)
	return ok && l.Kind() == '"' && like != "" && strings.Contains(l.String()+" ", like) && strings.Contains(l.String(), "--data-dir=")
}

// HookDataDirs returns the data directories that are named by callgate's hooks in a host's file.
func HookDataDirs(path, host string) (dirs []string) {
	text, err := readFile(path)
	if err != nil {
		return nil
	}
	for _, m := range hookDataDir.FindAllStringSubmatch(string(text), -1) {
		if dir := cmp.Or(m[2:]...); m[1] == host && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// hookDataDir matches a host and a data directory in a command line, whose words may be strings of a list.
var hookDataDir = lazyregexp.New(`hook[", ]+([a-z-]+)"?[, ]+(?:[A-Za-z]+ )?(?:'--data-dir=([^']*)'|"--data-dir=([^"]*)"|--data-dir=([^\s"'\\]+))`)

// Switch returns a boolean setting of a JSON file. Dots separate the names of nested members. said reports whether the
// file has the setting.
func Switch(path, name string) (value, said bool) {
	text, err := readFile(path)
	if err != nil {
		return false, false
	}
	v, err := hujson.Parse(bytes.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return false, false
	}
	found := v.Find("/" + strings.ReplaceAll(name, ".", "/"))
	if found == nil {
		return false, false
	}
	l, ok := found.Value.(hujson.Literal)
	return ok && l.Kind() == 't', ok && (l.Kind() == 't' || l.Kind() == 'f')
}

// arrayIn finds the list at a place, and makes missing members on the way; made is their number.
func arrayIn(v *hujson.Value, at []string) (made int, array *hujson.Array, err error) {
	for i, name := range at {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return 0, nil, fmt.Errorf("%s is not an object", strings.Join(at[:i], "."))
		}
		k := slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
		if k < 0 {
			made++
			m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: &hujson.Object{}}}
			if i == len(at)-1 {
				m.Value.Value = &hujson.Array{}
			}
			m.Name.BeforeExtra = hujson.Extra("\n" + strings.Repeat("  ", i+1))
			if n := len(obj.Members); n > 0 {
				last := &obj.Members[n-1]
				if before := last.Name.BeforeExtra; len(before) > 0 {
					m.Name.BeforeExtra = before[len(strings.TrimRight(string(before), " \t\r\n")):]
				}
				m.Value.AfterExtra, last.Value.AfterExtra = last.Value.AfterExtra, nil
			} else if len(obj.AfterExtra) == 0 {
				obj.AfterExtra = hujson.Extra("\n" + strings.Repeat("  ", i))
			}
			obj.Members = append(obj.Members, m)
			k = len(obj.Members) - 1
		}
		v = &obj.Members[k].Value
	}
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return 0, nil, fmt.Errorf("%s is not a list", strings.Join(at, "."))
	}
	return made, array, nil
}

// removeHooks removes callgate's hooks, and the lists made for them, from a file that has changed since.
func removeHooks(text []byte, hooks []hooked) ([]byte, error) {
	bom := bytes.HasPrefix(text, byteOrderMark)
	v, err := hujson.Parse(bytes.TrimPrefix(text, byteOrderMark))
	if err != nil {
		return nil, fmt.Errorf("read as JSON: %w", jsonx.Explain(err))
	}
	for _, h := range slices.Backward(hooks) {
		array := arrayAt(&v, h.At)
		if array == nil {
			continue // the host has removed it
		}
		removeFrom(array, h)
		for n := 0; n < h.Made && dropEmpty(&v, h.At[:len(h.At)-n]); n++ {
		}
	}
	out := v.Pack()
	if bom {
		out = slices.Concat(byteOrderMark, out)
	}
	return out, nil
}

// removeFrom removes callgate's hooks from a list. A group keeps its other hooks.
func removeFrom(array *hujson.Array, h hooked) {
	own := func(v hujson.Value) bool { return holds(h.Command)(v) || older(h.Like)(v) }
	for i := 0; i < len(array.Elements); i++ {
		switch e := array.Elements[i]; {
		case !own(e):
		case shared(e):
			for v := range array.Elements[i].All() {
				if inner, ok := v.Value.(*hujson.Array); ok {
					removeFrom(inner, h)
				}
			}
		default:
			if i > 0 && i == len(array.Elements)-1 {
				array.Elements[i-1].AfterExtra = e.AfterExtra
			}
			array.Elements = slices.Delete(array.Elements, i, i+1)
			i--
		}
	}
}

// isEmpty reports whether a file made for hooks has at most a version left.
func isEmpty(text []byte) bool {
	v, err := hujson.Parse(text)
	if err != nil {
		return false
	}
	obj, ok := v.Value.(*hujson.Object)
	return ok && !slices.ContainsFunc(obj.Members, func(m hujson.ObjectMember) bool { return nameOf(m) != "version" })
}

// dropEmpty removes the member at a place if it is empty, and reports whether it did.
func dropEmpty(v *hujson.Value, at []string) bool {
	for _, name := range at[:len(at)-1] {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return false
		}
		k := slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
		if k < 0 {
			return false
		}
		v = &obj.Members[k].Value
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	k := slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == at[len(at)-1] })
	if k < 0 {
		return false
	}
	switch inside := obj.Members[k].Value.Value.(type) {
	case *hujson.Array:
		if len(inside.Elements) > 0 {
			return false
		}
	case *hujson.Object:
		if len(inside.Members) > 0 {
			return false
		}
	}
	if k > 0 && k == len(obj.Members)-1 {
		obj.Members[k-1].Value.AfterExtra = obj.Members[k].Value.AfterExtra
	}
	obj.Members = slices.Delete(obj.Members, k, k+1)
	return true
}

// Entry is callgate's entry among a host's servers.
type Entry struct {
	Path    string // the host's file
	Scope   string
	Command []string
	Env     []string
}

// Location returns, by name, the entry's options for the data directory, the configuration and the worker. Entries
// leave out defaults.
func (e *Entry) Location() map[string]string {
	options := map[string]string{}
	for i, word := range e.Command {
		name, value, given := strings.Cut(word, "=")
		if !slices.Contains(locationOptions, name) {
			continue
		}
		if !given && i+1 < len(e.Command) {
			value = e.Command[i+1]
		}
		options[name] = value
	}
	return options
}

var locationOptions = []string{"--data-dir", "--config", "--worker"}

// entries returns the entries of all servers in a file. A missing file has none. With an error, some are missing.
func (l *located) entries() (list []entry, err error) {
	text, err := readFile(l.path)
	if err != nil {
		return nil, nil // the plan reports the error
	}
	doc, err := open(l.File, text)
	if err != nil {
		return nil, err
	}
	places, err := placesOf(doc, l.File)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		some, wrong := doc.entries(place)
		list, err = append(list, some...), errors.Join(err, wrong)
	}
	return list, err
}

// Entries returns callgate's entries in a host's files, including those whose program no longer exists.
func Entries(m Machine, h *Host) (list []Entry) {
	files := m.files(h)
	for i := range files {
		l := &files[i]
		entries, _ := l.entries() // the plan reports the errors
		for _, e := range entries {
			words := commandOf(e.value)
			if len(words) < 2 || words[1] != "run" || strings.TrimSuffix(filepath.Base(words[0]), ".exe") != "callgate" {
				continue
			}
			found := Entry{Path: l.path, Scope: l.Scope, Command: words}
			for name, value := range mapOf(reader(e.value).member(envMembers)) {
				found.Env = append(found.Env, name+"="+value)
			}
			list = append(list, found)
		}
	}
	return list
}

// OwnEntries returns the names of the entries that start program, which is callgate, among a host's servers. A name
// counts only if every entry with that name is callgate, and no other server's tool could be mistaken for one of its
// tools.
func OwnEntries(m Machine, h *Host, program string) (names []string) {
	mine, others := map[string]bool{}, map[string]bool{}
	files := m.files(h)
	for i := range files {
		l := &files[i]
		entries, err := l.entries()
		if err != nil {
			return nil // it is unknown how the host reads the file
		}
		for _, e := range entries {
			if runs(e.value, program) {
				mine[l.called(e.name)] = true
			} else {
				others[l.called(e.name)] = true
			}
		}
	}
	for name := range mine {
		clash := others[name]
		for other := range others {
			clash = clash || strings.HasPrefix(other, name+"_") || strings.HasPrefix(other, name+"-")
		}
		if !clash {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// runs reports whether an entry starts program as a server.
func runs(value map[string]any, program string) bool {
	words := commandOf(value)
	if len(words) < 2 || words[1] != "run" {
		return false
	}
	a, err := filepath.EvalSymlinks(words[0])
	if err != nil {
		return false
	}
	b, err := filepath.EvalSymlinks(program)
	return err == nil && a == b
}

// commandOf returns the command of an entry.
func commandOf(value map[string]any) []string {
	r := reader(value)
	switch command := r.member(commandMembers).(type) {
	case string:
		return append([]string{command}, r.strings("args")...)
	case []any:
		return listOf(command)
	}
	return nil
}

// Hooks reports whether the change is about callgate's hooks.
func (c *Change) Hooks() bool { return c.hooking }

// Path returns the path of a host's file on this machine.
func (m *Machine) Path(h *Host, path string) string { return m.path(h, path) }
