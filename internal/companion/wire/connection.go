package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNotRunning means that no companion is announced in the data directory.
var ErrNotRunning = errors.New("no callgate is running")

// Errors of Dial, besides ErrNotRunning.
var (
	ErrUnreachable  = errors.New("callgate does not answer")
	ErrImpostor     = errors.New("the program that listens there does not have this user's credentials: it is not callgate, or it uses another data directory")
	ErrUnauthorized = errors.New("callgate refused the credential")
	ErrNameTaken    = errors.New("the name is a person's who has a credential of their own")
	ErrNoCredential = errors.New("there is no such credential of a person")
	ErrVersion      = errors.New("callgate speaks another version of the protocol")
	ErrClosed       = errors.New("the connection is closed")
	ErrNotBack      = fmt.Errorf("%w: the process that asks has not come to the new hub yet", ErrClosed)
)

// Event is one frame of the server, or a change of the connection, as a Client delivers it.
type Event struct {
	// Frame points to one of the server's wire types (*ToolApproveRequest, *Error, …), or is a Connected, Notice or
	// Disconnected. It is nil for a type that this version does not know.
	Frame any
	Raw   json.RawMessage // the frame as it came; nil if no frame came
}

// Connected means that the client has connected, for the first time or again. What was known is void, and a replay of
// what waits follows. If a lost connection is renewed within two seconds, as when another process becomes the hub,
// there is no event: the stream goes on.
type Connected struct{ Address string }

// Notice tells a person what they should know about this connection: calls that cannot be seen here, or damage to what
// callgate stores. It comes before anything else on a connection with problems, and whenever the problems change.
type Notice struct{ Problems []string }

// UnseenElsewhere is the problem that only the calls of the connected process are shown.
const UnseenElsewhere = "calls of other callgate processes cannot be seen here: their hub does not answer. It may have been stopped (Ctrl-Z); continue or end it"

// IsUnseen reports whether a problem means that some calls are not shown.
func IsUnseen(problem string) bool { return strings.Contains(problem, "cannot be seen") }

// Unseen returns the problem that the calls of one process, or of one replica of the cluster, are not shown.
func Unseen(pid int, replica string) string {
	if replica != "" {
		return fmt.Sprintf("calls of the replica %s cannot be seen: it does not answer. If it is gone, the others soon show what waited there", replica)
	}
	return fmt.Sprintf("calls of the callgate with process id %d cannot be seen: it does not answer. "+
		"It may have been stopped (Ctrl-Z); continue or end it", pid)
}

// Disconnected means that the connection is lost. The client reconnects by itself, unless Final is set.
type Disconnected struct {
	Err   error
	Final bool
}

// Outcome is how Watch or Relay ended.
type Outcome int

const (
	Ended     Outcome = iota // the person left, or there is no connection any more
	Approved                 // with once: the approval was approved
	Rejected                 // with once: it was rejected
	Withdrawn                // with once: it timed out or was withdrawn
)

func OutcomeOf(decision string) Outcome {
	switch decision {
	case "approve", "always":
		return Approved
	case "reject":
		return Rejected
	}
	return Withdrawn
}

// RequestError is a REST request that the companion refused.
type RequestError struct {
	Status  int // HTTP status
	Code    string
	Message string
}

func (e *RequestError) Error() string {
	return cmp.Or(e.Message, fmt.Sprintf("the request was refused with status %d", e.Status))
}
