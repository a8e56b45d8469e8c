package proxy

import (
	"cmp"
	"slices"

	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// worksOn returns the requests of the host that the server works on, the newest first. What callgate itself requests in
// the place of a host without a session is none of them: nobody waits for it who could be told anything.
func (h *host) worksOn(s *server) (found []*inflight) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.calls {
		if r.from.Load() == s && (h.era != upstream.Modern || r.stateless != nil) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *inflight) int { return cmp.Compare(b.number, a.number) })
	return found
}

// carriers returns the requests of the host of which one, the first that still runs, carries a notification of the
// server. r is the one that it belongs to, where the way that it came tells; where it does not, and the server works at
// several, nobody can say. A host with a session hears it beside its requests then. One without has nothing beside
// them, and hears it with the newest that wants to: they are all its own.
func (h *host) carriers(s *server, m rpc.Message, r *inflight) []*inflight {
	if r != nil {
		return []*inflight{r}
	}
	running := h.worksOn(s)
	switch {
	case h.era == upstream.Modern:
		return slices.DeleteFunc(running, func(r *inflight) bool { return !r.stateless.Wants(m) })
	case len(running) > 1:
		return nil
	}
	return running
}
