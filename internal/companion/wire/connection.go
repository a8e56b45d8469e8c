package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrNotRunning says that no companion is announced in the data directory.
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

// Event is what a Client delivers: one frame of the server, or a change of the connection.
type Event struct {
	// Frame points to a wire type of the server (*ToolApproveRequest, *Error, …), to Connected or to
	// Disconnected. It is nil for a frame whose type this version does not know.
	Frame any
	Raw   json.RawMessage // the frame as it came; nil for Connected and Disconnected
}

// Connected: the connection is there, again or for the first time. What was known is void: the replay of
// what waits follows. A connection that is renewed within two seconds, as when another process becomes the hub, is
// no event: the stream goes on.
type Connected struct{ Address string }

// Notice is what a person who looks through this connection should know: calls that cannot be seen here, damage to
// what callgate keeps. It comes before what a connection that has any shows, and when there are other ones or none any
// more.
type Notice struct{ Problems []string }

// UnseenElsewhere is the problem that only the calls of the process that is connected to are shown.
const UnseenElsewhere = "calls of other callgate processes cannot be seen here: their hub does not answer. It may have been stopped (Ctrl-Z); continue or end it"

// IsUnseen reports whether a problem is that not all calls are shown.
func IsUnseen(problem string) bool { return strings.Contains(problem, "cannot be seen") }

// Unseen is the problem that calls of one process, or of a replica of the cluster, are not shown.
func Unseen(pid int, replica string) string {
	if replica != "" {
		return fmt.Sprintf("calls of the replica %s cannot be seen: it does not answer. If it is gone, the others soon show what waited there", replica)
	}
	return fmt.Sprintf("calls of the callgate with process id %d cannot be seen: it does not answer. "+
		"It may have been stopped (Ctrl-Z); continue or end it", pid)
}

// Disconnected: the connection is gone. The client tries again by itself, unless Final is set.
type Disconnected struct {
	Err   error
	Final bool
}

// Outcome is how watching ended.
type Outcome int

const (
	Ended     Outcome = iota // nobody wanted to go on
	Approved                 // once: the approval was approved
	Rejected                 // once: it was rejected
	Withdrawn                // once: it timed out, or the host took it back
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
	Status  int // of HTTP
	Code    string
	Message string
}

func (e *RequestError) Error() string {
	return cmp.Or(e.Message, fmt.Sprintf("the request was refused with status %d", e.Status))
}
