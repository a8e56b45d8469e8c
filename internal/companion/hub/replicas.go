package hub

import (
	"context"
	"net"
)

// Peer tells this process how to reach another replica of the cluster, or a tenant. All fields are required.
type Peer struct {
	Name, Worker, Version string
	Open                  func() (net.Conn, error) // opens a stream to its ServeReplicas
	Ended                 <-chan struct{}          // closed when the replica is gone
}

// Meet shows people here what waits at another replica, until the replica or this Hub ends. It returns at once.
func (h *Hub) Meet(peer Peer) {
	h.holding.Go(func() {
		for h.meet(peer) && h.pause(linkAgain) {
		}
	})
}

// meet returns true if the replica was cut off and may come again.
func (h *Hub) meet(peer Peer) bool {
	ctx, end := context.WithCancel(h.ctx)
	defer end()
	p := (&Process{Worker: peer.Worker, Version: peer.Version, Replica: peer.Name, open: peer.Open, ended: ctx.Done(), end: end}).withClient()
	if !h.fleet.add(p) {
		h.o.Log.Error("companion: a replica is not shown: too many processes joined", "replica", peer.Name)
		return true
	}
	defer h.fleet.remove(p)
	h.o.Log.Info("companion: a replica joined", "replica", peer.Name, "worker", peer.Worker, "version", peer.Version)
	select {
	case <-peer.Ended:
		h.o.Log.Info("companion: a replica is gone", "replica", peer.Name)
		return false
	case <-ctx.Done():
		return h.ctx.Err() == nil
	}
}

// ServeReplicas answers the requests of other replicas' hubs for this process alone. The caller MUST let in only peers
// that have proved to be replicas. It returns when the listener is closed.
func (h *Hub) ServeReplicas(listener net.Listener) {
	m := &membership{hub: h, replica: true}
	ctx, stop := context.WithCancel(context.WithValue(h.ctx, membershipKey{}, m))
	defer stop()
	server := m.server(ctx)
	_ = server.Serve(listener) // ends with the listener
	_ = endServer(server)
}
