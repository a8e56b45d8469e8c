package gate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
)

// Call is one tools/call as the host sent it. It is immutable. The gate judges, digests, shows, records and, if it
// allows the call, forwards exactly these bytes.
type Call struct {
	ID        string // callgate's own, unique over all processes: "call_", the time, chance, and a number
	SessionID string
	Principal string // who the host has proven to be to its transport: what people approve is for that one alone
	Agent     string // whom the call names as its agent: the session's, or one that can only tighten
	Tool      *tools.Tool
	Arguments []byte // the raw arguments object; nil when the request has none
	Digest    string // jsonx.Digest of Arguments and the resolved agent
	Place     tools.Place
	Before    Before                        // what hooks said of it; the zero value is nothing
	Redefined *Redefinition                 // nil when the tool's definition is as people know it
	HandOver  time.Duration                 // how long the host waits for a person before it gets an answer; 0 is as long as it takes
	Asked     func(*Approval) (done func()) // told when a person is asked; done when nobody is any more; may be nil
	Revive    func(context.Context) error   // starts the server again when it ended while the call waited; may be nil
	Changed   func() error                  // says why the tool is another one than when the call came; may be nil
	Admitted  func() error                  // says why its host is not let in any more; nil for a host that needs no credential
	Unasked   bool                          // nobody is asked: what would wait for a person is denied
	Fixed     bool                          // an approver cannot change the arguments: they stand for more, or for other things, than what is sent as arguments

	read *facts.Call // of the call, once somebody asked
}

// NewCall is a call of the session's host, of tool with the raw arguments object, at place. It fails if the arguments
// can be read in more than one way: then the call MUST NOT run.
func (s *Session) NewCall(tool *tools.Tool, arguments []byte, place tools.Place) (Call, error) {
	c := Call{
		ID: fmt.Sprintf("call_%x_%s", time.Now().Unix(), rand.Text()[:12]), SessionID: s.id, Agent: s.agent, Tool: tool, Place: place,
	}
	return c.withArguments(arguments)
}

// facts are what the checks look at. The judge asks first, so that its checks share one reading.
func (c *Call) facts() *facts.Call {
	if c.read == nil {
		c.read = facts.Of(tools.Call{Tool: c.Tool, Arguments: c.Arguments, Place: c.Place})
	}
	return c.read
}

func (c *Call) revive(ctx context.Context) error {
	if c.Revive == nil {
		return nil
	}
	return c.Revive(ctx)
}

// changed says why an approved call may not run any more.
func (c *Call) changed() error {
	for _, why := range []func() error{c.Admitted, c.Changed} {
		if why == nil {
			continue
		}
		if err := why(); err != nil {
			return err
		}
	}
	return nil
}

// Thinks reports whether the call goes to the model of the session's host (sampling).
func (c *Call) Thinks() bool { return c.Tool != nil && c.Tool.Kind == tools.KindSampling }

// Redefinition says that a tool's definition is not the accepted one: the call is in quarantine until somebody accepts
// it.
type Redefinition struct {
	Old json.RawMessage `json:"old,omitempty"` // as it was accepted; nil when it never was
	New json.RawMessage `json:"new"`
	Why string          `json:"why"`
}
