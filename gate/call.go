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
	ID        string // callgate's own, unique over all processes: "call_", the time, and a random part
	SessionID string
	Principal string // the host's authenticated identity; an approval holds for this principal alone
	Agent     string // the agent that the call names; one other than the session's can only tighten
	Tool      *tools.Tool
	Arguments []byte // the raw arguments object; nil if the request has none
	Digest    string // jsonx.Digest of Arguments and the resolved agent
	Place     tools.Place
	Before    Before                        // what hooks said about the call
	Redefined *Redefinition                 // nil if the tool's definition is the accepted one
	HandOver  time.Duration                 // how long the host waits for a person before the call is handed over; 0 means no limit
	Asked     func(*Approval) (done func()) // called when a person is asked; done is called when the wait ends; may be nil
	Revive    func(context.Context) error   // restarts a server that ended while the call waited; may be nil
	Changed   func() error                  // returns why the tool is no longer the one that was called; may be nil
	Admitted  func() error                  // returns why the host is no longer admitted; nil if it needs no credential
	Moved     func() tools.Place            // where it runs by now; nil when that stays
	Unasked   bool                          // the call is denied where it would ask a person
	Fixed     bool                          // an approver cannot change the arguments, because they stand for more than what is sent

	read *facts.Call // cached by facts
}

// NewCall returns a call of tool by the session's host, with the raw arguments object, at place. It fails if the
// arguments are not a JSON object or can be read in more than one way. Then the call MUST NOT run.
func (s *Session) NewCall(tool *tools.Tool, arguments []byte, place tools.Place) (Call, error) {
	c := Call{
		ID: fmt.Sprintf("call_%x_%s", time.Now().Unix(), rand.Text()[:12]), SessionID: s.id, Agent: s.agent, Tool: tool, Place: place,
	}
	return c.withArguments(arguments)
}

// facts returns what the checks look at. It is computed once: copies of the call that are made later share it.
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

// changed returns why an approved call may not run any more, or nil.
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

// now is the call where it runs by now.
func (c Call) now() Call {
	if c.Moved != nil {
		c.Place, c.read = c.Moved(), nil
	}
	return c
}

// Thinks reports whether the call goes to the model of the session's host (sampling).
func (c *Call) Thinks() bool { return c.Tool != nil && c.Tool.Kind == tools.KindSampling }

// Redefinition says that a tool's definition is not the accepted one. The call is in quarantine until a person accepts
// it.
type Redefinition struct {
	Old json.RawMessage `json:"old,omitempty"` // the accepted definition; nil if there was none
	New json.RawMessage `json:"new"`
	Why string          `json:"why"`
}
