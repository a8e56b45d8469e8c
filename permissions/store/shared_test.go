package store

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/permissions"
)

// TestWhileStale checks that twelve machines that change one text at once over a slow network all succeed, and that a
// machine whose revision is always stale gives up.
func TestWhileStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var revision, changes int
		var machines sync.WaitGroup
		for range 12 {
			machines.Go(func() {
				err := WhileStale(func() error {
					mu.Lock()
					read := revision
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if read != revision {
						return ErrStale
					}
					revision++
					changes++
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		machines.Wait()
		if changes != 12 {
			t.Errorf("%d of 12 changes were made", changes)
		}
		began := time.Now()
		if err := WhileStale(func() error { return ErrStale }); !errors.Is(err, ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
		if waited := time.Since(began); waited > 2*time.Second {
			t.Errorf("it gave up after %v", waited)
		}
	})
}

// slow is a shared text that somebody else always changes first.
type slow struct{ tries int }

func (s *slow) Text() ([]byte, uint64, error) { return []byte(`{"*": "ask"}`), 1, nil }
func (s *slow) Replace(uint64, []byte) error  { s.tries++; return ErrStale }

// TestRulesAreReadWhileTheyChange checks that rules can be read while a change waits for other machines.
func TestRulesAreReadWhileTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &slow{}
		s := Open(filepath.Join(t.TempDir(), "permissions.jsonc"), Options{Shared: shared})
		done := make(chan error)
		go func() {
			done <- s.AddGrants([]permissions.Grant{{Tool: "x_y", Pattern: "*", Risk: permissions.ReadOnly}})
		}()
		synctest.Wait()
		began := time.Now()
		if _, err := s.Policy(); err != nil || time.Since(began) > 0 {
			t.Errorf("who reads waits for %v: %v", time.Since(began), err)
		}
		if err := <-done; !errors.Is(err, ErrStale) || shared.tries < 2 {
			t.Errorf("%v after %d tries", err, shared.tries)
		}
	})
}
