package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"callgate/permissions"
)

// Shared keeps the text of a permissions file for several machines, in place of the file. Methods may be called at once
// by many goroutines.
type Shared interface {
	// Text returns the text and its revision, which changes with the text. With an error the rules are not known, and
	// callers MUST deny.
	Text() (text []byte, revision uint64, err error)
	// Replace puts another text in place of the one at revision. It is an ErrStale when that is not the newest.
	Replace(revision uint64, text []byte) error
}

// ErrStale is what Shared.Replace returns when the text was changed meanwhile.
var ErrStale = errors.New("another machine changed it meanwhile")

// WhileStale runs change, which reads and replaces a shared text, until it returns something else than an ErrStale.
// Between tries it waits at random and ever longer, so that several machines do not keep each other from writing. It
// gives up after a second or two.
func WhileStale(change func() error) error {
	for try := range 12 {
		if err := change(); !errors.Is(err, ErrStale) {
			return err
		}
		time.Sleep(rand.N(time.Millisecond << min(try, 8)))
	}
	return fmt.Errorf("%w, again and again: try again", ErrStale)
}

// sharedPolicy is Policy where the text is shared. The caller holds mu.
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

// sharedUpdate is update where the text is shared. The caller holds changing, and not mu: other machines are waited
// for, and no call is.
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
