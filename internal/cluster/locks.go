package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A lock is one entry, lock.{name}, that names the process which holds it.
type holder struct {
	Replica string `json:"replica"` // "" when it is free
	Epoch   string `json:"epoch"`
	Chance  string `json:"chance"`
}

const (
	keepLock  = 10 * time.Minute
	lookAgain = 50 * time.Millisecond
)

// Lock waits until nobody in the cluster holds the lock with that name. It is this caller's until the deadline: by then
// nothing may be done any more that others MUST NOT do meanwhile, because it may be theirs. The caller MUST unlock. The lock
// of a replica that is gone is free once others notice.
func (c *Cluster) Lock(ctx context.Context, name string) (until time.Time, unlock func(), err error) {
	key := "lock." + name
	var rev uint64
	var since time.Time
	for {
		_, v, err := c.bucket.read(ctx, key)
		var now holder
		switch {
		case errors.Is(err, errNone):
		case err != nil:
			return until, nil, err
		default:
			if err := json.Unmarshal(v.body, &now); err != nil {
				return until, nil, err
			}
		}
		if v.rev != rev || since.IsZero() {
			rev, since = v.rev, time.Now()
		}
		// Who is cut off, and holds it, does nothing any more when its lease is over.
		gone := !c.replicas.lives(now.Replica, now.Epoch) && time.Since(since) >= c.replicas.patience()
		if now.Replica == "" || gone || now.Replica == c.o.Name && now.Epoch != c.epoch {
			began := time.Now()
			mine := holder{c.o.Name, c.epoch, chance()}
			held, err := c.write(key, mine, rev)
			if err == nil {
				return began.Add(c.o.Lease), func() { c.unlock(key, held) }, nil
			}
			if !errors.Is(err, errConflict) {
				return until, nil, err
			}
			continue
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return until, nil, context.Cause(ctx)
		}
	}
}

func (c *Cluster) write(key string, h holder, rev uint64) (uint64, error) {
	body, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	return c.bucket.write(c.ctx, key, body, rev, keepLock)
}

// unlock frees a lock that this process holds since a change. It goes on until that is known to the others.
func (c *Cluster) unlock(key string, held uint64) {
	free := func() bool {
		_, err := c.write(key, holder{Chance: chance()}, held)
		return err == nil || errors.Is(err, errConflict)
	}
	if free() {
		return
	}
	go func() { // it ends with the cluster, whose entry ends by itself then
		for !free() {
			select {
			case <-time.After(c.o.Lease / 10):
			case <-c.ctx.Done():
				return
			}
		}
	}()
}
