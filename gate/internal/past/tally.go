package past

import "time"

// Tally counts what the sessions of one host use of a limit at several replicas. Its methods may be called at once by
// many goroutines.
type Tally interface {
	// Take uses n. It is false when all replicas together would use more than limit, and an error when nobody knows. It
	// waits for the others only when this replica holds too little of the limit.
	Take(n, limit int) (bool, error)
	// Add uses n, whatever the limit. The others hear of it soon.
	Add(n int)
	// Give ends the use of n.
	Give(n int)
	// Count is how much all replicas use, as this one has heard.
	Count() int
	// Begin ends all use, at all replicas.
	Begin()
	// Close is for who does not use it any more. What was used counts as long as it lasts.
	Close()
}

// Counted says what a Tally counts.
type Counted struct {
	Name   string        // the same at all replicas
	Idle   time.Duration // all use ends when nobody took anything for so long; 0 is never
	Within time.Duration // what was used ends by itself after so long; 0 is when it is given back
	Leases bool          // a replica may hold more than it uses, so that it need not wait
}
