package gate

import "callgate/gate/tools"

// Changes compares what a pending call would write with the files as they are now, for approvers. It hides what the
// rules keep from being read. It returns ErrNotPending when the approval is over.
func (g *Gate) Changes(id string) ([]tools.FileChange, error) {
	g.mu.Lock()
	a, ok := g.pending[id]
	if !ok {
		g.mu.Unlock()
		return nil, ErrNotPending
	}
	call, analysis, session := a.call, a.verdict.Analysis, a.session
	g.mu.Unlock()
	hidden := func(path string) bool { return g.HidesFile(session, call.Place, path) }
	return tools.Changes(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, analysis, hidden), nil
}
