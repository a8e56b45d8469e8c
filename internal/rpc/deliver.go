package rpc

// A connection without a reader gets its messages from a transport that has none of its own order: HTTP, where
// each answer comes on a stream of its own. NewConn takes a nil reader then, Run is not called, and the
// transport MUST call Deliver for one message at a time.

// Deliver hands on one message as Run does with a line.
func (c *Conn) Deliver(message []byte, handle func(Message)) { c.dispatch(message, true, handle) }

// Fail ends the wait for the answer to the request with that id: none will come, and err says why. It is false
// when nobody waits.
func (c *Conn) Fail(id []byte, err error) bool { return c.asked.end(id, answer{err: err}) != nil }

// Waiting reports whether somebody waits for the answer to the request with that id.
func (c *Conn) Waiting(id []byte) bool { return c.asked.waiting(id) }

// Abandon tells everybody who waits, and who will, that no answer comes any more.
func (c *Conn) Abandon() { c.asked.Abandon() }
