package cluster

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net"
	"strings"
)

// sessionPlace is what ids of sessions are sealed for, so that nothing else opens as one.
const sessionPlace = "session"

// Sessions makes ids of hosts' sessions, and finds the replica where a session lives.
type Sessions struct{ c *Cluster }

func (c *Cluster) Sessions() Sessions { return Sessions{c} }

// SessionID makes an id for a session of this process. Only replicas can read from it where the session lives.
func (s Sessions) SessionID() string {
	c := s.c
	if c.front != nil {
		return c.front.Sessions().SessionID() // the front has the endpoint, and passes hosts' requests on
	}
	return base64.RawURLEncoding.EncodeToString(c.bucket.sealer.seal(sessionPlace, []byte(c.o.Name+"\x00"+c.epoch+"\x00"+rand.Text()[:16])))
}

// Home returns the replica that has the session with that id. elsewhere is false for ids of this process, and for ids
// that no replica made.
func (s Sessions) Home(id string) (name, epoch string, elsewhere bool) {
	c := s.c
	sealed, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil || len(id) > 1024 {
		return "", "", false
	}
	body, err := c.bucket.sealer.unseal(sessionPlace, sealed)
	if err != nil {
		return "", "", false
	}
	parts := strings.Split(string(body), "\x00")
	if len(parts) != 3 || parts[0] == c.o.Name && parts[1] == c.epoch {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// DialHosts opens a connection to the endpoint of one process of a replica. The error is ErrGone if it has ended.
func (s Sessions) DialHosts(ctx context.Context, name, epoch string) (net.Conn, error) {
	return s.c.Dial(ctx, name, epoch, ServiceHosts)
}
