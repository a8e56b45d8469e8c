package tenancy

import (
	"context"
	"errors"
	"net"
	"sync"

	"callgate/internal/companion"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/tenants"
)

// introduce shows the operators at the front what waits at a tenant, until leave is called.
func introduce(front, people *companion.Server, name, version string) (leave func()) {
	l := newInside()
	var serving sync.WaitGroup
	serving.Go(func() { people.ServeReplicas(l) })
	ended := make(chan struct{})
	front.Meet(hub.Peer{Name: name, Worker: name, Version: version, Open: l.dial, Ended: ended})
	return func() {
		close(ended)
		l.Close()
		serving.Wait()
	}
}

// inside is a listener whose connections do not leave the process.
type inside struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInside() *inside { return &inside{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *inside) dial() (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (l *inside) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *inside) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *inside) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "unix"} }

// People implements companion.Tenants. It returns the companion of the tenant that the token belongs to, and what the
// token opens there.
func (h *Registry) People(ctx context.Context, token string) (*companion.Server, func() credentials.Credential, func()) {
	name, here := h.tokens.tenant(token)
	if name == "" {
		return nil, nil, nil
	}
	store := credentials.At(tenants.Dir(h.o.Config.DataDir, name))
	may := func() credentials.Credential {
		if !h.Knows(name) {
			return ""
		}
		found, err := store.Identify(token)
		if err != nil {
			h.o.Logger.Error("credentials of a tenant cannot be read", "tenant", name, "error", err)
		}
		return found
	}
	if !h.Knows(name) || here && may() == "" {
		return nil, nil, nil
	}
	one, leave, err := h.pool.Hold(ctx, name)
	if err != nil {
		h.o.Logger.Error("an approver's tenant could not be opened", "tenant", name, "error", err)
		return nil, may, nil
	}
	if one.Worker.People == nil || may() == "" {
		leave()
		return nil, nil, nil
	}
	return one.Worker.People, may, leave
}

// Store implements companion.Tenants.
func (h *Registry) Store(tenant string) *credentials.Store {
	if tenants.CheckName(tenant) != nil {
		tenant = "-" // no tenant has this name
	}
	return credentials.At(tenants.Dir(h.o.Config.DataDir, tenant))
}

// SignIn implements companion.Tenants.
func (h *Registry) SignIn(ctx context.Context, named []string, chosen string, role credentials.Credential, person, account string) (credential credentials.Credential, name string, err error) {
	if len(named) > 1 && chosen == "" {
		return "", "", errors.New("your account is in several tenants: sign in at /signin?tenant=NAME")
	}
	c := h.now.Load()
	if name, err = c.Tenants.Choose(named, chosen, false); err != nil {
		return "", "", err
	}
	_, leave, err := h.pool.Hold(ctx, name)
	if err != nil {
		return "", "", err
	}
	defer leave()
	store, err := credentials.Open(tenants.Dir(h.o.Config.DataDir, name))
	if err == nil {
		credential, err = store.SignIn(role, person, account)
	}
	if err != nil {
		return "", "", err
	}
	h.tokens.look(name)
	return credential, name, nil
}
