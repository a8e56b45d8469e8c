package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"github.com/nats-io/nats.go"
)

// links holds connections to other replicas over NATS, so replicas need no address that others can reach. One link
// carries all streams that one replica opens to another. A stream begins with the name of the service that it is for.
type links struct {
	c        *Cluster
	identity *tls.Config

	mu       sync.Mutex
	to       map[string]*link // by the replica's name and epoch
	services map[string]func(net.Conn)
	sub      *nats.Subscription
	ending   bool

	unproven chan struct{} // a slot for each link whose other side has not shown the key yet
}

// mostUnproven bounds the links that clients of NATS without the key can have a replica keep.
const mostUnproven = 32

type link struct {
	ready   chan struct{}
	session *yamux.Session
	err     error
}

const linkWithin = 3 * time.Second // to make a link

// Services to which replicas open streams.
const (
	ServicePeople  = "people"  // the replica's companion
	ServiceHosts   = "hosts"   // its endpoint for hosts
	ServiceTenants = "tenants" // tells which tenants are open there
)

// ServiceOf returns the name of a service of another worker of the replica.
func ServiceOf(service, worker string) string { return service + "/" + worker }

func newLinks(c *Cluster) *links {
	return &links{c: c, to: map[string]*link{}, services: map[string]func(net.Conn){}, unproven: make(chan struct{}, mostUnproven)}
}

// linkSubject returns the subject on which a process of a replica accepts links.
func linkSubject(name, epoch string) string { return "callgate.link." + keyed(name) + "." + epoch }

// listen accepts links from other replicas.
func (l *links) listen() (err error) {
	if l.identity, err = l.c.o.Key.identity(); err != nil {
		return err
	}
	l.sub, err = l.c.conn.Subscribe(linkSubject(l.c.o.Name, l.c.epoch), func(m *nats.Msg) {
		if m.Reply == "" {
			return
		}
		select {
		case l.unproven <- struct{}{}:
			l.c.owned.Go(func() { l.take(m) })
		default:
			_ = m.Respond(nil) // the other side need not wait then
		}
	})
	return err
}

func (l *links) config() *yamux.Config {
	y := yamux.DefaultConfig()
	y.KeepAliveInterval, y.ConnectionWriteTimeout = max(l.c.o.Lease/4, time.Second), max(l.c.o.Lease/2, 2*time.Second)
	y.StreamOpenTimeout, y.StreamCloseTimeout = 10*time.Second, 30*time.Second
	y.LogOutput, y.Logger = nil, log.New(io.Discard, "", 0)
	return y
}

// prove opens the pipe of m, and makes the other side show the cluster's key. The pipe is closed after an error.
func (l *links) prove(m *nats.Msg) (*pipe, *tls.Conn, error) {
	defer func() { <-l.unproven }()
	p, err := acceptPipe(l.c.conn, m)
	if err != nil {
		return nil, nil, err
	}
	secured := tls.Server(p, boundTo(l.identity, l.c.o.Name, l.c.epoch))
	ctx, cancel := context.WithTimeout(l.c.ctx, linkWithin)
	defer cancel()
	if err = secured.HandshakeContext(ctx); err == nil {
		err = p.proven()
	}
	if err != nil {
		p.Close()
	}
	return p, secured, err
}

// take serves a link from another replica until it ends.
func (l *links) take(m *nats.Msg) {
	p, secured, err := l.prove(m)
	if err != nil {
		l.c.log.Warn("cluster: a link was refused", "error", err)
		return
	}
	defer p.Close()
	defer context.AfterFunc(l.c.ctx, func() { p.Close() })()
	session, err := yamux.Server(secured, l.config())
	if err != nil {
		return
	}
	defer session.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		stream, err := session.Accept()
		if err != nil {
			return
		}
		serving.Go(func() { l.serve(stream) })
	}
}

// serve hands a stream to its service, or closes it if there is none.
func (l *links) serve(stream net.Conn) {
	var n [1]byte
	_ = stream.SetReadDeadline(time.Now().Add(linkWithin))
	if _, err := io.ReadFull(stream, n[:]); err != nil {
		stream.Close()
		return
	}
	name := make([]byte, n[0])
	if _, err := io.ReadFull(stream, name); err != nil {
		stream.Close()
		return
	}
	_ = stream.SetReadDeadline(time.Time{})
	l.mu.Lock()
	service := l.services[string(name)]
	l.mu.Unlock()
	if service == nil {
		stream.Close()
		return
	}
	service(stream)
}

// Listen accepts the streams that other replicas open to a service of this one.
func (c *Cluster) Listen(service string) net.Listener {
	if c.front != nil {
		return c.front.Listen(ServiceOf(service, c.o.Worker))
	}
	l := &listener{c: c, service: service, streams: make(chan net.Conn), done: make(chan struct{})}
	c.links.mu.Lock()
	defer c.links.mu.Unlock()
	c.links.services[service] = func(stream net.Conn) {
		select {
		case l.streams <- stream:
		case <-l.done:
			stream.Close()
		case <-c.ctx.Done():
			stream.Close()
		}
	}
	return l
}

type listener struct {
	c       *Cluster
	service string
	streams chan net.Conn
	once    sync.Once
	done    chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case stream := <-l.streams:
		return stream, nil
	case <-l.done:
	case <-l.c.ctx.Done():
	}
	return nil, net.ErrClosed
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.c.o.Name) }

type address string

func (address) Network() string  { return "callgate" }
func (a address) String() string { return string(a) }

// ErrGone means that the replica's process has ended or cannot be reached.
var ErrGone = errors.New("the replica is gone")

// Dial opens a stream to a service of one process of a replica.
func (c *Cluster) Dial(ctx context.Context, name, epoch, service string) (net.Conn, error) {
	if c.front != nil {
		return c.front.Dial(ctx, name, epoch, ServiceOf(service, c.o.Worker))
	}
	if !c.replicas.lives(name, epoch) {
		return nil, ErrGone
	}
	session, err := c.links.session(ctx, name, epoch)
	if err != nil {
		return nil, fmt.Errorf("replica %s: %w", name, err)
	}
	stream, err := session.Open()
	if err != nil {
		return nil, fmt.Errorf("replica %s: %w", name, err)
	}
	if _, err := stream.Write(append([]byte{byte(len(service))}, service...)); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

// session returns the link to a process, and makes it if there is none.
func (l *links) session(ctx context.Context, name, epoch string) (*yamux.Session, error) {
	key := name + "\x00" + epoch
	l.mu.Lock()
	if l.ending {
		l.mu.Unlock()
		return nil, ErrGone
	}
	one := l.to[key]
	if one == nil || one.over() {
		one = &link{ready: make(chan struct{})}
		l.to[key] = one
		l.c.owned.Go(func() { l.open(one, key, name, epoch) })
	}
	l.mu.Unlock()
	select {
	case <-one.ready:
		return one.session, one.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// over reports whether a link has failed or ended.
func (one *link) over() bool {
	select {
	case <-one.ready:
		return one.err != nil || one.session.IsClosed()
	default:
		return false
	}
}

// open makes a link, and keeps it open until it ends or the process is gone.
func (l *links) open(one *link, key, name, epoch string) {
	ctx, cancel := context.WithTimeout(l.c.ctx, linkWithin)
	defer cancel()
	p, err := dialPipe(ctx, l.c.conn, linkSubject(name, epoch))
	if err == nil {
		defer p.Close()
		secured := tls.Client(p, boundTo(l.identity, name, epoch))
		if err = secured.HandshakeContext(ctx); err == nil {
			err = p.proven()
		}
		if err == nil {
			one.session, err = yamux.Client(secured, l.config())
		}
	}
	one.err = err
	close(one.ready)
	if err == nil {
		ticker := time.NewTicker(l.c.o.beat())
		defer ticker.Stop()
		for live := true; live; {
			select {
			case <-one.session.CloseChan():
				live = false
			case <-l.c.ctx.Done():
				live = false
			case <-ticker.C:
				live = l.c.replicas.lives(name, epoch)
			}
		}
		one.session.Close()
	}
	l.mu.Lock()
	if l.to[key] == one {
		delete(l.to, key)
	}
	l.mu.Unlock()
}

func (l *links) close() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	if l.sub != nil {
		_ = l.sub.Unsubscribe() // the connection is closed next
	}
}
