package proxy

import "callgate/internal/rpc"

// Message is one JSON-RPC message, as spelled.
type Message = rpc.Message

// ParseMessage reads a message of a host. It refuses an envelope that decoders could read differently.
func ParseMessage(text []byte) (Message, error) { return rpc.ParseRequest(text) }

// Requests holds the unanswered requests to one host, and Pending is one of them. A transport sends them and hands over
// the answers.
type (
	Requests = rpc.Requests
	Pending  = rpc.Pending
)

// Peer is one host's session, for a transport that reads the host's messages itself.
type Peer interface {
	// Handle takes any message of the host, except an answer to a request sent with Line.Ask. It does not wait for the
	// outcome.
	Handle(m Message)

	// Serve handles a request on the caller's goroutine. It calls answered when the request has its response, or gets
	// none. Then it does the rest of the work. After a long response it does so in the background, and Close waits for
	// it.
	Serve(m Message, answered func())

	// Malformed records that the host sent something that is not a message.
	Malformed(err error)

	// Expelled withdraws what waits for a person, because the host is no longer let in. Close follows.
	Expelled()

	// Close ends the session and waits until nothing of it is running.
	Close()
}

// Line carries messages to one host. Each transport has its own. All methods are safe for concurrent use. They may wait
// for a host that reads slowly, and MUST NOT wait for a host that is gone.
//
// Messages about a request of the host travel with that request: about is its id, as spelled, or nil for no request.
// Notify and Ask about a request come before its Respond, never after it.
type Line interface {
	// Respond sends the response to the request with that id. A nil id means that the request's id could not be read. A
	// nil response means that there will be none, because the host took the request back.
	Respond(id, response []byte) error

	// Notify sends a notification.
	Notify(about, message []byte) error

	// Ask sends the request that compose returns for the given id. label names it where questions have names, and may
	// be "". The caller MUST Wait or Forget.
	Ask(about []byte, label string, compose func(id []byte) []byte) (*Pending, error)

	// Waits notes that the request waits for a person. If the host could lose its connection meanwhile, it is told at
	// once that its request is being handled.
	Waits(about []byte)

	// Hurry is called when the session ends. From then on, a write may take only a moment.
	Hurry()
}

// Vouched is a Line to a host that needs a credential.
type Vouched interface {
	// Admitted returns why the host would no longer be let in, or nil. In that case a call that a person approved does
	// not run.
	Admitted() error
}
