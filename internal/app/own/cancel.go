package own

import (
	"context"
	"encoding/json"
	"sync"

	"callgate/internal/rpc"
)

// runningRequests are the requests of one connection to callgate's own server that have no answer yet, by id as it was
// written. mcp-go knows a request only once it works on it, so an earlier cancellation would be lost.
type runningRequests struct {
	mu     sync.Mutex
	cancel map[string]context.CancelFunc
}

// begin returns the context of a request. It MUST be called in the order in which messages were read, and done
// when the request has its answer.
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

// heed cancels the request that the notification cancels, if it cancels one that runs.
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
