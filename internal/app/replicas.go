package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"callgate/internal/app/tenancy"
	"callgate/internal/cluster"
	"callgate/internal/companion"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
	"callgate/internal/endpoint"
)

// name returns this replica's name, or "" without a cluster.
func (r *replica) name() string {
	if r == nil {
		return ""
	}
	return r.cluster.Name()
}

// sessions tells where the sessions of hosts live, and connects to their replicas.
type sessions struct{ cluster.Sessions }

func (s sessions) DialHosts(ctx context.Context, name, epoch string) (net.Conn, error) {
	conn, err := s.Sessions.DialHosts(ctx, name, epoch)
	if errors.Is(err, cluster.ErrGone) {
		return nil, fmt.Errorf("%w: %w", endpoint.ErrGone, err)
	}
	return conn, err
}

// endpointReplicas returns the replicas that hosts may reach instead of this one, or nil without a cluster.
func (r *replica) endpointReplicas() endpoint.Replicas {
	if r == nil {
		return nil
	}
	return sessions{r.cluster.Sessions()}
}

// place returns what makes names of tasks and calls that say where they run, or nil without a cluster.
func (r *replica) place() func() string {
	if r == nil {
		return nil
	}
	return r.cluster.Sessions().SessionID
}

// serveHosts answers requests that came to other replicas for sessions that live here.
func (r *replica) serveHosts(e *endpoint.Server) {
	if r == nil {
		return
	}
	r.serve(r.cluster.Listen(cluster.ServiceHosts), e.ServeReplicas)
}

func (r *replica) serve(l net.Listener, serve func(net.Listener)) {
	var serving sync.WaitGroup
	serving.Go(func() { serve(l) })
	r.onClose(func() error {
		err := l.Close()
		serving.Wait()
		return err
	})
}

// meet shows people here what waits at the other replicas, and people there what waits here.
func (r *replica) meet(people *companion.Server) {
	if r == nil || people == nil {
		return
	}
	r.serve(r.cluster.Listen(cluster.ServicePeople), people.ServeReplicas)
	r.others(func(one cluster.Replica, gone <-chan struct{}) {
		people.Meet(hub.Peer{Name: one.Name, Worker: one.Worker, Version: one.Version, Ended: gone, Open: r.dial(one, cluster.ServicePeople)})
	})
}

// meetTenants lets the replicas tell each other which tenants are open at each.
func (r *replica) meetTenants(registry *tenancy.Registry) {
	if r == nil {
		return
	}
	r.serve(r.cluster.Listen(cluster.ServiceTenants), registry.Tell)
	r.others(func(one cluster.Replica, gone <-chan struct{}) {
		registry.Hear(one.Name, one.Version, gone, r.dial(one, cluster.ServiceTenants), func(tenant string) (net.Conn, error) {
			return r.dial(one, cluster.ServiceOf(cluster.ServicePeople, tenant))()
		})
	})
}

// dial returns a function that opens streams to a service of another replica.
func (r *replica) dial(one cluster.Replica, service string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return r.cluster.Dial(context.Background(), one.Name, one.Epoch, service) }
}

// others calls begin for each live process of another replica. gone is closed when that process is gone. begin MUST
// return soon, because further news of replicas waits for it.
func (r *replica) others(begin func(one cluster.Replica, gone <-chan struct{})) {
	var mu sync.Mutex
	met := map[string]chan struct{}{} // by name and epoch; nil once callgate ends
	r.onClose(func() error {
		mu.Lock()
		defer mu.Unlock()
		for _, gone := range met {
			close(gone)
		}
		met = nil
		return nil
	})
	r.cluster.Changed(func() {
		mu.Lock()
		defer mu.Unlock()
		if met == nil {
			return
		}
		lives := map[string]bool{}
		for _, one := range r.cluster.Replicas() {
			key := one.Name + "\x00" + one.Epoch
			if one.Self || !one.Lives {
				continue
			}
			lives[key] = true
			if met[key] == nil {
				met[key] = make(chan struct{})
				begin(one, met[key])
			}
		}
		for key, gone := range met {
			if !lives[key] {
				close(gone)
				delete(met, key)
			}
		}
	})
}

// replicaList returns what lists the replicas, or nil without a cluster.
func (r *replica) replicaList() func() []wire.ReplicaInfo {
	if r == nil {
		return nil
	}
	return func() (list []wire.ReplicaInfo) {
		for _, one := range r.cluster.Replicas() {
			shown := wire.ReplicaInfo{Name: one.Name, Version: one.Version, State: "up", Rules: one.Rules, Self: one.Self}
			if !one.Lives {
				shown.State = "silent"
			}
			list = append(list, shown)
		}
		return list
	}
}
