package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"callgate/internal/cluster"
	"callgate/internal/companion"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
	"callgate/internal/endpoint"
)

// name is this replica's; "" without a cluster.
func (r *replica) name() string {
	if r == nil {
		return ""
	}
	return r.cluster.Name()
}

// sessions says where the sessions of hosts live.
type sessions struct{ cluster *cluster.Cluster }

func (s sessions) SessionID() string { return s.cluster.SessionID() }

func (s sessions) Home(id string) (name, epoch string, elsewhere bool) { return s.cluster.Home(id) }

func (s sessions) DialHosts(ctx context.Context, name, epoch string) (net.Conn, error) {
	conn, err := s.cluster.DialHosts(ctx, name, epoch)
	if errors.Is(err, cluster.ErrGone) {
		return nil, fmt.Errorf("%w: %w", endpoint.ErrGone, err)
	}
	return conn, err
}

// forHosts are those that hosts may come to instead of this one; nil without a cluster.
func (r *replica) forHosts() endpoint.Replicas {
	if r == nil {
		return nil
	}
	return sessions{r.cluster}
}

// place makes names of tasks and calls that say where they run; nil without a cluster.
func (r *replica) place() func() string {
	if r == nil {
		return nil
	}
	return r.cluster.SessionID
}

// serveHosts answers requests that came to other replicas, of sessions that live here.
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
	var mu sync.Mutex
	met := map[string]func(){} // by name and epoch; what ends each
	r.cluster.Changed(func() {
		mu.Lock()
		defer mu.Unlock()
		lives := map[string]bool{}
		for _, one := range r.cluster.Replicas() {
			key := one.Name + "\x00" + one.Epoch
			if one.Self || !one.Lives {
				continue
			}
			lives[key] = true
			if met[key] != nil {
				continue
			}
			ended := make(chan struct{})
			met[key] = func() { close(ended) }
			people.Meet(hub.Peer{
				Name: one.Name, Worker: one.Worker, Version: one.Version, Ended: ended,
				Open: func() (net.Conn, error) {
					return r.cluster.Dial(context.Background(), one.Name, one.Epoch, cluster.ServicePeople)
				},
			})
		}
		for key, end := range met {
			if !lives[key] {
				end()
				delete(met, key)
			}
		}
	})
}

// forPeople lists the replicas; nil without a cluster.
func (r *replica) forPeople() func() []wire.ReplicaInfo {
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
