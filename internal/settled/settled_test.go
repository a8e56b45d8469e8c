package settled

import (
	"testing"
	"testing/synctest"
)

// LockSettled waits until all announced changes have ended. Lock does not.
func TestMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Mutex
		m.Begin()
		m.Begin()
		answers := 0
		for range 3 {
			go func() {
				m.LockSettled()
				defer m.Unlock()
				answers++
			}()
		}
		for _, want := range []int{0, 0, 3} {
			synctest.Wait()
			m.Lock()
			if answers != want {
				t.Errorf("%d answers, want %d", answers, want)
			}
			announced := m.announced > 0
			m.Unlock()
			if announced {
				m.End()
			}
		}
	})
}
