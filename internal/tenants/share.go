package tenants

import (
	"context"
	"sync"
)

// Share is one tenant's part of what all tenants use. A nil Share has no limits, for a worker without tenants.
type Share struct {
	Quota  *Quota
	turns  *Turns
	tenant string
}

// NewShare returns the share of a tenant that uses nothing yet.
func NewShare(t Tenant, turns *Turns) *Share {
	return &Share{Quota: NewQuota(t.Limits), turns: turns, tenant: t.Name}
}

// Begin waits for the turn of a request, and counts it until end is called, which may happen more than once. With call,
// it also counts towards the limits on calls. The error is a *QuotaError or that of ctx.
func (s *Share) Begin(ctx context.Context, call bool) (end func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	counted := func() {}
	if call {
		if counted, err = s.Quota.Call(); err != nil {
			return nil, err
		}
	}
	turn, err := s.turns.Take(ctx, s.tenant, s.Quota.weight())
	if err != nil {
		counted()
		return nil, err
	}
	return sync.OnceFunc(func() { turn(); counted() }), nil
}

// Session counts a session until end is called, which may happen more than once. The error is a *QuotaError.
func (s *Share) Session() (end func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	return s.Quota.Session()
}
