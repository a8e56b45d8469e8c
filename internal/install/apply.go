package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/durable"
)

// record describes what one connect changed in a file. It is enough to restore the old content, whatever the host has
// changed since.
type record struct {
	Host    string    `json:"host"`
	Scope   string    `json:"scope"`
	Path    string    `json:"path"`
	Format  string    `json:"format"`
	List    bool      `json:"list,omitempty"`
	At      time.Time `json:"at"`
	Before  []byte    `json:"before"`  // the whole old file
	Written string    `json:"written"` // SHA-256 of the new file
	Edits   []edit    `json:"edits,omitempty"`
	Renames []rename  `json:"renames,omitempty"`
	Serving []string  `json:"serving,omitempty"` // callgate's own files of the moved servers
	Served  []string  `json:"served,omitempty"`  // SHA-256 of each as written
	Hooks   []hooked  `json:"hooks,omitempty"`
	Created bool      `json:"created,omitempty"` // the file did not exist

	file string
}

func short(s string) string { return digest([]byte(s))[:12] }

func digest(b []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// Apply writes the plan: first the files with the moved servers, then the record for an undo, then the host's file. If
// it is killed, each host is either unchanged or connected, and no server is lost. It returns the changed files.
func (p *Plan) Apply() (changed []string, err error) {
	for _, folder := range []string{p.options.Folder, p.options.Records} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	err = durable.Locked(filepath.Join(p.options.Records, ".lock"), func() error {
		for _, h := range p.Hosts {
			for i := range h.Changes {
				c := &h.Changes[i]
				if !c.Changes() {
					continue
				}
				if err := p.applyOne(c); err != nil {
					return fmt.Errorf("connect %s: %s: %w", h.Name, c.Path, err)
				}
				if !slices.Contains(changed, c.Path) {
					changed = append(changed, c.Path)
				}
			}
		}
		return nil
	})
	return changed, err
}

func (p *Plan) applyOne(c *Change) error {
	path, mode, err := c.target()
	if err != nil {
		return err
	}
	r := record{Host: c.host, Scope: c.Scope, Path: c.Path, Format: c.file.Format, List: c.file.List, Hooks: c.hooks, Created: c.create, At: time.Now().UTC(), Before: c.Before, Written: digest(c.After), Edits: c.edits, Renames: c.Renames}
	for i := range c.serving {
		sum, err := c.serving[i].write()
		if err != nil {
			return err
		}
		r.Serving, r.Served = append(r.Serving, c.serving[i].path), append(r.Served, sum)
	}
	text, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%s.json", r.At.Format("20060102T150405.000000000"), short(c.Path))
	if err := durable.Replace(filepath.Join(p.options.Records, name), text, 0o600); err != nil {
		return err
	}
	return durable.Replace(path, c.After, mode)
}

// target returns the file to write.
func (c *Change) target() (string, fs.FileMode, error) {
	if !c.create {
		return target(c.Path, c.Before)
	}
	if _, err := os.Lstat(c.Path); !errors.Is(err, fs.ErrNotExist) {
		return "", 0, errors.Join(errors.New("somebody created the file meanwhile: run the command again"), err)
	}
	return c.Path, c.mode, os.MkdirAll(filepath.Dir(c.Path), 0o755)
}

// target returns the file behind links, and its mode. It returns an error if the content is no longer want.
func target(path string, want []byte) (string, fs.FileMode, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", 0, err
	}
	now, err := readFile(real)
	if err != nil {
		return "", 0, err
	}
	if !bytes.Equal(now, want) {
		return "", 0, errors.New("the file has changed meanwhile: run the command again")
	}
	return real, info.Mode().Perm(), nil
}

// Undone describes what a disconnect changes in a file.
type Undone struct {
	Host      string   `json:"host"`
	Path      string   `json:"path"`
	Exact     bool     `json:"exact"`               // the file gets its old bytes back
	Conflicts []string `json:"conflicts,omitempty"` // what stays as the host has it now

	Before []byte `json:"-"`
	After  []byte `json:"-"`

	record record
}

// Undo plans a disconnect of hosts (all if none are named) and scopes. The newest changes come first.
func Undo(records string, hosts, scopes []string) ([]Undone, error) {
	list, err := readRecords(records)
	if err != nil {
		return nil, err
	}
	now, seen := map[string][]byte{}, map[string]bool{}
	var out []Undone
	for _, r := range slices.Backward(list) {
		if len(hosts) > 0 && !slices.Contains(hosts, r.Host) || !slices.Contains(scopes, r.Scope) {
			continue
		}
		text, read := now[r.Path]
		if !read {
			if text, err = readFile(r.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err != nil {
				text = nil
			}
		}
		u := Undone{Host: r.Host, Path: r.Path, Before: text, record: r}
		u.take(text)
		now[r.Path] = u.After
		for i, path := range r.Serving {
			if own, err := readFile(path); err == nil && !seen[path] && i < len(r.Served) && digest(own) != r.Served[i] {
				u.Conflicts = append(u.Conflicts, fmt.Sprintf("%s has changed since: it stays, with its servers", path))
			}
			seen[path] = true // older records describe older files
		}
		out = append(out, u)
	}
	return out, nil
}

// take computes the file without callgate's changes.
func (u *Undone) take(now []byte) {
	r := &u.record
	switch {
	case now == nil:
		u.Conflicts = append(u.Conflicts, "the file is gone")
		return
	case digest(now) == r.Written:
		u.Exact, u.After = true, r.Before
		return
	}
	u.After = now
	if len(r.Hooks) > 0 {
		text, err := removeHooks(now, r.Hooks)
		if err != nil {
			u.Conflicts = append(u.Conflicts, err.Error())
			return
		}
		if u.After = text; r.Created && isEmpty(text) {
			u.After = nil
		}
		return
	}
	if len(r.Renames) > 0 {
		text, left, err := applyRenames(r.Format, now, inverse(r.Renames))
		if err != nil {
			u.Conflicts = append(u.Conflicts, err.Error())
			return
		}
		for _, l := range left {
			u.Conflicts = append(u.Conflicts, fmt.Sprintf("%q is gone", l.From))
		}
		u.After = text
		return
	}
	doc, err := open(&File{Format: r.Format, List: r.List}, now)
	if err != nil {
		u.Conflicts = append(u.Conflicts, err.Error())
		return
	}
	for _, e := range slices.Backward(r.Edits) {
		if err := e.undo(doc); err != nil {
			u.Conflicts = append(u.Conflicts, fmt.Sprintf("%s.%s: %v", strings.Join(e.Place, "."), e.Name, err))
		}
	}
	after := doc.bytes()
	if len(r.Edits) > 0 {
		if err := unharmed(&File{Format: r.Format, List: r.List}, now, after, r.Edits); err != nil {
			u.Conflicts = append(u.Conflicts, err.Error())
			return
		}
	}
	u.After = after
}

// undo removes callgate's entry, or puts a server back.
func (e *edit) undo(doc document) error {
	if e.Own {
		return doc.remove(e.Place, e.Name)
	}
	return doc.insert(e.Place, entry{name: e.Name, raw: e.Raw, flow: e.Flow, value: e.Value}, e.Next)
}

// Write writes the file and removes the record. After conflicts, the old file stays in the record's folder.
func (u *Undone) Write() error {
	if u.Before != nil && !bytes.Equal(u.Before, u.After) {
		path, mode, err := target(u.Path, u.Before)
		if err != nil {
			return err
		}
		if u.Removes() {
			err = os.Remove(path)
		} else {
			err = durable.Replace(path, u.After, mode)
		}
		if err != nil {
			return err
		}
	}
	if len(u.Conflicts) > 0 {
		return durable.Rename(u.record.file, strings.TrimSuffix(u.record.file, ".json")+".conflict")
	}
	for _, path := range u.record.Serving {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(u.record.file)
}

// Removes reports whether Write removes the file, because connect made it.
func (u *Undone) Removes() bool { return u.Before != nil && u.After == nil && u.record.Created }

// Kept returns where the old file stays after conflicts.
func (u *Undone) Kept() string { return strings.TrimSuffix(u.record.file, ".json") + ".conflict" }

// readRecords returns all records, oldest first.
func readRecords(folder string) ([]record, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []record
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r := record{file: name}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, r)
	}
	return list, nil
}
