package gate

import (
	"sync"
	"sync/atomic"
)

// subscriptionBuffer is how many events a subscriber may be behind before it is dropped.
const subscriptionBuffer = 1024

// Subscription is one listener's view of what happens. Events is closed when the listener is too slow, or when the
// subscription or the gate is closed. A listener that subscribes again gets the replay.
type Subscription struct {
	Events <-chan Event
	close  func()
}

// NewSubscription returns a subscription to events that do not come from a Gate. Its Close calls end.
func NewSubscription(events <-chan Event, end func()) Subscription {
	return Subscription{Events: events, close: end}
}

// Close ends the subscription.
func (s Subscription) Close() { s.close() }

// hub hands events to subscribers without ever waiting for one.
type hub struct {
	mu     sync.Mutex
	subs   map[chan Event]bool // whether the subscriber gets the events of calls too
	calls  atomic.Int32        // number of subscribers that do
	closed bool
}

// Subscribe begins a subscription. It starts with every session, then every pending approval, oldest first.
func (g *Gate) Subscribe() Subscription { return g.subscribe(true) }

// SubscribeQuestions is Subscribe without the events that every call makes: Started, Finished and Recorded. An allowed
// call does not wake such a subscriber.
func (g *Gate) SubscribeQuestions() Subscription { return g.subscribe(false) }

func (g *Gate) subscribe(calls bool) Subscription {
	g.queue.mu.Lock() // no event about approvals or sessions can come between the replay and the subscription
	defer g.queue.mu.Unlock()
	g.registry.opening.Lock()
	defer g.registry.opening.Unlock()
	sessions, pending := g.registry.roster(), g.queue.pendingShown()
	events := make(chan Event, subscriptionBuffer+len(sessions)+len(pending))
	for _, info := range sessions {
		events <- SessionOpened{info}
	}
	for _, a := range pending {
		events <- Asked{a}
	}
	return g.journal.events.add(events, calls)
}

func (h *hub) add(events chan Event, calls bool) Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(events)
	} else {
		if h.subs == nil {
			h.subs = map[chan Event]bool{}
		}
		if h.subs[events] = calls; calls {
			h.calls.Add(1)
		}
	}
	return NewSubscription(events, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(events)
	})
}

// drop removes a subscriber; the caller holds mu.
func (h *hub) drop(events chan Event) {
	if calls, ok := h.subs[events]; ok {
		delete(h.subs, events)
		if calls {
			h.calls.Add(-1)
		}
		close(events)
	}
}

// followed reports whether anybody gets the events that every call makes. If not, nobody needs to make them.
func (h *hub) followed() bool { return h.calls.Load() > 0 }

func (h *hub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for events, calls := range h.subs {
		if !calls && ofCalls(e) {
			continue
		}
		select {
		case events <- e:
		default:
			h.drop(events)
		}
	}
}

// ofCalls reports whether every call makes such an event.
func ofCalls(e Event) bool {
	switch e.(type) {
	case Started, Finished, Recorded:
		return true
	}
	return false
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for events := range h.subs {
		h.drop(events)
	}
}

// Tell publishes an event that happened elsewhere in callgate, in order with all others. It never blocks.
func (g *Gate) Tell(e Event) { g.journal.events.publish(e) }
