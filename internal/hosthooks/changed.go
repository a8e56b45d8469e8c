package hosthooks

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
)

// A project file may change during a turn although no allowed call could have changed it. Then a person, another
// program or a tool outside the gate did. callgate cannot tell which, so it records this without an alarm.

// turn holds what is known about the files that a turn changes.
type turn struct {
	began  time.Time       // zero before the first prompt
	wrote  map[string]bool // changed by allowed calls
	opaque bool            // a call ran whose files are unknown
}

// ran records which files an allowed call may change.
func (t *turn) ran(call gate.Call) {
	a := tools.Analyze(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place})
	if len(a.Commands) > 0 || !call.Tool.Bound || call.Tool.Kind == "" {
		t.opaque = true
	}
	if t.wrote == nil {
		t.wrote = map[string]bool{}
	}
	for _, w := range a.Writes {
		t.wrote[w.Path] = true
	}
}

const (
	maxWalked = 20_000 // entries of the project
	maxWalk   = 500 * time.Millisecond
	maxShown  = 5
)

// outside lists project files that changed in the turn although no call wrote them. It leaves out hidden folders,
// node_modules, and own, callgate's folder of records.
func (t *turn) outside(project, own string) (names []string) {
	if t.began.IsZero() || t.opaque || project == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(project); err == nil { // as in the paths of calls
		project = real
	}
	walked, deadline := 0, time.Now().Add(maxWalk)
	_ = filepath.WalkDir(project, func(path string, e fs.DirEntry, err error) error {
		if walked++; walked > maxWalked || time.Now().After(deadline) {
			return fs.SkipAll
		}
		if err != nil {
			return nil // unreadable
		}
		if e.IsDir() {
			if path != project && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || path == own) {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().After(t.began) && !t.wrote[path] {
			if name, err := filepath.Rel(project, path); err == nil {
				names = append(names, name)
			}
		}
		return nil
	})
	return names
}

// tellChanged records which files changed outside the gate in the turn that ended.
func (d *Desk) tellChanged(v *visit) {
	v.mu.Lock()
	t := v.turn
	v.turn = turn{}
	v.mu.Unlock()
	names := t.outside(v.project, filepath.Dir(d.o.Audit))
	if len(names) == 0 {
		return
	}
	shown := make([]string, 0, maxShown)
	for _, name := range names[:min(len(names), maxShown)] {
		shown = append(shown, tools.Visible(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	d.note(v, fmt.Sprintf("Changed outside the gate during a turn of %s: %s. No call that callgate knows did this; perhaps a person did.", v.dialect.Name, text))
}
