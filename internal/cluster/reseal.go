package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// old returns the values that an older secret of the key sealed, and that will not be written again anyway.
func (b *bucket) old() map[string]value {
	held := b.valuesUnder("")
	for key, v := range held {
		var e entry
		over := strings.HasPrefix(key, "ask.") && (json.Unmarshal(v.body, &e) != nil || e.State == stateEnded || e.State == stateDone)
		if !v.old || over || isFleeting(key) {
			delete(held, key)
		}
	}
	return held
}

// Reseal seals again, with the key's first secret, what an older secret sealed, so that the older one can be dropped.
// The trail is not sealed again, and snapshots are removed. It returns the number of values, without those that
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
		shared, failed := resealShared(ctx, c, what)
		n, err = n+shared, errors.Join(err, failed)
	}
	dropped, failed := c.Snapshots().drop(ctx)
	return n + dropped, errors.Join(err, failed)
}

// reseal seals one value again. It returns false if there was no need.
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
