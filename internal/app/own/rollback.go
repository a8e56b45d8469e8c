package own

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
)

// rollbackName is the tool's name, and the author of its restores.
const rollbackName = "callgate_rollback_checkpoint"

// RollbackTool returns a tool with which a session's model undoes what its own calls changed.
func RollbackTool(g *gate.Gate, store *checkpoint.Store) Tool {
	return func(session *gate.Session) server.ServerTool {
		return server.ServerTool{
			Tool: mcp.NewTool("rollback_checkpoint",
				mcp.WithDescription("Put files back to what they were before one of your own calls changed them: contents, modes, and files that were not there. Nothing is touched when a file was changed since by anybody else. The rollback can be rolled back by the id that it returns."),
				mcp.WithString("id", mcp.Description("The checkpoint, as a report of callgate names it. Default: the one before your newest call that changed files")),
				mcp.WithArray("paths", mcp.WithStringItems(), mcp.Description("Only these files or folders, absolute or relative to the workspace. Default: everything that the call changed")),
				mcp.WithReadOnlyHintAnnotation(false), mcp.WithDestructiveHintAnnotation(true), mcp.WithIdempotentHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
			),
			Handler: func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := rollbacks{g, store, session}.restore(ctx, r.GetString("id", ""), r.GetStringSlice("paths", nil))
				if err != nil {
					return mcp.NewToolResultError(err.Error()), nil
				}
				return mcp.NewToolResultText(text), nil
			},
		}
	}
}

// rollbacks undoes what the calls of one session changed.
type rollbacks struct {
	gate    *gate.Gate
	store   *checkpoint.Store
	session *gate.Session
}

// restore restores one of the session's own checkpoints, never by force. It changes nothing if somebody else has
// changed one of the files since, or if rules forbid writing one.
func (r rollbacks) restore(ctx context.Context, id string, paths []string) (string, error) {
	one, err := r.find(id)
	if err != nil {
		return "", err
	}
	place := tools.Place{Dir: one.Workspace, Roots: []string{one.Workspace}, Home: xdg.Home}
	only := make([]string, len(paths))
	for i, path := range paths {
		if only[i] = path; !filepath.IsAbs(path) {
			only[i] = filepath.Join(one.Workspace, path)
		}
	}
	done, err := r.store.Restore(ctx, one.ID, checkpoint.RestoreOptions{
		Paths: only, By: rollbackName, SessionID: r.session.ID(),
		Denies: func(path string) string { return r.gate.Files.ForbidsWriting(r.session, place, path) },
		Secret: func(path string) bool { return r.gate.Files.HidesFile(r.session, place, path) },
	})
	var conflict *checkpoint.ConflictError
	switch {
	case errors.As(err, &conflict):
		return "", fmt.Errorf("nothing was rolled back: %w. Tell the user, who can look at it and insist; do not change the files another way", err)
	case err != nil:
		return "", err
	case len(done.Files) == 0 && len(done.Failed) == 0:
		return fmt.Sprintf("The files of %s are as they were before the call already.", one.ID), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Rolled back what %s changed (%s):\n", one.Tool, one.ID)
	for _, path := range done.Files {
		fmt.Fprintf(&b, "- %s\n", path)
	}
	for _, f := range done.Failed {
		fmt.Fprintf(&b, "- NOT %s: %s\n", f.Path, f.Why)
	}
	fmt.Fprintf(&b, "To take this back, roll back %s.", done.Checkpoint)
	if len(done.Failed) > 0 {
		return "", errors.New(b.String())
	}
	return b.String(), nil
}

// find finds a checkpoint of the session by its id. For "", it finds the newest one that changed something and was not
// restored. The model MUST NOT undo what a person or a verification restored.
func (r rollbacks) find(id string) (checkpoint.Checkpoint, error) {
	if id != "" {
		one, err := r.store.Get(id)
		switch {
		case err != nil:
		case one.SessionID != r.session.ID():
			err = fmt.Errorf("%w of this session: %q", checkpoint.ErrUnknown, id)
		case one.Restores != "" && one.Tool != rollbackName:
			err = fmt.Errorf("%q was kept when %s put files back: only the user can undo that", id, one.Tool)
		}
		return one, err
	}
	list, err := r.store.List(checkpoint.Filter{SessionID: r.session.ID()})
	for _, c := range list {
		if c.Ended && c.Restores == "" && c.Restored.IsZero() {
			return c, nil
		}
	}
	return checkpoint.Checkpoint{}, errors.Join(fmt.Errorf("%w: no call of this session changed files that could be put back", checkpoint.ErrUnknown), err)
}
