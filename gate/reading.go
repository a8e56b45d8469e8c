package gate

import "callgate/gate/tools"

// DeniesReading reports whether a session may not read the file at that absolute path, by its worker's rules, its
// profile's rules or because no call may. It is for callgate's own tools, which read files without a call for each. A
// session that does not exist may read nothing.
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
