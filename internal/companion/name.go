package companion

import (
	"callgate/gate/tools"
	"callgate/internal/companion/wire"
)

// approverName is how the audit trail names a client. The kind in front keeps a client from passing for
// a rule or a grant.
func approverName(c wire.ClientInfo) string { return c.Kind + ":" + shortName(c.Name) }

// personName is how the audit trail names one of those for whom a client speaks.
func personName(client, person string) string {
	if person == "" {
		return client
	}
	return client + "/" + shortName(person)
}

func shortName(name string) string {
	short := []rune(tools.Visible(name))
	return string(short[:min(len(short), maxName)])
}
