package gate

import "callgate/gate/tools"

// DeniesReading reports whether a session may not read the file at that absolute path: whatever its worker's rules
// or the rules of its profile deny read_file there, and what no call may touch. It is for callgate's own tools,
// which read files without a call for each. A session that is not there may read nothing.
func (g *Gate) DeniesReading(sessionID, path string, place tools.Place) bool {
	s, err := g.session(sessionID)
	if err != nil {
		return true
	}
	policy, err := s.policy(s.agent)
	if err != nil {
		return true
	}
	j := Judge{Policy: policy, Protected: g.protected.Load()}
	return j.deniesReading(path, Call{Place: place})
}
