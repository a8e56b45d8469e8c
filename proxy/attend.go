package proxy

import (
	"context"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// attend waits for the end of the task of the extension that a server has made of a call. A host that can wait gets a
// task of callgate's own, of its revision; in the place of another callgate waits, and says so.
func (h *host) attend(ctx context.Context, r *inflight, s *server, answer rpc.Message) (rpc.Message, error) {
	seen := func(upstream.Task) {}
	switch {
	case r.errand != nil && r.errand.task != nil:
		seen = func(now upstream.Task) {
			r.errand.mu.Lock()
			defer r.errand.mu.Unlock()
			r.errand.task.says(now.Message, now.Poll)
		}
	case r.deferred != nil:
		seen = func(now upstream.Task) { h.update(r.deferred, now.Message) }
	default:
		waited := h.heartbeat(r, "the server's task")
		defer waited()
	}
	answer, err := s.up.Follow(ctx, answer.Result, seen)
	if err != nil {
		return answer, err
	}
	return disowned(unrelated(answer))
}

// becomes notes that a server of the older revisions has made a task of the errand's call.
func (e *errand) becomes(made serverTask) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.task != nil {
		e.task.says(made.message, taskPoll)
	}
}

// extends reports whether the server may answer calls with tasks of the extension.
func (s *server) extends() bool {
	info, known := s.up.Info()
	return known && info.ProtocolVersion == StatelessVersion
}

// makesTasksUnasked reports whether the server says that it does.
func (s *server) makesTasksUnasked() bool {
	info, known := s.up.Info()
	return known && s.shared == nil && s.extends() && jsonx.Has(info.Capabilities, "extensions", extensionTasks)
}
