// Package settled is a mutex for those who ask only when all is known that was announced.
package settled

import "sync"

// Mutex is a sync.Mutex that can be locked for a change, with Lock, or for an answer, with LockSettled. Its zero value is
// ready.
type Mutex struct {
	sync.Mutex
	pending map[chan struct{}]bool
}

// Begin announces a change. LockSettled waits until done is called, which the caller MUST do, without holding the mutex.
func (m *Mutex) Begin() (done func()) {
	m.Lock()
	defer m.Unlock()
	if m.pending == nil {
		m.pending = map[chan struct{}]bool{}
	}
	c := make(chan struct{})
	m.pending[c] = true
	return func() {
		m.Lock()
		defer m.Unlock()
		if m.pending[c] {
			delete(m.pending, c)
			close(c)
		}
	}
}

// LockSettled locks when no change is announced.
func (m *Mutex) LockSettled() {
	m.Lock()
	for len(m.pending) > 0 {
		for c := range m.pending {
			m.Unlock()
			<-c
			m.Lock()
			break
		}
	}
}
