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

// Checkpoints has the files as they were before calls changed them. All methods MUST be safe for concurrent use. Errors
// are told apart with errors.Is against checkpoint.ErrUnknown and checkpoint.ErrChanged.
type Checkpoints interface {
	// Checkpoints lists what was kept of one session, or of all when sessionID is "", the newest first.
	Checkpoints(sessionID string, limit int) ([]CheckpointView, error)

	// CheckpointDiff says how files differ now from what was kept. What the rules keep from being read is
	// named and not shown.
	CheckpointDiff(ctx context.Context, id string, paths []string) ([]checkpoint.FileDiff, error)

	// RestoreCheckpoint restores files, and records that under the author's name.
	RestoreCheckpoint(ctx context.Context, id string, what CheckpointRestore, who audit.Author) (*checkpoint.Restored, error)
}

// CheckpointRestore says what is put back.
type CheckpointRestore struct {
	Paths       []string `json:"paths"`       // only these; none means all
	Force       bool     `json:"force"`       // also files that are not as the call left them
	RemoveStray bool     `json:"removeStray"` // also remove temporary files that a killed server left
}

// CheckpointView is one checkpoint as people see it.
type CheckpointView struct {
	ID         string           `json:"id"`
	ToolCallID string           `json:"toolCallId"`
	Tool       string           `json:"tool"` // qualified name; for one that was taken before a restore, who restored
	SessionID  string           `json:"sessionId"`
	Worker     string           `json:"worker"`
	Workspace  string           `json:"workspace,omitzero"` // absolute
	CreatedAt  time.Time        `json:"createdAt"`
	Restores   string           `json:"restores,omitzero"` // it was taken before that checkpoint was restored: restoring it takes that back
	Ended      bool             `json:"ended"`             // the outcome of the call is known
	Verified   bool             `json:"verified"`          // a verification after the call succeeded
	RestoredAt time.Time        `json:"restoredAt,omitzero"`
	Files      []CheckpointFile `json:"files"`
	More       int              `json:"more,omitzero"`   // files that are not in Files
	Notes      []string         `json:"notes,omitempty"` // what was left out, in words
}

// CheckpointFile is one path: what was kept of it, and what the call made of it.
type CheckpointFile struct {
	Path   string `json:"path"`            // absolute
	State  string `json:"state"`           // what was there: file, absent, symlink, directory, leftOut, or workspace for all of one
	Size   int64  `json:"size"`            // bytes, of a file
	Change string `json:"change,omitzero"` // what the call did: created, changed, deleted or leftOut; missing while nobody knows
	Why    string `json:"why,omitzero"`    // of leftOut
}

// ViewCheckpoint shows at most so many files; 0 shows all.
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

// checkpointsShown is how many are listed where the request names no limit.
const checkpointsShown = 100

// checkpointAPI answers REST about checkpoints.
type checkpointAPI struct{ api }

// routes are answered by any process that shares the data directory, since checkpoints on the disk are
// common to all; with checkpoints.storage memory by the one that serves the session: `?sessionId=`.
func (s checkpointAPI) routes(path func(string, methods)) {
	path("/api/checkpoints", methods{"GET": s.viewer(s.of(s.checkpoints))})
	path("/api/checkpoints/{id}/diff", methods{"GET": s.viewer(s.of(s.diff))})
	path("/api/checkpoints/{id}/restore", methods{"POST": s.approver(s.of(reading(s.restore)))})
}

// of is a handler for checkpoints.
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

// diff takes `?path=`, repeatable, to show only these files.
func (s checkpointAPI) diff(r *http.Request) (any, error) {
	files, err := s.backend.Checkpoints.CheckpointDiff(r.Context(), r.PathValue("id"), r.URL.Query()["path"])
	return map[string]any{"files": wire.List(files)}, err
}

func (s checkpointAPI) restore(r *http.Request, f CheckpointRestore) (any, error) {
	// The restore is completed even if the client goes away meanwhile.
	done, err := s.backend.Checkpoints.RestoreCheckpoint(context.WithoutCancel(r.Context()), r.PathValue("id"), f, authorOf(r))
	return done, err
}

// ofCheckpoint adds to an error how the request is answered.
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
