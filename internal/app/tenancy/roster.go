package tenancy

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"slices"
	"time"

	"callgate/internal/companion/hub"
	"callgate/internal/periodic"
	"callgate/internal/tenants"
)

// The replicas of a cluster tell each other which tenants are open at each, so that operators see them at every
// replica, and whose credentials are there, so that approvers can sign in where their tenant is not yet open.

// standing is what a replica tells about one tenant.
type standing struct {
	Tenant string `json:"tenant"`
	Open   bool   `json:"open,omitempty"`
	Sums   []sum  `json:"sums,omitempty"` // of credentials
}

func (s standing) equal(o standing) bool { return s.Open == o.Open && slices.Equal(s.Sums, o.Sums) }

const (
	tellEvery  = time.Second / 2
	tellWithin = 10 * time.Second // the other side has to hear within this time
)

// Tell tells other replicas about the tenants here, until the listener is closed.
func (h *Registry) Tell(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		h.working.Go(func() {
			defer context.AfterFunc(h.ctx, func() { conn.Close() })()
			defer conn.Close()
			h.tell(conn)
		})
	}
}

// tell tells one replica, until that replica no longer listens.
func (h *Registry) tell(to net.Conn) {
	told := map[string]standing{}
	for on := true; on; on = periodic.Sleep(h.ctx, tellEvery) {
		if to.SetWriteDeadline(time.Now().Add(tellWithin)) != nil {
			return
		}
		now := h.standings()
		for name := range told {
			if _, still := now[name]; !still {
				now[name] = standing{Tenant: name}
			}
		}
		out := json.NewEncoder(to)
		for name, s := range now {
			if s.equal(told[name]) {
				continue
			}
			if out.Encode(s) != nil {
				return
			}
		}
		told = now
		if _, err := to.Write([]byte("\n")); err != nil { // checks that the other side is still there
			return
		}
	}
}

// standings returns how the tenants stand here.
func (h *Registry) standings() map[string]standing {
	all := map[string]standing{}
	for name, sums := range h.tokens.all() {
		all[name] = standing{Tenant: name, Sums: sums}
	}
	names, _ := h.pool.All()
	for _, name := range names {
		s := all[name]
		s.Tenant, s.Open = name, true
		all[name] = s
	}
	return all
}

// Hear hears from a replica how the tenants stand there, until it is gone. dial opens a connection to its Tell; open
// opens one to the people of one of its tenants.
func (h *Registry) Hear(replica, version string, gone <-chan struct{}, dial func() (net.Conn, error), open func(tenant string) (net.Conn, error)) {
	h.working.Go(func() {
		for {
			if conn, err := dial(); err == nil {
				h.hear(conn, gone, hub.Peer{Name: replica, Version: version}, open)
			}
			select {
			case <-time.After(tellEvery):
			case <-gone:
				return
			case <-h.ctx.Done():
				return
			}
		}
	})
}

// hear does what Hear does, for one connection.
func (h *Registry) hear(conn net.Conn, gone <-chan struct{}, peer hub.Peer, open func(tenant string) (net.Conn, error)) {
	heard := make(chan struct{})
	defer close(heard)
	h.working.Go(func() {
		select {
		case <-heard:
		case <-gone:
		case <-h.ctx.Done():
		}
		conn.Close()
	})
	met := map[string]chan struct{}{}
	defer func() {
		h.tokens.forget(heard)
		for _, ended := range met {
			close(ended)
		}
	}()
	in := json.NewDecoder(silent{conn})
	for {
		var s standing
		if in.Decode(&s) != nil || tenants.CheckName(s.Tenant) != nil {
			return
		}
		h.tokens.hear(heard, s.Tenant, s.Sums)
		switch ended := met[s.Tenant]; {
		case h.o.Front == nil:
		case s.Open && ended == nil:
			one := peer
			ended = make(chan struct{})
			met[s.Tenant], one.Worker, one.Ended = ended, s.Tenant, ended
			one.Open = func() (net.Conn, error) { return open(s.Tenant) }
			h.o.Front.Meet(one)
		case !s.Open && ended != nil:
			close(ended)
			delete(met, s.Tenant)
		}
	}
}

// silent is a connection whose reads fail after a long silence.
type silent struct{ net.Conn }

var _ io.Reader = silent{}

// Read implements io.Reader.
func (s silent) Read(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(tellWithin)); err != nil {
		return 0, err
	}
	return s.Conn.Read(p)
}
