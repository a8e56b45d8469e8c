package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// open holds what hosts have open at a server: sessions, and connections on which they listen.
type open struct {
	idleTimeout time.Duration

	mu        sync.Mutex
	sessions  map[string]*Session
	held      map[*held]struct{} // requests being served, and connections of hosts that listen
	following sync.WaitGroup     // the goroutines that write to those connections
	empty     time.Time          // since when there are no sessions
	closed    bool
}

// register makes a session known by its id. It returns an error if the server is closing or has too many, or h has
// ended.
func (s *open) register(session *Session, h *held) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("callgate ends")
	case h.ended:
		return errExpelled
	}
	if len(s.sessions) >= MaxSessions {
		return fmt.Errorf("%d sessions of all clients are open, which is the limit; idle ones end after %s (idleTimeout)", MaxSessions, s.idleTimeout)
	}
	s.sessions[session.id] = session
	return nil
}

// find returns the session with that id if it belongs to the visitor and the path, or nil.
func (s *open) find(id string, v visit) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.sessions[id]; session != nil && session.belongs(v) && session.view == v.view {
		session.renew(v.who)
		return session
	}
	return nil
}

// drop removes and ends a session. It waits until nothing of it is running.
func (s *open) drop(session *Session) {
	s.mu.Lock()
	_, known := s.sessions[session.id]
	delete(s.sessions, session.id)
	if len(s.sessions) == 0 {
		s.empty = time.Now()
	}
	s.mu.Unlock()
	if known {
		session.close()
	}
}

// findOld returns the session that the address names if it is of the old transport and belongs to the visitor, or nil.
func (s *open) findOld(v visit) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.sessions[v.r.URL.Query().Get("sessionId")]; session != nil && session.single && session.belongs(v) {
		session.renew(v.who)
		return session
	}
	return nil
}

// idle returns the sessions that nobody has used for idleTimeout. none is how long there has been no session at all.
func (s *open) idle() (idle []*Session, none time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		if since, ok := session.idleSince(); ok && time.Since(since) >= s.idleTimeout {
			idle = append(idle, session)
		}
	}
	if len(s.sessions) == 0 {
		none = time.Since(s.empty)
	}
	return idle, none
}

// close prevents new sessions and listeners, and returns the remaining sessions.
func (s *open) close() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return slices.Collect(maps.Values(s.sessions))
}

func (s *open) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
