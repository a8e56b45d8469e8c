package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/internal/periodic"
)

// Look connects to the cluster without becoming a replica, for commands. It returns once it has heard everything that
// the bucket holds. The caller MUST close the cluster.
func Look(ctx context.Context, o Options) (*Cluster, error) {
	o.onlooker = true
	c, err := Open(o)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, 2*c.o.Lease)
	defer cancel()
	select {
	case <-c.bucket.complete:
		return c, nil
	case <-waiting.Done():
		c.Close()
		err := ctx.Err()
		if trouble := c.bucket.trouble.Load(); trouble != nil {
			err = *trouble
		}
		return nil, errors.Join(fmt.Errorf("%w: nothing was heard of worker %s within %s", ErrAway, o.Worker, 2*c.o.Lease), err)
	}
}

// Status is the state of the cluster.
type Status struct {
	Worker    string    `json:"worker"`
	Replicas  []Replica `json:"replicas"`
	Pending   int       `json:"pending"`   // approvals that wait
	Unclaimed int       `json:"unclaimed"` // decisions that wait for their calls
	Rules     Version   `json:"-"`
	Revision  uint64    `json:"rules"` // of the rules; 0 means none
	Leader    string    `json:"leader,omitempty"`
	Copies    int       `json:"copies"` // of the bucket
	Current   int       `json:"current"`
	Old       int       `json:"old"` // values that an older secret of the key sealed

	Documents map[string]int `json:"documents"` // shared documents, counted by kind
	Budgets   int            `json:"budgets"`   // limits that replicas now count together
}

// Status returns the state of the cluster. It first waits until every replica has sent another beat, or half a lease.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	since := time.Now()
	for waits := true; waits; {
		waits = false
		c.replicas.mu.Lock()
		for _, h := range c.replicas.known {
			waits = waits || h.at.Before(since)
		}
		c.replicas.mu.Unlock()
		if !waits || time.Since(since) > c.o.Lease/2 {
			break
		}
		if !periodic.Sleep(ctx, 20*time.Millisecond) {
			return Status{}, ctx.Err()
		}
	}
	s := Status{Worker: c.o.Worker, Replicas: c.Replicas()}
	c.replicas.mu.Lock()
	for i := range s.Replicas {
		h := c.replicas.known[keyed(s.Replicas[i].Name)]
		s.Replicas[i].Lives = !h.at.Before(since)
		s.Replicas[i].Self = false
	}
	c.replicas.mu.Unlock()
	s.Pending, s.Unclaimed = c.approvals.count()
	s.Old = len(c.bucket.old())
	s.Documents, s.Budgets = c.bucket.sorts(), len(c.bucket.valuesUnder("budget."))
	var err error
	if s.Rules, err = decodeVersion(c.bucket.last("rules")); err != nil {
		return s, fmt.Errorf("rules: %w", err)
	}
	s.Revision = s.Rules.Revision
	stream, err := c.bucket.connectedStream()
	if err != nil {
		return s, err
	}
	asking, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	info, err := stream.Info(asking)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrAway, err)
	}
	s.Copies, s.Current = info.Config.Replicas, 1
	if info.Cluster != nil {
		s.Leader = info.Cluster.Leader
		for _, r := range info.Cluster.Replicas {
			if r.Current && !r.Offline {
				s.Current++
			}
		}
	}
	return s, nil
}

// Behind waits until every living replica goes by that revision of the rules, and returns the names of those that have not
// said so within their lease. Such a replica has lost the cluster, and denies every call, or has ended.
func (c *Cluster) Behind(ctx context.Context, revision uint64) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Lease)
	defer cancel()
	for {
		names = names[:0]
		for _, one := range c.Replicas() {
			if one.Lives && one.Rules < revision {
				names = append(names, one.Name)
			}
		}
		if len(names) == 0 || !periodic.Sleep(ctx, 10*time.Millisecond) {
			return names
		}
	}
}

// sorts counts the documents by the first part of their keys.
func (b *bucket) sorts() map[string]int {
	counts := map[string]int{}
	for key, v := range b.valuesUnder("") {
		if isDocument(key) && v.body != nil {
			sort, _, _ := strings.Cut(key, ".")
			counts[sort]++
		}
	}
	return counts
}

// Well reports whether every replica lives and every copy is current.
func (s *Status) Well() bool {
	for _, r := range s.Replicas {
		if !r.Lives {
			return false
		}
	}
	return len(s.Replicas) > 0 && s.Current == s.Copies
}
