package proxy

import (
	"context"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/stateless"
)

// attend waits for the end of the task of the extension that a server has made of a call. A host that can wait gets a
// task of callgate's own, of its revision; in the place of another callgate waits, and says so.
func (h *host) attend(ctx context.Context, r *inflight, s *server, answer rpc.Message) (rpc.Message, error) {
	seen := func(upstream.Task) {}
	switch {
	case r.stateless != nil && r.stateless.IsTask():
		seen = func(now upstream.Task) { r.stateless.Says(now.Message, now.Poll) }
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

// extends reports whether the server may answer calls with tasks of the extension.
func (s *server) extends() bool {
	info, known := s.up.Info()
	return known && info.ProtocolVersion == StatelessVersion
}

// makesTasksUnasked reports whether the server says that it does.
func (s *server) makesTasksUnasked() bool {
	info, known := s.up.Info()
	return known && s.shared == nil && s.extends() && jsonx.Has(info.Capabilities, "extensions", stateless.ExtensionTasks)
}
