package rpc

// A connection without a reader gets its messages from a transport that has no order, such as HTTP, where each answer
// comes on its own stream. NewConn then takes a nil reader, and Run is not called. The transport MUST call Deliver for
// one message at a time.

// Deliver passes on one message as Run does a line.
func (c *Conn) Deliver(message []byte, handle func(Message)) { c.dispatch(message, true, handle) }

// Fail ends the wait for the answer to the request with that id, with err as the reason. It returns false if nobody
// waits.
func (c *Conn) Fail(id []byte, err error) bool { return c.asked.end(id, answer{err: err}) != nil }

// Waiting reports whether somebody waits for the answer to the request with that id.
func (c *Conn) Waiting(id []byte) bool { return c.asked.waiting(id) }

// Abandon tells all current and future callers that no answer will come.
func (c *Conn) Abandon() { c.asked.Abandon() }
