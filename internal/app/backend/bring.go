package backend

import (
	"callgate/internal/companion"
	"callgate/proxy"
)

var _ companion.Bringer = (*Backend)(nil)

// Bring lets a client's server into a session.
func (b *Backend) Bring(sessionID string, s companion.Brought) (companion.Visit, error) {
	visit, err := b.Proxy.Bring(sessionID, proxy.Guest{Name: s.Server, By: s.By, Tools: s.Tools, Call: s.Call})
	if err != nil {
		return nil, err
	}
	return visit, nil
}
