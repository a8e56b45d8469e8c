package backend

import (
	"context"
	"fmt"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/internal/retrieval"
)

// indexes returns what approvers' clients can do with indexes and knowledge bases, or nil if search is off.
func (b *Backend) indexes() companion.Retrieval {
	if b.Retrieval == nil {
		return nil
	}
	return onRecord{b.Retrieval, b}
}

// onRecord records the changes that people make.
type onRecord struct {
	*retrieval.Service
	b *Backend
}

func (r onRecord) Reindex(sessionID, path string, force bool, who audit.Author) (statuses []retrieval.Status, err error) {
	err = r.b.change(sessionID, who, "Index "+workspaceName(path)+" anew.", func() (err error) {
		statuses, err = r.Service.Reindex(sessionID, path, force)
		return err
	})
	return statuses, err
}

func (r onRecord) Cancel(sessionID, path string, who audit.Author) (statuses []retrieval.Status, err error) {
	err = r.b.change(sessionID, who, "Stop indexing "+workspaceName(path)+".", func() (err error) {
		statuses, err = r.Service.Cancel(sessionID, path)
		return err
	})
	return statuses, err
}

func (r onRecord) Clear(ctx context.Context, sessionID, path string, who audit.Author) (statuses []retrieval.Status, err error) {
	err = r.b.change(sessionID, who, "Empty the index of "+workspaceName(path)+".", func() (err error) {
		statuses, err = r.Service.Clear(ctx, sessionID, path)
		return err
	})
	return statuses, err
}

func (r onRecord) AddDocument(ctx context.Context, sessionID, content string, metadata map[string]string, who audit.Author) (id string, err error) {
	err = r.b.change(sessionID, who, fmt.Sprintf("Add a document of %d bytes to the knowledge base.", len(content)), func() (err error) {
		id, _, err = r.Service.AddDocument(ctx, sessionID, content, metadata)
		return err
	})
	return id, err
}

func (r onRecord) RemoveDocument(ctx context.Context, sessionID, id string, who audit.Author) (found bool, err error) {
	err = r.b.change(sessionID, who, fmt.Sprintf("Remove the document %q from the knowledge base.", tools.Visible(id)), func() (err error) {
		found, err = r.Service.RemoveDocument(ctx, sessionID, id)
		return err
	})
	return found, err
}

// workspaceName returns how the audit trail names a workspace.
func workspaceName(path string) string {
	if path == "" {
		return "all workspaces"
	}
	return fmt.Sprintf("%q", tools.Visible(path))
}
