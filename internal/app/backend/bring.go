package backend

import (
	"callgate/internal/companion"
	"callgate/proxy"
)

// clientPart serves what clients do in sessions: bring tools, and chat with the model.
type clientPart struct{ b *Backend }

// Bring adds a client's server to a session.
func (p clientPart) Bring(sessionID string, s companion.Brought) (companion.Visit, error) {
	visit, err := p.b.Proxy.Bring(sessionID, proxy.Guest{Name: s.Server, By: s.By, Tools: s.Tools, Call: s.Call})
	if err != nil {
		return nil, err
	}
	return visit, nil
}
