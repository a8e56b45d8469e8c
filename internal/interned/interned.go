// Package interned stores equal values once, as long as somebody holds them.
//
// For example, a thousand sessions share what a server says about itself.
package interned

import (
	"runtime"
	"sync"
	"weak"
)

// Map holds values by keys that include everything the values depend on. It does not keep a value from being collected.
// The zero value is ready. All methods are safe for concurrent use.
type Map[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]weak.Pointer[V]
}

// Get returns the key's value if somebody holds it, or else the result of compose. All callers share it, so nobody may
// change it. compose runs without a lock; if two run for one key, one result is dropped.
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

// forget removes a key whose value is gone, unless another value has taken its place.
func (m *Map[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[key].Value() == nil {
		delete(m.of, key)
	}
}
