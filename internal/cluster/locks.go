package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"callgate/internal/periodic"
)

// A lock is one entry, lock.{name}, with the process that holds it.
type holder struct {
	Replica string `json:"replica"` // "" if the lock is free
	Epoch   string `json:"epoch"`
	Chance  string `json:"chance"`
}

// locks holds the locks of this process. Only one process of the cluster holds a lock at a time.
type locks struct {
	c *Cluster
}

const (
	keepLock  = 10 * time.Minute
	lookAgain = 50 * time.Millisecond
)

// hold waits until nobody in the cluster holds the lock with that name. The caller has the lock until the deadline.
// After it, the caller MUST NOT do anything that needs the lock, because another process may have it. The caller MUST
// unlock. The lock of a lost replica is free once the others notice.
func (l *locks) hold(ctx context.Context, name string) (until time.Time, unlock func(), err error) {
	key := "lock." + name
	var rev uint64
	var since time.Time
	for {
		_, v, err := l.c.bucket.read(ctx, key)
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
		// A holder that is cut off does nothing under the lock after its lease.
		gone := !l.c.replicas.lives(now.Replica, now.Epoch) && time.Since(since) >= l.c.replicas.patience()
		if now.Replica == "" || gone || now.Replica == l.c.o.Name && now.Epoch != l.c.epoch {
			began := time.Now()
			mine := holder{l.c.o.Name, l.c.epoch, chance()}
			held, err := l.write(key, mine, rev)
			if err == nil {
				return began.Add(l.c.o.Lease), func() { l.unlock(key, held) }, nil
			}
			if !errors.Is(err, errConflict) {
				go l.disown(key, mine) // it ends with the cluster
				return until, nil, err
			}
			continue
		}
		if !periodic.Sleep(ctx, lookAgain) {
			return until, nil, context.Cause(ctx)
		}
	}
}

func (l *locks) write(key string, h holder, rev uint64) (uint64, error) {
	body, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	return l.c.bucket.write(l.c.ctx, key, body, rev, keepLock)
}

// unlock frees a lock that this process has held since change held. It tries until the others know.
func (l *locks) unlock(key string, held uint64) {
	free := func() bool {
		_, err := l.write(key, holder{Chance: chance()}, held)
		return err == nil || errors.Is(err, errConflict)
	}
	if free() {
		return
	}
	go func() { // it ends with the cluster; the entry then expires by itself
		for l.pause() && !free() {
		}
	}()
}

// disown frees a lock that this process tried to take, without having heard whether it did.
func (l *locks) disown(key string, mine holder) {
	for {
		_, v, err := l.c.bucket.read(l.c.ctx, key)
		var now holder
		switch {
		case errors.Is(err, errNone):
			return
		case err != nil && l.pause():
			continue
		case err == nil && json.Unmarshal(v.body, &now) == nil && now == mine:
			l.unlock(key, v.rev)
		}
		return
	}
}

// pause waits a little. It returns false once the cluster is closed.
func (l *locks) pause() bool { return periodic.Sleep(l.c.ctx, l.c.o.Lease/10) }
