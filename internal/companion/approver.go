package companion

import (
	"net/http"
	"strings"
)

// clientHeader says in a REST request who sends it, "kind:name", as hello does for a WebSocket: "web:alice".
const clientHeader = "Callgate-Client"

// restClient is how the audit trail names an approver that came by REST and did not say who it is.
const restClient = "rest"

// approverOf is how the audit trail names who sent a REST request that approver let pass.
func approverOf(r *http.Request) string {
	client, named := clientOf(r)
	if !named {
		return restClient
	}
	return approverName(client)
}

func clientOf(r *http.Request) (client ClientInfo, named bool) {
	header := r.Header.Get(clientHeader)
	client.Kind, client.Name, _ = strings.Cut(header, ":")
	return client, header != ""
}
