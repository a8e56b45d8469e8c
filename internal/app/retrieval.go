package app

import (
	"context"
	"fmt"
	"os"

	"github.com/adrg/xdg"
	"github.com/mark3labs/mcp-go/server"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/internal/hooks"
	"callgate/internal/retrieval"
	"callgate/internal/visible"
	"callgate/proxy"
	"callgate/rag"
)

// openRetrieval offers search and knowledge bases to the sessions of the sidecar, and returns the one who has to hear of
// their folders; nil when rag.enabled is off.
func (s *Sidecar) openRetrieval() (proxy.Workspaces, error) {
	c := s.config
	if !c.RAG.Enabled {
		return nil, nil
	}
	options, err := c.RAG.Options(s.log)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("rag: the current directory: %w", err)
	}
	reading := c.Reading()
	o := retrieval.Options{
		Indexes: c.IndexDir(), Index: options, Denied: reading.Denied, Rules: reading.Rules, Veto: s.vetoes,
		Roots: c.RAG.Roots, Default: here, Home: xdg.Home, Watch: c.RAG.Watch, Logger: s.log,
		Tell: func(sessionID string, e rag.Event) { s.Gate.Tell(companion.Indexed{SessionID: sessionID, Event: e}) },
		Done: func(sessionID, path string, sum rag.Summary) {
			e := Indexed(path, sum)
			e.SessionID = sessionID
			c.HookRunner.Fire(e)
		},
	}
	o.KB = c.KbFolder()
	s.retrieval = retrieval.New(o)
	s.closers = append(s.closers, s.retrieval.Close)
	for i := range s.retrieval.Tools("") {
		s.own = append(s.own, func(session *gate.Session) server.ServerTool { return s.retrieval.Tools(session.ID())[i] })
	}
	s.prompts = func(session *gate.Session) []server.ServerPrompt { return s.retrieval.Prompts(session.ID()) }
	return s.retrieval, nil
}

// vetoes reports whether a session may not read a file of the workspace root. One that nobody knows may not.
func (s *Sidecar) vetoes(sessionID, root, path string) bool {
	return s.Gate.DeniesReading(sessionID, path, tools.Place{Dir: root, Roots: []string{root}, Home: xdg.Home})
}

// retrievalForPeople is what approvers' clients can do with indexes and knowledge bases; nil for nothing.
func (s *Sidecar) retrievalForPeople() companion.Retrieval {
	if s.retrieval == nil {
		return nil
	}
	return onRecord{s.retrieval, backend{s}}
}

// onRecord puts on record what people change.
type onRecord struct {
	*retrieval.Service
	b backend
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
		id, err = r.Service.AddDocument(ctx, sessionID, content, metadata)
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

// workspaceName is how the audit trail names a workspace.
func workspaceName(path string) string {
	if path == "" {
		return "all workspaces"
	}
	return fmt.Sprintf("%q", tools.Visible(path))
}

// Indexed is what hooks hear of an index that was brought up to date.
func Indexed(path string, s rag.Summary) hooks.Event {
	return hooks.Event{
		Name: hooks.IndexDone, Duration: s.Duration,
		Detail: fmt.Sprintf("%s: %s, %s changed, %s removed", path, visible.Count(s.Files, "file"), visible.Count(s.Changed, "file"), visible.Count(s.Removed, "file")),
	}
}
