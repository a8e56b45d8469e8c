package past

// Tally is what limits use of a gate.Tally.
type Tally interface {
	Take(n, limit int) (bool, error)
	Add(n int)
	Count() int
	Begin()
}
