package upstream

import (
	"context"
	"sync"
)

type causeKey struct{}

// Because returns a context with which a request is sent for the sake of cause: Events get it with what the server
// says about that request, where it can be told.
func Because(ctx context.Context, cause any) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

func causeOf(ctx context.Context) any { return ctx.Value(causeKey{}) }

// causes are what Because said of requests that run, by id. The zero value is ready.
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

// cause returns what the request with that id was sent for.
func (in *incarnation) cause(id []byte) any {
	in.causes.mu.Lock()
	defer in.causes.mu.Unlock()
	return in.causes.of[string(id)]
}
