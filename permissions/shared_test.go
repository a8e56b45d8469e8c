package permissions

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Twelve machines that change one text at once, each over a slow network, all succeed; one that is behind for good gives up.
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
