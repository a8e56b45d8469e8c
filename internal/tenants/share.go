package tenants

import (
	"context"
	"sync"
)

// Share is what one tenant has of what all tenants use. A nil Share is of one that is alone, and has everything.
type Share struct {
	Quota  *Quota
	turns  *Turns
	tenant string
}

// NewShare returns the share of a tenant that has nothing yet.
func NewShare(t Tenant, turns *Turns) *Share {
	return &Share{Quota: NewQuota(t.Limits), turns: turns, tenant: t.Name}
}

// Begin counts a request in until end, which may be called more than once, and waits for its turn. Calls count as such.
// The error is a *QuotaError, or that of ctx.
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

// Session counts a session in until end, which may be called more than once. The error is a *QuotaError.
func (s *Share) Session() (end func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	return s.Quota.Session()
}
