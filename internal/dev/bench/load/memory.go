package load

// Memory is the resident set of one process, in bytes.
type Memory struct {
	Now  int64
	Peak int64
}

// Memory returns the resident set of the server's process, without its children. ok is false if the system does not
// report it.
func (c *Client) Memory() (m Memory, ok bool) { return MemoryOf(c.cmd.Process.Pid) }

// MemoryOf returns the resident set of any process, like Client.Memory.
func MemoryOf(pid int) (m Memory, ok bool) { return memoryOf(pid) }
