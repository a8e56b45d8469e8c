// Package cluster lets several callgates share rules, approvals and sessions over NATS JetStream.
//
// Each callgate is a replica. Each worker's bucket, a JetStream key-value bucket, has rules, freezes, credentials and
// approvals, and a beat of every replica. A replica that sees its own beat come back has seen everything written before
// it. A replica that has not seen one for its lease says so (Fresh), and MUST NOT let calls run. Every change is a
// compare-and-set on the revision. Values are sealed with the cluster's key, which NATS never sees.
package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/periodic"
)

// Embedded is the URL that stands for a NATS server in this process.
const Embedded = "embedded"

// DefaultLease is how long a replica may go on without hearing from the cluster.
const DefaultLease = 10 * time.Second

// Options configures a replica. URL, Name, Worker, DataDir, Key and Logger are required.
type Options struct {
	URL     string   // of NATS, several separated by commas, or Embedded
	Name    string   // of this replica; unique in the cluster
	Worker  string   // whose bucket is shared
	DataDir string   // of this replica only
	Key     Key      // the same for all replicas
	Listen  string   // embedded: where the other replicas connect, host:port
	Peers   []string // embedded: addresses of all replicas, this one included, as host:port; empty for a single replica
	Creds   string   // file with the JWT and seed, or the NKey seed, for an external NATS
	TLS     *tls.Config
	Lease   time.Duration // 0 means DefaultLease

	TrailAge   time.Duration // age at which records may leave the audit trail's stream; 0 keeps all
	TrailBytes int64         // size at which even newer records may leave that stream; 0 means no limit

	Version string // of callgate, for people
	Logger  *slog.Logger

	Recreate bool // create a bucket anew if it is gone, was set back or has other settings

	onlooker  bool   // it is not a replica, and changes nothing unasked
	advertise string // embedded: the address at which other replicas look for this one; "" means Listen

	now func() time.Time // for tests with wrong clocks; nil means time.Now
}

// beat returns how often a replica reports that it lives, and looks after what it shares.
func (o *Options) beat() time.Duration { return max(o.Lease/10, 50*time.Millisecond) }

// Cluster is this replica's part of the cluster. The caller MUST close it.
type Cluster struct {
	o      Options
	log    *slog.Logger
	epoch  string // of this process; a restarted replica has a new one
	server *server
	conn   *nats.Conn
	js     jetstream.JetStream
	bucket *bucket
	links  *links
	front  *Cluster     // the cluster that has the connection and the links; nil if this one has
	unlock func() error // releases the data directory; nil without a lock on it

	replicas  replicas
	approvals *Approvals
	budgets   *Budgets
	locks     locks
	trail     atomic.Pointer[trail] // nil until ShareTrail

	ctx    context.Context
	stop   context.CancelFunc
	owned  sync.WaitGroup
	closed sync.Once
}

// ErrAway means that the cluster cannot be reached. The request may or may not have had an effect.
var ErrAway = errors.New("the cluster cannot be reached")

// Open starts this replica. It does not wait for the others, so no call may run until Fresh returns nil.
func Open(o Options) (*Cluster, error) {
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.now == nil {
		o.now = time.Now
	}
	c := &Cluster{o: o, log: o.Logger, epoch: rand.Text()[:12]}
	c.ctx, c.stop = context.WithCancel(context.Background())
	var err error
	if !o.onlooker {
		if c.unlock, err = lockDataDir(o.DataDir); err != nil {
			return nil, err
		}
	}
	if o.URL == Embedded && !o.onlooker {
		if c.server, err = startServer(o); err != nil {
			return nil, errors.Join(err, c.unlock())
		}
	}
	if c.conn, err = c.connect(); err == nil {
		c.js, err = jetstream.New(c.conn)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c.links = newLinks(c)
	if err := c.share(); err != nil {
		c.Close()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return c, nil
}

// Worker shares the bucket of another worker over this replica's connection. Each worker needs its own data directory.
// Close it before c.
func (c *Cluster) Worker(name, dataDir string, log *slog.Logger) (*Cluster, error) {
	o := c.o
	o.Worker, o.DataDir, o.Logger = name, dataDir, log
	w := &Cluster{o: o, log: log, epoch: c.epoch, conn: c.conn, js: c.js, front: c}
	w.ctx, w.stop = context.WithCancel(c.ctx)
	err := w.noteAddress()
	if err == nil {
		err = w.share()
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return w, nil
}

// share begins to follow the bucket. A replica also begins to send beats.
func (c *Cluster) share() (err error) {
	c.replicas.c = c
	if c.bucket, err = newBucket(c); err != nil {
		return err
	}
	c.approvals = newApprovals(c)
	c.budgets = newBudgets(c)
	c.locks.c = c
	c.bucket.watch("beat.", c.replicas.beat)
	c.replicas.ruled = make(chan struct{}, 1)
	c.bucket.watch("rules", func(string, value) {
		select {
		case c.replicas.ruled <- struct{}{}:
		default:
		}
	})
	c.bucket.watch("ask.", c.approvals.changed)
	c.bucket.watch("budget.", c.budgets.changed)
	c.owned.Go(c.bucket.run)
	if c.o.onlooker {
		return nil
	}
	if c.links != nil {
		if err := c.links.listen(); err != nil {
			return err
		}
	}
	c.owned.Go(c.replicas.run)
	c.owned.Go(c.approvals.run)
	c.owned.Go(c.budgets.run)
	return nil
}

// Name returns this replica's name.
func (c *Cluster) Name() string { return c.o.Name }

// Fresh returns why this replica's rules may be outdated, or nil. It costs a few loads and two clock readings.
func (c *Cluster) Fresh() error { return c.bucket.fresh() }

// Wait waits until Fresh returns nil or ctx ends, and returns the last result of Fresh.
func (c *Cluster) Wait(ctx context.Context) error {
	for c.Fresh() != nil {
		if !periodic.Sleep(ctx, 20*time.Millisecond) {
			return c.Fresh()
		}
	}
	return nil
}

// Close tells the others that this replica ends, and stops everything that it runs.
func (c *Cluster) Close() error {
	c.closed.Do(func() {
		if c.bucket != nil && !c.o.onlooker {
			c.approvals.finish()
			c.replicas.leave()
		}
		c.stop()
		if c.links != nil {
			c.links.close()
		}
		c.owned.Wait()
		if c.conn != nil && c.front == nil {
			c.conn.Close()
		}
		if c.server != nil {
			c.server.close()
		}
		if c.unlock != nil {
			if err := c.unlock(); err != nil {
				c.log.Error("cluster: the lock of the data directory", "error", err)
			}
		}
	})
	return nil
}
