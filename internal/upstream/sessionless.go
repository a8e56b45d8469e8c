package upstream

import (
	"bytes"
	"context"

	"callgate/internal/jsonx"
)

// reconsider meets a server in the modern era that has just answered the handshake of the legacy one without beginning
// a session. Without one it can ask its host nothing there; in the modern era, where nobody keeps anything, it can. It
// reports false for a server that stays in the legacy era: it speaks no other, or nothing would be gained.
func (g *greeter) reconsider(ctx context.Context) bool {
	a, ok := g.in.link.(*address)
	if !ok || g.in.u.cfg.terms.Era != AnyEra || g.in.u.eraKnown || !a.endpoint.Sessionless() || !canBeAsked(g.hello.Capabilities) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, knownPatience)
	defer cancel()
	g.in.link.speak(modernVersion)
	m, err := g.in.conn.Request(ctx, "server/discover", discoverParams(g.hello))
	if err := g.acceptModern(m, err); err != nil {
		g.in.u.log.Debug("a server without sessions stays in the legacy era", "reason", err)
		return false
	}
	return true
}

// canBeAsked reports whether a host with these capabilities takes questions of servers.
func canBeAsked(capabilities []byte) bool {
	var asked [3]jsonx.Member
	if jsonx.Members(capabilities, []string{"elicitation", "sampling", "roots"}, asked[:]) != nil {
		return false
	}
	for _, m := range asked {
		if bytes.HasPrefix(m.Value, []byte("{")) {
			return true
		}
	}
	return false
}
