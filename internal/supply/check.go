package supply

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// shownChanges is how many changes an error lists.
const shownChanges = 12

// Check says why the server may not start: it is not what the lock at path says. Without a lock everything may.
func (x *Examiner) Check(ctx context.Context, path string, s *Server) error {
	lock, err := Load(path)
	if err != nil {
		return err
	}
	if lock == nil {
		return nil
	}
	locked := lock.Of(s.Name, s.From)
	if locked == nil {
		return fmt.Errorf("it is not in %s: look at it, and add it with \"callgate servers lock %s\"", path, s.Name)
	}
	now, err := x.Examine(ctx, s)
	if err != nil {
		return fmt.Errorf("what it would run cannot be held against %s: %w", path, err)
	}
	changes := Compare(locked, now)
	if len(changes) == 0 {
		return nil
	}
	x.Explain(ctx, s, changes, time.Now())
	var b strings.Builder
	for i, c := range changes {
		if i == shownChanges {
			fmt.Fprintf(&b, "; and %d more", len(changes)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.String())
	}
	return fmt.Errorf("it is not what %s says: %s. See \"callgate servers verify %s\"; accept it with \"callgate servers update %s\"", path, b.String(), s.Name, s.Name)
}

// looks is how often Changed looks at the file.
const looks = time.Second

// Changed returns nil when the file at path is another one than at the call, and an error when ctx ends before.
func Changed(ctx context.Context, path string) error {
	was, _ := os.Stat(path) // none is a state too
	tick := time.NewTicker(looks)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		is, _ := os.Stat(path)
		if (was == nil) != (is == nil) || was != nil && (!os.SameFile(was, is) || was.Size() != is.Size() || !was.ModTime().Equal(is.ModTime())) {
			return nil
		}
	}
}
