package tenancy

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"callgate/internal/companion"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/tenants"
)

// introduce shows the operators at the front what waits at a tenant, until leave.
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

// index knows which tenant a credential of an approver belongs to. What it says has to be looked at again: credentials are
// rotated and end.
type index struct {
	dataDir string

	mu    sync.Mutex
	of    map[[sha256.Size]byte]string
	built time.Time
}

// again is how often the folders are read when a credential is not known.
const again = 3 * time.Second

// tenant finds whose credential a token is, "" when it is not a tenant's.
func (x *index) tenant(token string) string {
	if len(token) < 32 || len(token) > 64 {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	x.mu.Lock()
	defer x.mu.Unlock()
	name, ok := x.of[sum]
	if ok || time.Since(x.built) < again {
		return name
	}
	x.of, x.built = map[[sha256.Size]byte]string{}, time.Now()
	folders, err := os.ReadDir(filepath.Dir(tenants.Dir(x.dataDir, "x")))
	if err != nil {
		return "" // there is none yet
	}
	for _, f := range folders {
		if tenants.CheckName(f.Name()) == nil {
			x.read(f.Name())
		}
	}
	return x.of[sum]
}

// look notes the credentials of a tenant that has new ones.
func (x *index) look(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == nil {
		x.of = map[[sha256.Size]byte]string{}
	}
	x.read(name)
}

// read notes the credentials of one tenant. The caller holds mu.
func (x *index) read(name string) {
	store := credentials.At(tenants.Dir(x.dataDir, name))
	people, err := store.People()
	if err != nil {
		return // it has none that anybody could come in with
	}
	for _, one := range append(people, credentials.Approve, credentials.View, credentials.Tools, credentials.Prompt) {
		if token, err := store.Token(one); err == nil {
			x.of[sha256.Sum256([]byte(token))] = name
		}
	}
}

// People implements companion.Tenants: the companion of the tenant whose credential the token is, and what it opens there.
func (h *House) People(ctx context.Context, token string) (*companion.Server, func() credentials.Credential, func()) {
	name := h.tokens.tenant(token)
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
	if may() == "" {
		return nil, nil, nil
	}
	one, leave, err := h.pool.Hold(ctx, name)
	if err != nil {
		h.o.Logger.Error("an approver's tenant could not be opened", "tenant", name, "error", err)
		return nil, nil, nil
	}
	if one.Worker.People == nil {
		leave()
		return nil, nil, nil
	}
	return one.Worker.People, may, leave
}

// Store implements companion.Tenants.
func (h *House) Store(tenant string) *credentials.Store {
	if tenants.CheckName(tenant) != nil {
		tenant = "-" // which no tenant is called
	}
	return credentials.At(tenants.Dir(h.o.Config.DataDir, tenant))
}

// SignIn implements companion.Tenants.
func (h *House) SignIn(ctx context.Context, named []string, chosen string, role credentials.Credential, person, account string) (credential credentials.Credential, name string, err error) {
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
