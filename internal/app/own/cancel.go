package own

import (
	"context"
	"encoding/json"
	"sync"

	"callgate/internal/rpc"
)

// runningRequests holds the requests of one connection to callgate's own server that have no answer yet. The key is the
// id as it was written. mcp-go knows a request only once it works on it, so a cancellation before that would be lost.
type runningRequests struct {
	mu     sync.Mutex
	cancel map[string]context.CancelFunc
}

// begin returns the context of a request. It MUST be called in the order in which the messages were read, and done MUST
// be called when the request is answered.
func (r *runningRequests) begin(ctx context.Context, id []byte) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	key := string(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel[key] = cancel
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cancel, key)
		cancel()
	}
}

// heed cancels the running request that a cancellation names, if there is one.
func (r *runningRequests) heed(m rpc.Message) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &params) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.cancel[string(params.RequestID)]; cancel != nil {
		cancel()
	}
}
