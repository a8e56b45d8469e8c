// Package retrieval is the search of one callgate process: workspaces, their indexes, and knowledge bases.
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

// Options assemble a service. Indexes, Rules and Denied are required.
type Options struct {
	Indexes string      // folder of the worker's indexes
	Index   rag.Options // of every index; Denied and Rules are filled in

	// Denied returns what the worker's rules deny of the files of a workspace, and Rules names the rules as they
	// are: see rag.Options.
	Denied func(root string) (func(path string) bool, error)
	Rules  func() string
	// Veto reports whether a session may not read a file that its worker may: by the profile that it runs under.
	// Nil vetoes nothing.
	Veto func(sessionID, root, path string) bool

	Roots   []string // folders that are searched, whatever hosts say; absolute
	Default string   // folder that is searched for a host that names none; "" is none
	Home    string   // is not searched unless it stands in Roots
	Watch   bool     // changes are followed while a session is there

	// Snapshots of indexes let this process begin with what another one indexed; nil: it builds its own.
	Snapshots Snapshots

	KB   string                                      // folder of the worker's knowledge base; "" is one in memory for each session
	Tell func(sessionID string, e rag.Event)         // hears how far indexes are; may be nil
	Done func(sessionID, root string, s rag.Summary) // hears that an index was brought up to date; may be nil

	Logger *slog.Logger
}

// Service offers search to the sessions of one process. It is safe for concurrent use.
type Service struct {
	o Options

	mu       sync.Mutex
	sessions map[string]*session
	opened   chan struct{}     // closed and replaced when a session is opened
	spaces   map[string]*space // by root
	kb       *rag.KB           // of the worker, once it was needed
	closed   bool
}

// session is what the service knows of a host's session.
type session struct {
	spaces []*space
	kb     *rag.KB // in memory, once it was needed
}

var (
	// ErrSession: there is no such session.
	ErrSession = errors.New("there is no such session")
	// ErrNoWorkspace: nobody said what is to be searched.
	ErrNoWorkspace = errors.New("there is no workspace to search: the host names no folder; name one with --root, or as rag.roots in the configuration")
)

// New returns a service without sessions.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Index.Logger = o.Logger
	return &Service{o: o, sessions: map[string]*session{}, opened: make(chan struct{}), spaces: map[string]*space{}}
}

// Opened tells the service which folders the host of a session names, none if it names none. It is called again
// when they change.
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

// hostPatience is how long a model's question waits for the host to name its folders.
const hostPatience = 3 * time.Second

// await waits until an existing session has been opened. A host that takes too long counts as one that names no folder.
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

// leave ends a space with its last session. The caller holds mu.
func (s *Service) leave(space *space, sessionID string) {
	if space.leave(sessionID) {
		return
	}
	delete(s.spaces, space.root)
	s.logged("index of "+space.root, space.close())
}

// Close ends everything and waits for it.
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

// roots returns the folders to search: those of the configuration, else those that the host names, else the default.
// The home folder and the root of the file system are not workspaces; hosts that are started from a desktop run there.
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

// Outermost returns every folder once, without those that lie in another.
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

// spacesOf returns the workspaces of a session; of "" those of all sessions, in the order of their paths.
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
