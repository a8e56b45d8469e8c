package interned

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

type thing struct{ key int }

// Everybody who asks for a key gets the same value, as long as somebody holds it.
func TestOneValueForAll(t *testing.T) {
	var m Map[int, thing]
	var all sync.WaitGroup
	got := make([]*thing, 64)
	for i := range got {
		all.Go(func() { got[i] = m.Get(i%4, func() *thing { return &thing{key: i % 4} }) })
	}
	all.Wait()
	for i, v := range got {
		if v.key != i%4 || v != got[i%4] {
			t.Errorf("%d has a value of its own", i)
		}
	}
	runtime.GC()
	if again := m.Get(1, func() *thing { t.Error("composed again while it is held"); return &thing{key: 1} }); again != got[1] {
		t.Error("another value came in its place")
	}
	runtime.KeepAlive(got)
}

// A value that nobody holds any more is forgotten with its key, and composed again.
func TestNothingIsKept(t *testing.T) {
	var m Map[int, thing]
	for i := range 100 {
		m.Get(i, func() *thing { return &thing{key: i} })
	}
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		m.mu.Lock()
		left := len(m.of)
		m.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys are left", left)
		}
	}
	if v := m.Get(7, func() *thing { return &thing{key: 7} }); v.key != 7 {
		t.Error("what was forgotten is not composed anew")
	}
}
