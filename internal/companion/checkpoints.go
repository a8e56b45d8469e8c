package companion

import (
	"context"
	"errors"
	"net/http"
	"time"

	"callgate/audit"
	"callgate/internal/checkpoint"
	"callgate/internal/companion/wire"
)

// Checkpoints gives access to the files as they were before calls changed them. All methods MUST be safe for concurrent
// use. Callers compare errors with checkpoint.ErrUnknown and checkpoint.ErrChanged using errors.Is.
type Checkpoints interface {
	// Checkpoints lists the checkpoints of one session, newest first, or of all sessions if sessionID is "".
	Checkpoints(sessionID string, limit int) ([]CheckpointView, error)

	// CheckpointDiff compares files with the checkpoint. It names files that the rules keep from being read, but does
	// not show them.
	CheckpointDiff(ctx context.Context, id string, paths []string) ([]checkpoint.FileDiff, error)

	// RestoreCheckpoint restores files and records it under the author's name.
	RestoreCheckpoint(ctx context.Context, id string, what CheckpointRestore, who audit.Author) (*checkpoint.Restored, error)
}

// CheckpointRestore says what to restore.
type CheckpointRestore struct {
	Paths       []string `json:"paths"`       // only these; empty means all
	Force       bool     `json:"force"`       // also files that changed after the call
	RemoveStray bool     `json:"removeStray"` // also remove temporary files left by a killed server
}

// CheckpointView is a checkpoint as people see it.
type CheckpointView struct {
	ID         string           `json:"id"`
	ToolCallID string           `json:"toolCallId"`
	Tool       string           `json:"tool"` // qualified name; for a checkpoint taken before a restore, who restored
	SessionID  string           `json:"sessionId"`
	Worker     string           `json:"worker"`
	Workspace  string           `json:"workspace,omitzero"` // absolute
	CreatedAt  time.Time        `json:"createdAt"`
	Restores   string           `json:"restores,omitzero"` // the checkpoint whose restore this one precedes: restoring this one undoes that
	Ended      bool             `json:"ended"`             // the outcome of the call is known
	Verified   bool             `json:"verified"`          // a verification after the call succeeded
	RestoredAt time.Time        `json:"restoredAt,omitzero"`
	Files      []CheckpointFile `json:"files"`
	More       int              `json:"more,omitzero"`   // number of files left out of Files
	Notes      []string         `json:"notes,omitempty"` // sentences about what the checkpoint left out
}

// CheckpointFile is one path: what the checkpoint kept, and what the call changed.
type CheckpointFile struct {
	Path   string `json:"path"`            // absolute
	State  string `json:"state"`           // what was there: file, absent, symlink, directory, leftOut, or workspace for a whole workspace
	Size   int64  `json:"size"`            // bytes, of a file
	Change string `json:"change,omitzero"` // what the call did: created, changed, deleted or leftOut; missing if not known yet
	Why    string `json:"why,omitzero"`    // the reason for leftOut
}

// ViewCheckpoint returns the view of a checkpoint with at most the given number of files; 0 means all.
func ViewCheckpoint(c *checkpoint.Checkpoint, most int) CheckpointView {
	v := CheckpointView{
		ID: c.ID, ToolCallID: c.CallID, Tool: c.Tool, SessionID: c.SessionID, Worker: c.Worker, Workspace: c.Workspace, CreatedAt: c.CreatedAt,
		Restores: c.Restores, Ended: c.Ended, Verified: c.Verified, RestoredAt: c.Restored, Notes: c.Notes, Files: []CheckpointFile{},
	}
	add := func(path, state string, before checkpoint.Entry, change string) {
		if most > 0 && len(v.Files) == most {
			v.More++
			return
		}
		v.Files = append(v.Files, CheckpointFile{Path: path, State: state, Size: before.Size, Change: change, Why: before.Why})
	}
	if c.Ended {
		for i := range c.Changed {
			x := &c.Changed[i]
			add(x.Path, string(x.Before.Kind), x.Before, x.What())
		}
		return v
	}
	for _, k := range c.Before {
		state := string(k.Kind)
		if k.Scope == checkpoint.Git {
			state = "workspace"
		}
		add(k.Path, state, k.Entry, "")
	}
	return v
}

// checkpointsShown is the default number of checkpoints in a list.
const checkpointsShown = 100

// checkpointAPI serves checkpoints over REST.
type checkpointAPI struct{ api }

// routes adds the routes of checkpoints. Any process that shares the data directory can answer them, because all share
// the checkpoints on the disk. With checkpoints.storage memory only the process of the session can: `?sessionId=`.
func (s checkpointAPI) routes(path func(string, methods)) {
	path("/api/checkpoints", methods{"GET": s.viewer(s.of(s.checkpoints))})
	path("/api/checkpoints/{id}/diff", methods{"GET": s.viewer(s.of(s.diff))})
	path("/api/checkpoints/{id}/restore", methods{"POST": s.patient(s.of(reading(s.restore)))})
}

// of wraps a handler for checkpoints.
func (s checkpointAPI) of(h handler) handler {
	return s.with(partCheckpoints, func(r *http.Request) (any, error) {
		done, err := h(r)
		return done, ofCheckpoint(err)
	})
}

func (s checkpointAPI) checkpoints(r *http.Request) (any, error) {
	limit, err := limitOf(r.URL.Query().Get("limit"), checkpointsShown, auditMost)
	if err != nil {
		return nil, err
	}
	views, err := s.backend.Checkpoints.Checkpoints(r.URL.Query().Get("sessionId"), limit)
	return wire.List(views), err
}

// diff shows the files named by `?path=`, which may be repeated, or all.
func (s checkpointAPI) diff(r *http.Request) (any, error) {
	files, err := s.backend.Checkpoints.CheckpointDiff(r.Context(), r.PathValue("id"), r.URL.Query()["path"])
	return map[string]any{"files": wire.List(files)}, err
}

func (s checkpointAPI) restore(r *http.Request, f CheckpointRestore) (any, error) {
	// The restore runs to its end even if the client goes away.
	done, err := s.backend.Checkpoints.RestoreCheckpoint(context.WithoutCancel(r.Context()), r.PathValue("id"), f, authorOf(r))
	return done, err
}

// ofCheckpoint turns an error of Checkpoints into one that has the right response.
func ofCheckpoint(err error) error {
	if conflict, ok := errors.AsType[*checkpoint.ConflictError](err); ok {
		return &failure{answer{http.StatusConflict, map[string]any{
			"error":     wire.RestError{Code: wire.CodeBadMessage, Message: "nothing was restored: some files are not as the call left them, or cannot be put back"},
			"conflicts": conflict.Conflicts,
		}}}
	}
	if errors.Is(err, checkpoint.ErrUnknown) {
		return failed(http.StatusNotFound, wire.CodeBadMessage, err.Error())
	}
	return err
}
