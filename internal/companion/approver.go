package companion

import (
	"net/http"
	"net/url"
	"strings"
)

// clientHeader says in a REST request who sends it, as hello does for a WebSocket: "kind:name", the name
// percent-encoded, as in "web:alice".
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
	kind, name, _ := strings.Cut(header, ":")
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	return ClientInfo{Kind: kind, Name: name}, header != ""
}
