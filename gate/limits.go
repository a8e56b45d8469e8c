package gate

import (
	"slices"
	"time"

	"callgate/permissions"
)

// Limits bound what one session may do. The zero value sets no limit.
type Limits struct {
	CallsPerTurn int           // calls within a turn
	TurnIdle     time.Duration // a turn ends after this long without a call
	Concurrent   int           // forwarded calls that run at once
	// The Irreversible-th loss within IrreversibleWithin, and each one after it, asks under every rule and level. A
	// loss is a DESTRUCTIVE call or a call of a tool labelled as deleting or paying; each element of a list counts.
	Irreversible       int
	IrreversibleWithin time.Duration
	Timeouts           []Timeout // how long a forwarded call may run; the last that matches counts
}

// Timeout bounds how long calls run after they are forwarded. Waits for a person do not count.
type Timeout struct {
	Tool  *permissions.Glob // over the qualified name or the kind; nil matches every tool
	Risk  *permissions.Risk // nil matches every class
	After time.Duration
}

// timeout returns how long a call of the tool may run; 0 means no limit.
func (l *Limits) timeout(call Call, risk permissions.Risk) (after time.Duration) {
	for _, t := range l.Timeouts {
		if t.Tool != nil && !slices.ContainsFunc([]string{call.Tool.Qualified, call.Tool.Plain, call.Tool.Kind}, func(name string) bool { return name != "" && t.Tool.Match(name) }) {
			continue
		}
		if t.Risk != nil && *t.Risk != risk {
			continue
		}
		after = t.After
	}
	return after
}

// Tallies counts over several replicas what hosts without sessions use of Limits.
type Tallies interface {
	// Tally opens the tally with the name in Counted. The gate closes it with the session.
	Tally(Counted) Tally
}

// Tally counts what one host's sessions use of a limit at several replicas. Its methods may be called concurrently.
type Tally interface {
	// Take uses n units. It returns false if all replicas together would use more than limit, and an error if that is
	// unknown. It waits for the others only if this replica holds too little of the limit.
	Take(n, limit int) (bool, error)
	// Add uses n units, whatever the limit. The other replicas learn of it soon.
	Add(n int)
	// Give gives n units back.
	Give(n int)
	// Count returns how many units all replicas use, as far as this one knows.
	Count() int
	// Begin gives back all units, at all replicas.
	Begin()
	// Close ends the use of the tally. Units that were used still count for their time.
	Close()
}

// Counted says what a Tally counts.
type Counted struct {
	Name   string        // the same at all replicas
	Idle   time.Duration // all units are given back after this long without a Take; 0 means never
	Within time.Duration // a unit is given back by itself after this long; 0 means only by Give
	Leases bool          // a replica may hold more than it uses, so that it need not wait
}

// Share joins the session with the sessions of the same host at other replicas, which have the same account. They count
// limits together, and what people set for one holds for all. Call it before the first call.
func (s *Session) Share(account string) {
	if s.gate.journal.o.Standing != nil {
		s.account = account
	}
	tallies, limits := s.gate.journal.o.Tallies, s.gate.journal.set.Load().Limits
	if tallies == nil {
		return
	}
	share := func(c Counted) Tally {
		c.Name += "." + account
		t := tallies.Tally(c)
		s.tallies = append(s.tallies, t)
		return t
	}
	if limits.CallsPerTurn > 0 {
		s.turn.Shared = share(Counted{Name: "turn", Idle: limits.TurnIdle, Leases: true})
	}
	if limits.Irreversible > 0 {
		s.burst.Shared = share(Counted{Name: "lost", Within: limits.IrreversibleWithin})
	}
	if limits.Concurrent > 0 {
		s.places = share(Counted{Name: "runs", Leases: true})
	}
}
