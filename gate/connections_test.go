package gate

import (
	"sync"
	"testing"
)

// Many connections join a session and leave it at once. It ends once, and nobody joins it after that.
func TestConnectionsComeAndGo(t *testing.T) {
	for range 200 {
		var c connections
		ends := 0
		leave, ok := c.join(nil, func() { ends++ })
		if !ok {
			t.Fatal("the first was turned away")
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if leave, ok := c.join(nil, func() { ends++ }); ok {
					if c.gone() {
						t.Error("it ended while somebody used it")
					}
					leave()
					leave()
				}
			})
		}
		all.Go(leave)
		all.Wait()
		if _, ok := c.join(nil, nil); ok || ends != 1 || !c.gone() {
			t.Fatalf("it ended %d times; a later one came in: %v", ends, ok)
		}
	}
}
