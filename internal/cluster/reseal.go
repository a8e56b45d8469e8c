package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// old are the values that an older secret of the key sealed, and that nobody writes again by themselves.
func (b *bucket) old() map[string]value {
	held := b.under("")
	for key, v := range held {
		var e entry
		over := strings.HasPrefix(key, "ask.") && (json.Unmarshal(v.body, &e) != nil || e.State == stateEnded || e.State == stateDone)
		if !v.old || over || isFleeting(key) {
			delete(held, key)
		}
	}
	return held
}

// Reseal seals with the key's first secret what an older one has sealed, so that the older can be dropped. The trail
// keeps what it was written with, and snapshots are removed. It says how many values that were, without those that
// somebody else changed meanwhile.
func (c *Cluster) Reseal(ctx context.Context) (n int, err error) {
	for key := range c.bucket.old() {
		sealed, err := reseal(ctx, c, key)
		for errors.Is(err, errConflict) {
			sealed, err = reseal(ctx, c, key)
		}
		if err != nil {
			return n, fmt.Errorf("%s: %w", key, err)
		}
		if sealed {
			n++
		}
	}
	for _, what := range []string{Documents, Lists} {
		shared, err := resealShared(ctx, c, what)
		if n += shared; err != nil {
			return n, err
		}
	}
	dropped, err := c.Snapshots().drop(ctx)
	return n + dropped, err
}

// reseal seals one value anew. It is false when there was no need.
func reseal(ctx context.Context, c *Cluster, key string) (bool, error) {
	_, v, err := c.bucket.read(ctx, key)
	if errors.Is(err, errNone) || err == nil && !v.old {
		return false, nil
	}
	var e entry
	if err == nil && strings.HasPrefix(key, "ask.") {
		if err = json.Unmarshal(v.body, &e); err == nil {
			_, err = c.approvals.write(key, e, v.rev, c.approvals.until(e.Expires))
		}
	} else if err == nil {
		_, err = c.bucket.write(ctx, key, v.body, v.rev, 0)
	}
	return err == nil, err
}
