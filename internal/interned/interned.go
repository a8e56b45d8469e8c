// Package interned stores equal values once, as long as somebody holds them.
//
// A thousand sessions share what a server says of itself.
package interned

import (
	"runtime"
	"sync"
	"weak"
)

// Map holds values by keys that say all that they depend on. It does not keep a value from being collected. The zero
// value is ready; all methods may be called by many goroutines at once.
type Map[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]weak.Pointer[V]
}

// Get returns the value of the key that somebody holds, or what compose returns, for all to share: nobody may change
// it. compose runs without a lock; where two run for one key, the value of one of them is dropped.
func (m *Map[K, V]) Get(key K, compose func() *V) *V {
	if v := m.held(key); v != nil {
		return v
	}
	fresh := compose()
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.of[key].Value(); v != nil {
		return v
	}
	if m.of == nil {
		m.of = map[K]weak.Pointer[V]{}
	}
	m.of[key] = weak.Make(fresh)
	runtime.AddCleanup(fresh, m.forget, key)
	return fresh
}

func (m *Map[K, V]) held(key K) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[key].Value()
}

// forget takes a key out whose value is gone; another may have come in its place.
func (m *Map[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[key].Value() == nil {
		delete(m.of, key)
	}
}
