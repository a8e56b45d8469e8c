package companion

import (
	"strings"

	"callgate/gate/tools"
)

func checkClient(c ClientInfo) *refusal {
	switch c.Kind {
	case "web", "tui", "custom":
	default:
		return refuse(CodeBadMessage, "client.kind must be web, tui or custom")
	}
	if strings.TrimSpace(c.Name) == "" {
		return refuse(CodeBadMessage, "client.name is missing: the audit trail names the approver by it")
	}
	return nil
}

// approverName is how the audit trail names a client. The kind in front keeps a client from passing for
// a rule or a grant.
func approverName(c ClientInfo) string { return c.Kind + ":" + shortName(c.Name) }

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
