package proxy

import "callgate/internal/rpc"

// Message is one JSON-RPC message, as it was spelled.
type Message = rpc.Message

// ParseMessage reads a message of a host. It refuses an envelope that decoders could read differently.
func ParseMessage(text []byte) (Message, error) { return rpc.ParseRequest(text) }

// Requests are those that were sent to one host and have no answer yet, and Pending is one of them. A transport sends
// them and hands over the answers.
type (
	Requests = rpc.Requests
	Pending  = rpc.Pending
)

// Peer is one host's session, for a transport that reads the host's messages by itself.
type Peer interface {
	// Handle takes any message of the host, except an answer to a request that went out by Line.Ask. It does not wait
	// for the outcome.
	Handle(m Message)

	// Serve is Handle for a request, on the caller's goroutine. It calls answered when the request has its response, or
	// gets none. Then it does the rest of the work; after a long response it does so in the background, and Close waits
	// for it.
	Serve(m Message, answered func())

	// Malformed puts on record that the host sent what is not a message.
	Malformed(err error)

	// Expelled withdraws what waits for a person: the host is not let in any more. Close follows.
	Expelled()

	// Close ends the session and waits until nothing of it runs.
	Close()
}

// Line carries messages to one host. Each transport has its own. All methods may be called by many goroutines at once;
// they may wait for a host that reads slowly, and MUST NOT wait for a host that is gone.
//
// Messages about a request of the host travel with that request: about is its id, as spelled, or nil for no request.
// Notify and Ask about a request come before its Respond, never after it.
type Line interface {
	// Respond sends the response to the request with that id; an id of nil stands for what could not be read.
	// A nil response says that there will be none, because the host took the request back.
	Respond(id, response []byte) error

	// Notify sends a notification.
	Notify(about, message []byte) error

	// Ask sends a request that compose makes for the id it is given. Label is a name for it where questions have
	// names, and may be "". The caller MUST Wait or Forget.
	Ask(about []byte, label string, compose func(id []byte) []byte) (*Pending, error)

	// Waits says that the request waits for a person: a host that could lose its connection meanwhile hears at once that
	// the request is being looked at.
	Waits(about []byte)

	// Hurry is called when the session ends. From then on, a write may take only a moment.
	Hurry()
}

// Vouched is a Line of a host that needs a credential.
type Vouched interface {
	// Admitted says why the host would not be let in any more; nil while it would. What a person approved does not run
	// then.
	Admitted() error
}
