package upstream

import "sync"

// causes maps running requests, by id, to what they were made for. The zero value is ready.
type causes struct {
	mu sync.Mutex
	of map[string]any
}

func (c *causes) add(id []byte, cause any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]any{}
	}
	c.of[string(id)] = cause
}

func (c *causes) remove(id []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, string(id))
}

// cause returns what the request with that id was made for, or nil.
func (in *incarnation) cause(id []byte) any {
	in.causes.mu.Lock()
	defer in.causes.mu.Unlock()
	return in.causes.of[string(id)]
}
