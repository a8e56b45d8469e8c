package app

import (
	"context"

	"callgate/gate"
)

// tellWhoWaits logs every call that waits for a person, once, until ctx ends: who looks at the log of a server sees
// why a host hangs. Arguments are for approvers alone and stay out of it.
func (s *Sidecar) tellWhoWaits(ctx context.Context) {
	told := map[string]bool{}
	for ctx.Err() == nil {
		subscription := s.Gate.Subscribe() // again after one that fell behind
		s.tellWaiting(ctx, subscription, told)
		subscription.Close()
	}
}

func (s *Sidecar) tellWaiting(ctx context.Context, subscription gate.Subscription, told map[string]bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-subscription.Events:
			if !open {
				return
			}
			switch e := event.(type) {
			case gate.Asked:
				if a := e.Approval; !told[a.ID] {
					told[a.ID] = true
					s.log.Info("a call waits for a person: answer on the page or with callgate approve", "tool", a.Tool, "risk", a.Analysis.Risk, "page", s.page(), "until", a.ExpiresAt)
				}
			case gate.Resolved:
				delete(told, e.ID)
			}
		}
	}
}
