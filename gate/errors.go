package gate

import "errors"

// Errors of what goes to a host's model. What they wrap says why.
var (
	ErrDeclined    = errors.New("refused")
	ErrCancelled   = errors.New("cancelled")
	ErrUnavailable = errors.New("not possible")
)

// Errors of Answer, SetAutonomy and Cancel. Callers tell them apart with errors.Is.
var (
	ErrNotPending = errors.New("no such approval is pending: it was answered, cancelled or timed out")
	ErrDigest     = errors.New("the answer names other arguments than the pending call has: look at it again")
	ErrSession    = errors.New("no such session")
	ErrAnswer     = errors.New("invalid answer")
	ErrPresence   = errors.New("the answer needs a passkey")
	ErrAnother    = errors.New("another person has to approve") // the yes is on record, and the call waits on
	ErrRefused    = errors.New("the answer was not applied")    // the approval has ended, but not as the person said
)
