package load

// Memory is the resident set of one process, in bytes.
type Memory struct {
	Now  int64
	Peak int64
}

// Memory returns the resident set of the server's own process, without its children. ok is false where the system
// does not tell.
func (c *Client) Memory() (m Memory, ok bool) { return MemoryOf(c.cmd.Process.Pid) }

// MemoryOf is Memory for any process.
func MemoryOf(pid int) (m Memory, ok bool) { return memoryOf(pid) }
