package upstream

import (
	"fmt"
	"time"

	"callgate/internal/remote"
	"callgate/internal/rpc"
)

// address is a server behind a URL.
type address struct {
	noProcess

	endpoint *remote.Endpoint
	conn     *rpc.Conn
	ended    chan struct{} // closed when the endpoint has stopped
	err      error         // the reason; set before ended closes
}

var _ link = (*address)(nil)

func (u *Upstream) dial() (*address, error) {
	c := remote.Config{
		URL: u.cfg.URL, Transport: u.cfg.terms.Transport, Header: u.cfg.Header, Mirror: u.Lists.mirror,
		MaxMessage: u.cfg.MaxMessage, Budget: u.budget, Logger: u.log,
	}
	if u.cfg.terms.Login != nil {
		c.Authorize = u.cfg.terms.Login.Authorize
	}
	endpoint, err := remote.New(c)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	return &address{endpoint: endpoint, ended: make(chan struct{})}, nil
}

func (a *address) connect(o rpc.Options) *rpc.Conn {
	a.conn = rpc.NewConn(nil, a.endpoint, o)
	return a.conn
}

func (a *address) run(handle func(m rpc.Message, of []byte)) error {
	defer close(a.ended)
	a.err = a.endpoint.Run(a.conn, handle)
	return a.err
}

func (a *address) epitaph(cause error) error {
	return explained(a.ended, &a.err, cause)
}

// stop ignores grace: the endpoint knows how long a server may take to end a session.
func (a *address) stop(time.Duration) error {
	a.endpoint.Close()
	return nil
}

func (a *address) speak(version string) { a.endpoint.Speak(version) }
