package retrieval

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"callgate/rag"
)

// ErrDenied means that the rules deny reading the file that a document claims to be from.
var ErrDenied = errors.New("the rules deny reading the file that the document is from")

// AddDocument adds a document to a session's knowledge base, as rag.KB.Add does.
func (s *Service) AddDocument(ctx context.Context, sessionID, content string, metadata map[string]string) (id string, replaced bool, err error) {
	kb, err := s.kbOf(sessionID)
	if err != nil {
		return "", false, err
	}
	denied, err := s.deniedFor(sessionID)
	if err != nil {
		return "", false, err
	}
	if path := deniedOrigin(denied, metadata); path != "" {
		return "", false, fmt.Errorf("%w: %s", ErrDenied, path)
	}
	return kb.Add(ctx, content, metadata)
}

// SearchDocuments searches a session's knowledge base. It leaves out documents from files that the rules now deny.
func (s *Service) SearchDocuments(ctx context.Context, sessionID, query string, limit int, threshold float64) ([]rag.KBHit, error) {
	kb, err := s.kbOf(sessionID)
	if err != nil {
		return nil, err
	}
	denied, err := s.deniedFor(sessionID)
	if err != nil {
		return nil, err
	}
	hits, err := kb.Search(ctx, query, limit, threshold)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(hits, func(h rag.KBHit) bool { return deniedOrigin(denied, h.Metadata) != "" }), nil
}

// Documents lists a session's knowledge base. It leaves out documents from files that the rules now deny.
func (s *Service) Documents(sessionID string) ([]rag.KBDocument, error) {
	kb, err := s.kbOf(sessionID)
	if err != nil {
		return nil, err
	}
	denied, err := s.deniedFor(sessionID)
	if err != nil {
		return nil, err
	}
	documents, err := kb.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(documents, func(d rag.KBDocument) bool { return deniedOrigin(denied, d.Metadata) != "" }), nil
}

// RemoveDocument removes a document and reports whether there was one.
func (s *Service) RemoveDocument(ctx context.Context, sessionID, id string) (found bool, err error) {
	kb, err := s.kbOf(sessionID)
	if err != nil {
		return false, err
	}
	return kb.Remove(ctx, id)
}

// kbOf returns a session's knowledge base: its worker's, or its own. The first call opens it.
func (s *Service) kbOf(sessionID string) (*rag.KB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.sessions[sessionID]
	if session == nil {
		return nil, fmt.Errorf("%w: %q", ErrSession, sessionID)
	}
	kb := &s.kb
	if s.o.KB == "" {
		kb = &session.kb
	}
	if *kb == nil {
		opened, err := rag.OpenKB(s.o.KB, s.o.Index)
		if err != nil {
			return nil, err
		}
		*kb = opened
	}
	return *kb, nil
}

// deniedFor returns a function that reports whether the worker's rules or the session's profile deny reading a file,
// anywhere, by its path or by the target of its links. It takes relative paths to be in any workspace.
func (s *Service) deniedFor(sessionID string) (func(path string) bool, error) {
	spaces, err := s.spacesOf(sessionID)
	roots := []string{s.o.Default}
	if err == nil {
		roots = nil
		for _, w := range spaces {
			roots = append(roots, w.root)
		}
	} else if !errors.Is(err, ErrNoWorkspace) {
		return nil, err
	}
	var all []func(string) bool
	for _, root := range roots {
		denied, err := s.o.Denied(root)
		if err != nil {
			return nil, err
		}
		all = append(all, func(path string) bool {
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			return deniedAnyhow(denied, path) ||
				s.o.Veto != nil && deniedAnyhow(func(path string) bool { return s.o.Veto(sessionID, root, path) }, path)
		})
	}
	return func(path string) bool {
		return slices.ContainsFunc(all, func(denied func(string) bool) bool { return denied(path) })
	}, nil
}

// originKeys are the metadata keys that may name the file that a document is from.
var originKeys = []string{"path", "file", "filename", "filepath", "source", "uri", "url"}

// deniedOrigin returns a file that the metadata names and the rules deny, or "".
func deniedOrigin(denied func(string) bool, metadata map[string]string) string {
	for key, value := range metadata {
		if !slices.Contains(originKeys, strings.ToLower(key)) || value == "" {
			continue
		}
		path := value
		if u, err := url.Parse(value); err == nil && len(u.Scheme) > 1 {
			if u.Scheme != "file" {
				continue
			}
			path = u.Path
		}
		if denied(filepath.FromSlash(path)) {
			return value
		}
	}
	return ""
}
