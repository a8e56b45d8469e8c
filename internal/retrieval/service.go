// Package retrieval is the search of one callgate process over workspaces, their indexes, and knowledge bases.
package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/rag"
)

// Options configures a service. Indexes, Rules and Denied are required.
type Options struct {
	Indexes string      // folder of the worker's indexes
	Index   rag.Options // for every index; the service sets Denied and Rules

	// Denied returns a function that reports which files of a workspace the worker's rules deny. Rules names the
	// current rules. See rag.Options.
	Denied func(root string) (func(path string) bool, error)
	Rules  func() string
	// Veto reports whether the session's profile denies a file that the worker's rules allow. Nil vetoes nothing.
	Veto func(sessionID, root, path string) bool

	Roots   []string // folders to search, whatever hosts name; absolute
	Default string   // folder to search if a host names none; "": none
	Home    string   // not searched unless it is in Roots
	Watch   bool     // follow changes while there is a session

	// Snapshots let this process start from what another one indexed. Nil: it builds its own indexes.
	Snapshots Snapshots

	KB   string                                      // folder of the knowledge base; "": one in memory per session
	Tell func(sessionID string, e rag.Event)         // gets the progress of indexes; may be nil
	Done func(sessionID, root string, s rag.Summary) // called when an index is up to date; may be nil

	Logger *slog.Logger
}

// Service offers search to the sessions of one process. It is safe for concurrent use.
type Service struct {
	o Options

	mu       sync.Mutex
	sessions map[string]*session
	opened   chan struct{}     // closed and replaced when a session is opened
	spaces   map[string]*space // by root
	kb       *rag.KB           // the worker's, once needed
	closed   bool
}

// session is the service's state of a host's session.
type session struct {
	spaces []*space
	kb     *rag.KB // in memory, once needed
}

var (
	// ErrSession means that there is no such session.
	ErrSession = errors.New("there is no such session")
	// ErrNoWorkspace means that neither the host nor the configuration names a folder to search.
	ErrNoWorkspace = errors.New("there is no workspace to search: the host names no folder; name one with --root, or as rag.roots in the configuration")
)

// New returns a service without sessions.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Index.Logger = o.Logger
	return &Service{o: o, sessions: map[string]*session{}, opened: make(chan struct{}), spaces: map[string]*space{}}
}

// Opened tells the service which folders the host of a session names, if any. Call it again when they change.
func (s *Service) Opened(sessionID string, named []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	now := s.sessions[sessionID]
	if now == nil {
		now = &session{}
		s.sessions[sessionID] = now
		close(s.opened)
		s.opened = make(chan struct{})
	}
	before := now.spaces
	now.spaces = nil
	for _, root := range s.roots(named) {
		space := s.spaces[root]
		if space == nil {
			space = s.open(root)
			s.spaces[root] = space
		}
		space.join(sessionID)
		now.spaces = append(now.spaces, space)
	}
	for _, space := range before {
		if !slices.Contains(now.spaces, space) {
			s.leave(space, sessionID)
		}
	}
}

// hostPatience is how long a call waits for the host to name its folders.
const hostPatience = 3 * time.Second

// await waits until the session is opened. After hostPatience it opens the session without folders.
func (s *Service) await(ctx context.Context, sessionID string) {
	timer := time.NewTimer(hostPatience)
	defer timer.Stop()
	for {
		s.mu.Lock()
		known, opened := s.sessions[sessionID] != nil, s.opened
		s.mu.Unlock()
		if known {
			return
		}
		select {
		case <-opened:
		case <-timer.C:
			s.Opened(sessionID, nil)
			return
		case <-ctx.Done():
			return
		}
	}
}

// Closed tells the service that a session has ended.
func (s *Service) Closed(sessionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.sessions[sessionID]
	if ended == nil {
		return
	}
	delete(s.sessions, sessionID)
	for _, space := range ended.spaces {
		s.leave(space, sessionID)
	}
	if ended.kb != nil {
		s.logged("knowledge base of a session", ended.kb.Close())
	}
}

// leave takes a session out of a space, and closes the space after the last session. The caller holds mu.
func (s *Service) leave(space *space, sessionID string) {
	if space.leave(sessionID) {
		return
	}
	delete(s.spaces, space.root)
	s.logged("index of "+space.root, space.close())
}

// Close closes everything and waits for it to end.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var failed []error
	for _, space := range s.spaces {
		failed = append(failed, space.close())
	}
	for _, session := range s.sessions {
		if session.kb != nil {
			failed = append(failed, session.kb.Close())
		}
	}
	if s.kb != nil {
		failed = append(failed, s.kb.Close())
	}
	clear(s.spaces)
	clear(s.sessions)
	s.kb = nil
	return errors.Join(failed...)
}

// roots returns the folders to search: those of the configuration, or else those that the host names, or else the
// default. Hosts started from a desktop run in the home folder or in /; those count only if they are configured.
func (s *Service) roots(named []string) []string {
	roots := s.o.Roots
	if len(roots) == 0 {
		roots = named
		if len(roots) == 0 && s.o.Default != "" {
			roots = []string{s.o.Default}
		}
		roots = slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
			return root == s.o.Home || filepath.Dir(root) == root
		})
	}
	return Outermost(roots)
}

// Outermost returns every folder once, without those inside another.
func Outermost(roots []string) []string {
	var outer []string
	for _, root := range roots {
		inside := slices.ContainsFunc(roots, func(other string) bool { return other != root && within(root, other) })
		if !inside && !slices.Contains(outer, root) {
			outer = append(outer, root)
		}
	}
	return outer
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// spacesOf returns the workspaces of a session. For "" it returns those of all sessions, sorted by path.
func (s *Service) spacesOf(sessionID string) ([]*space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var spaces []*space
	if sessionID == "" {
		for _, space := range s.spaces {
			spaces = append(spaces, space)
		}
		slices.SortFunc(spaces, func(a, b *space) int { return cmp.Compare(a.root, b.root) })
	} else {
		session := s.sessions[sessionID]
		if session == nil {
			return nil, fmt.Errorf("%w: %q", ErrSession, sessionID)
		}
		spaces = slices.Clone(session.spaces)
	}
	if len(spaces) == 0 {
		return nil, ErrNoWorkspace
	}
	return spaces, nil
}

func (s *Service) logged(what string, err error) {
	if err != nil {
		s.o.Logger.Warn("retrieval: "+what, "error", err)
	}
}
