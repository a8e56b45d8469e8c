// Package settled provides a mutex whose readers wait until all announced changes have ended.
package settled

import "sync"

// Mutex is a sync.Mutex that is locked with Lock for a change, and with LockSettled for an answer. The zero value is
// ready to use.
type Mutex struct {
	sync.Mutex
	announced int       // how many changes
	settled   sync.Cond // signals that announced is 0
}

// Begin announces a change. LockSettled waits until the caller calls End. The caller MUST call End once, without
// holding the mutex.
func (m *Mutex) Begin() {
	m.Lock()
	defer m.Unlock()
	m.announced++
}

// End ends a change that Begin announced.
func (m *Mutex) End() {
	m.Lock()
	defer m.Unlock()
	if m.announced--; m.announced == 0 {
		m.settled.Broadcast()
	}
}

// LockSettled locks m once no change is announced.
func (m *Mutex) LockSettled() {
	m.Lock()
	for m.announced > 0 {
		if m.settled.L == nil {
			m.settled.L = m
		}
		m.settled.Wait()
	}
}
