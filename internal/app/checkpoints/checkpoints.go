// Package checkpoints keeps files before calls change them, so that people can undo the changes.
package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/proxy"
)

// Checkpoints takes snapshots of files before calls change them. A nil one takes none.
type Checkpoints struct {
	Store *checkpoint.Store
	Log   *slog.Logger
	// Required refuses calls whose files cannot be kept, unless a person released the mark gate.MarkUnkept. Without it,
	// the calls run, and a warning is logged.
	Required   bool
	Workspaces bool // keep git workspaces before calls that may write anything
}

// Unkept returns why the files that a call writes could not be kept, or "" if they could. Calls with a reason are
// marked. It keeps nothing itself.
func (k *Checkpoints) Unkept(call gate.Call, a *tools.Analysis) string {
	list := notable(k.Store.Unkept(context.Background(), call.Place.Dir, pathsOf(a)))
	if len(list) == 0 {
		return ""
	}
	return "There is no way back: " + unkept(list)
}

// UndoOrNil returns Undo, or nil if nothing is kept.
func (k *Checkpoints) UndoOrNil() func(gate.Call, *tools.Analysis) *gate.Undo {
	if k == nil {
		return nil
	}
	return k.Undo
}

// Undo tells the people who decide whether the files that a call writes are kept first. It returns nil if the call
// writes no known file. It promises nothing for a path that the call may leave alone, because the call may do something
// else, which cannot be restored.
func (k *Checkpoints) Undo(call gate.Call, a *tools.Analysis) *gate.Undo {
	paths := pathsOf(a)
	if len(paths) == 0 {
		return nil
	}
	if list := notable(k.Store.Unkept(context.Background(), call.Place.Dir, paths)); len(list) > 0 {
		return &gate.Undo{Text: "Cannot be restored: " + unkept(list)}
	}
	if !slices.ContainsFunc(a.Writes, func(w tools.Written) bool { return !w.Guessed && !isDevice(w.Path) }) {
		return nil
	}
	return &gate.Undo{Kept: true, Text: "callgate takes a snapshot first. You can restore it from Checkpoints."}
}

var _ proxy.Checkpoints = (*Checkpoints)(nil)

// kept is the snapshot taken before one call.
type kept struct {
	taken   *checkpoint.Taken
	log     *slog.Logger
	tool    string
	changed []string // paths that the call changed; valid when known
	known   bool
}

// keepPatience bounds how long keeping one call's files may take.
const keepPatience = 15 * time.Second

// Keep implements proxy.Checkpoints.
func (k *Checkpoints) Keep(ctx context.Context, g *gate.Gate, s *gate.Session, call gate.Call, v *gate.Verdict) (proxy.Kept, error) {
	if k == nil || v.Analysis == nil {
		return nil, nil
	}
	paths := pathsOf(v.Analysis)
	if k.Workspaces && v.Analysis.Runs {
		for _, top := range k.Store.Workspaces(append([]string{v.Analysis.Dir}, call.Place.Roots...)) {
			paths = append(paths, checkpoint.Path{Path: top, Scope: checkpoint.Git})
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, keepPatience)
	defer cancel()
	place := call.Place
	taken, err := k.Store.Take(ctx, checkpoint.Request{
		CallID: call.ID, Tool: call.Tool.Qualified, SessionID: s.ID(), Worker: g.Worker(), Workspace: call.Place.Dir, Paths: paths,
		Secret: func(path string) bool { return g.Files.HidesFile(s, place, path) },
	})
	out := &kept{taken: taken, log: k.Log, tool: call.Tool.Qualified}
	var why string
	switch {
	case err != nil:
		why = err.Error() + "."
	case taken != nil:
		if list := notable(taken.LeftOut); len(list) > 0 {
			why = unkept(list)
		}
	}
	if why == "" {
		return out, nil
	}
	released := slices.ContainsFunc(v.Marks, func(m tools.Mark) bool { return m.Code == gate.MarkUnkept })
	if k.Required && !released {
		out.abandon()
		return nil, errors.New("What it would change could not be kept: " + why + " If that cannot be helped, tell the user.")
	}
	k.Log.Warn("a call runs although not all of its files could be kept", "tool", call.Tool.Qualified, "call", call.ID, "reason", why)
	return out, nil
}

// pathsOf returns the paths that a call writes or may write.
func pathsOf(a *tools.Analysis) (paths []checkpoint.Path) {
	for _, w := range a.Writes {
		p := checkpoint.Path{Path: w.Path}
		if w.Whole {
			p.Scope = checkpoint.Whole
		}
		paths = append(paths, p)
	}
	return paths
}

// notable leaves out what nobody could want back, such as devices.
func notable(list []checkpoint.Conflict) []checkpoint.Conflict {
	return slices.DeleteFunc(list, func(c checkpoint.Conflict) bool { return isDevice(c.Path) })
}

func isDevice(path string) bool { return strings.HasPrefix(path, "/dev/") }

// unkept describes what could not be kept, naming at most three paths.
func unkept(list []checkpoint.Conflict) string {
	var parts []string
	for i, c := range list {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		if c.Path == "" {
			parts = append(parts, c.Why)
		} else {
			parts = append(parts, fmt.Sprintf("%s (%s)", tools.Visible(c.Path), c.Why))
		}
	}
	return strings.Join(parts, ", ") + "."
}

// ID implements proxy.Kept.
func (k *kept) ID() string {
	if k.taken == nil {
		return ""
	}
	return k.taken.ID
}

// End implements proxy.Kept.
func (k *kept) End(ctx context.Context) {
	if k.taken == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepPatience)
	defer cancel()
	changed, err := k.taken.End(ctx)
	k.known = err == nil
	for i := range changed {
		k.changed = append(k.changed, changed[i].Path)
	}
	if err != nil {
		k.log.Warn("the files after a call could not be noted: restoring them needs --force", "tool", k.tool, "checkpoint", k.taken.ID, "error", err)
	}
}

// abandon removes the checkpoint of a call that is not forwarded.
func (k *kept) abandon() {
	if k.taken == nil {
		return
	}
	if err := k.taken.Abandon(); err != nil {
		k.log.Warn("a checkpoint of a call that did not run could not be removed", "tool", k.tool, "checkpoint", k.taken.ID, "error", err)
	}
}

// Changed implements proxy.Kept.
func (k *kept) Changed() (paths []string, known bool) { return k.changed, k.known }
