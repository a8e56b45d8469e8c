package upstream

import (
	"bytes"
	"context"

	"callgate/internal/jsonx"
)

// reconsider meets a server in the modern era that has answered the legacy handshake without beginning a session.
// Without a session the server cannot ask its host anything; in the modern era, which needs none, it can. It returns
// false for a server that stays in the legacy era, because it speaks no other or gains nothing.
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

// canBeAsked reports whether a host with these capabilities takes questions from servers.
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
