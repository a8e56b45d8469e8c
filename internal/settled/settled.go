// Package settled is a mutex for those who ask only when all is known that was announced.
package settled

import "sync"

// Mutex is a sync.Mutex that can be locked for a change, with Lock, or for an answer, with LockSettled. Its zero value
// is ready.
type Mutex struct {
	sync.Mutex
	announced int       // changes
	settled   sync.Cond // none is
}

// Begin announces a change. LockSettled waits until End is called, which the caller MUST do, once, without holding the
// mutex.
func (m *Mutex) Begin() {
	m.Lock()
	defer m.Unlock()
	m.announced++
}

// End ends what Begin began.
func (m *Mutex) End() {
	m.Lock()
	defer m.Unlock()
	if m.announced--; m.announced == 0 {
		m.settled.Broadcast()
	}
}

// LockSettled locks when no change is announced.
func (m *Mutex) LockSettled() {
	m.Lock()
	for m.announced > 0 {
		if m.settled.L == nil {
			m.settled.L = m
		}
		m.settled.Wait()
	}
}
