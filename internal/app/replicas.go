package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"callgate/internal/cluster"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
	"callgate/internal/endpoint"
)

// replicaName is this replica's; "" without a cluster.
func (s *Sidecar) replicaName() string {
	if s.cluster == nil {
		return ""
	}
	return s.cluster.Name()
}

// sessions says where the sessions of hosts live.
type sessions struct{ *cluster.Cluster }

func (s sessions) DialHosts(ctx context.Context, name, epoch string) (net.Conn, error) {
	conn, err := s.Cluster.DialHosts(ctx, name, epoch)
	if errors.Is(err, cluster.ErrGone) {
		return nil, fmt.Errorf("%w: %w", endpoint.ErrGone, err)
	}
	return conn, err
}

// replicas are those that hosts may come to instead of this one; nil without a cluster.
func (s *Sidecar) replicas() endpoint.Replicas {
	if s.cluster == nil {
		return nil
	}
	return sessions{s.cluster}
}

// serveReplicas answers requests that came to other replicas, of sessions that live here.
func (s *Sidecar) serveReplicas(e *endpoint.Server) {
	if s.cluster == nil {
		return
	}
	s.serveListener(s.cluster.Listen(cluster.ServiceHosts), e.ServeReplicas)
}

func (s *Sidecar) serveListener(l net.Listener, serve func(net.Listener)) {
	var serving sync.WaitGroup
	serving.Go(func() { serve(l) })
	s.closers = append(s.closers, func() error {
		err := l.Close()
		serving.Wait()
		return err
	})
}

// meetReplicas shows people here what waits at the other replicas, and people there what waits here.
func (s *Sidecar) meetReplicas() {
	people := s.companion.Load()
	if s.cluster == nil || people == nil {
		return
	}
	s.serveListener(s.cluster.Listen(cluster.ServicePeople), people.ServeReplicas)
	var mu sync.Mutex
	met := map[string]func(){} // by name and epoch; what ends each
	s.cluster.Changed(func() {
		mu.Lock()
		defer mu.Unlock()
		lives := map[string]bool{}
		for _, r := range s.cluster.Replicas() {
			key := r.Name + "\x00" + r.Epoch
			if r.Self || !r.Lives {
				continue
			}
			lives[key] = true
			if met[key] != nil {
				continue
			}
			ended := make(chan struct{})
			met[key] = func() { close(ended) }
			people.Meet(hub.Peer{
				Name: r.Name, Worker: r.Worker, Version: r.Version, Ended: ended,
				Open: func() (net.Conn, error) {
					return s.cluster.Dial(context.Background(), r.Name, r.Epoch, cluster.ServicePeople)
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

// replicasForPeople lists the replicas; nil without a cluster.
func (s *Sidecar) replicasForPeople() func() []wire.ReplicaInfo {
	if s.cluster == nil {
		return nil
	}
	return func() (list []wire.ReplicaInfo) {
		for _, r := range s.cluster.Replicas() {
			one := wire.ReplicaInfo{Name: r.Name, Version: r.Version, State: "up", Rules: r.Rules, Self: r.Self}
			if !r.Lives {
				one.State = "silent"
			}
			list = append(list, one)
		}
		return list
	}
}
