package past

// Tally is the part of a gate.Tally that this package uses.
type Tally interface {
	Take(n, limit int) (bool, error)
	Add(n int)
	Count() int
	Begin()
}
