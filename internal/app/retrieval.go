package app

import (
	"fmt"
	"os"

	"github.com/adrg/xdg"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/internal/hooks"
	"callgate/internal/retrieval"
	"callgate/internal/visible"
	"callgate/proxy"
	"callgate/rag"
)

// openRetrieval offers search and knowledge bases to the sessions of the sidecar. It returns what must be told of the
// sessions' folders, or nil if rag.enabled is off.
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
	reading := c.Reading(s.rules)
	o := retrieval.Options{
		Indexes: c.Files().Index(), Index: options, Denied: reading.Denied, Rules: reading.Rules, Veto: s.vetoes,
		Roots: c.RAG.Roots, Default: here, Home: xdg.Home, Watch: c.RAG.Watch, Logger: s.log,
		Tell: func(sessionID string, e rag.Event) { s.Gate.Tell(companion.Indexed{SessionID: sessionID, Event: e}) },
		Done: func(sessionID, path string, sum rag.Summary) {
			e := Indexed(path, sum)
			e.SessionID = sessionID
			c.HookRunner.Fire(e)
		},
	}
	o.KB, o.Snapshots = c.KbFolder(), s.replica.indexes()
	s.retrieval = retrieval.New(o)
	s.closers = append(s.closers, s.retrieval.Close)
	if o.KB != "" {
		if err := s.replica.shareKnowledge(o.KB, options); err != nil {
			return nil, err
		}
	}
	for i := range s.retrieval.Tools("") {
		s.own.Tools = append(s.own.Tools, func(session *gate.Session) server.ServerTool { return s.retrieval.Tools(session.ID())[i] })
	}
	s.own.Prompts = func(session *gate.Session) []server.ServerPrompt { return s.retrieval.Prompts(session.ID()) }
	return s.retrieval, nil
}

// vetoes reports whether a session may not read a file of the workspace root. An unknown session may not.
func (s *Sidecar) vetoes(sessionID, root, path string) bool {
	return s.Gate.Files.DeniesReading(sessionID, path, tools.Place{Dir: root, Roots: []string{root}, Home: xdg.Home})
}

// Indexed returns the event that tells hooks of an index that was brought up to date.
func Indexed(path string, s rag.Summary) hooks.Event {
	return hooks.Event{
		Name: hooks.IndexDone, Duration: s.Duration,
		Detail: fmt.Sprintf("%s: %s, %s changed, %s removed", path, visible.Count(s.Files, "file"), visible.Count(s.Changed, "file"), visible.Count(s.Removed, "file")),
	}
}
