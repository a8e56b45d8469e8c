package backend

import (
	"callgate/internal/companion"
	"callgate/proxy"
)

// clientPart is what clients do in sessions: they bring tools, and chat with the model.
type clientPart struct{ b *Backend }

// Bring lets a client's server into a session.
func (p clientPart) Bring(sessionID string, s companion.Brought) (companion.Visit, error) {
	visit, err := p.b.Proxy.Bring(sessionID, proxy.Guest{Name: s.Server, By: s.By, Tools: s.Tools, Call: s.Call})
	if err != nil {
		return nil, err
	}
	return visit, nil
}
