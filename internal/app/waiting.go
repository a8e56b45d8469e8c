package app

import (
	"context"

	"callgate/gate"
)

// tellWhoWaits logs every call that waits for a person, once, until ctx ends. So people who read the log see why a host
// hangs. It leaves out arguments, which are for approvers only.
func (s *Sidecar) tellWhoWaits(ctx context.Context) {
	told := map[string]bool{}
	for ctx.Err() == nil {
		subscription := s.Gate.SubscribeQuestions() // again after one that fell behind
		tellWaiting(ctx, subscription, told, func(a *gate.Approval) {
			s.log.Info("a call waits for a person: answer on the page or with callgate approve", "tool", a.Tool, "risk", a.Analysis.Risk, "page", s.companion.page(), "until", a.ExpiresAt)
		})
		subscription.Close()
	}
}

// tellWaiting calls tell for every pending call that is not yet in told, until the subscription ends.
func tellWaiting(ctx context.Context, subscription gate.Subscription, told map[string]bool, tell func(*gate.Approval)) {
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
					tell(a)
				}
			case gate.Resolved:
				delete(told, e.ID)
			}
		}
	}
}
