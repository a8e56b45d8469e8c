package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"callgate/permissions"
)

// Shared keeps the text of a permissions file for several machines, instead of the file. It is safe for concurrent use.
type Shared interface {
	// Text returns the text and its revision, which changes with the text. If it returns an error, the rules are
	// unknown, and callers MUST deny.
	Text() (text []byte, revision uint64, err error)
	// Replace replaces the text at revision. It returns an ErrStale if that is not the newest revision.
	Replace(revision uint64, text []byte) error
}

// ErrStale is returned by Shared.Replace if the text has changed in the meantime.
var ErrStale = errors.New("another machine changed it meanwhile")

// WhileStale runs change, which reads and replaces a shared text, until it returns something other than an ErrStale.
// Between tries it waits a random, growing time, so that several machines do not keep each other from writing. It gives
// up after about a second of waiting.
func WhileStale(change func() error) error {
	for try := range 12 {
		if err := change(); !errors.Is(err, ErrStale) {
			return err
		}
		time.Sleep(rand.N(time.Millisecond << min(try, 8)))
	}
	return fmt.Errorf("%w, again and again: try again", ErrStale)
}

// sharedPolicy is Policy for a shared text. The caller holds mu.
func (s *Store) sharedPolicy() (*permissions.Policy, error) {
	text, revision, err := s.shared.Text()
	if err != nil {
		return nil, err
	}
	if s.seen && revision == s.revision {
		return s.policy, s.err
	}
	s.seen, s.revision = true, revision
	s.policy, s.err = s.compile(text)
	if s.err != nil {
		s.logger.Error("permissions refused, everything is denied", "revision", revision, "error", s.err)
	} else {
		s.logger.Info("permissions read", "revision", revision, "rules", len(s.policy.File), "grants", len(s.policy.Grants))
	}
	return s.policy, s.err
}

// sharedUpdate is update for a shared text. The caller holds changing but not mu: it may have to wait for other
// machines, and no call should.
func (s *Store) sharedUpdate(change func(data []byte) ([]byte, error)) error {
	return WhileStale(func() error {
		text, revision, err := s.shared.Text()
		if err != nil {
			return err
		}
		written, err := change(text)
		if written == nil || err != nil {
			return err
		}
		if _, err := permissions.ParseFile(s.path, written, s.home); err != nil {
			return err
		}
		return s.shared.Replace(revision, written)
	})
}
