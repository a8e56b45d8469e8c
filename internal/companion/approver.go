package companion

import (
	"net/http"
	"net/url"
	"strings"

	"callgate/audit"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
)

// restClient is how the audit trail names an approver that came by REST and did not say who it is.
const restClient = "rest"

// authorOf is how the audit trail names who sent a REST request that approver let pass, and where from.
func authorOf(r *http.Request) audit.Author {
	who := audit.Author{By: restClient, From: hub.ClientAddress(r)}
	if client, named := clientOf(r); named {
		who.By = approverName(client)
	}
	return who
}

func clientOf(r *http.Request) (client wire.ClientInfo, named bool) {
	header := r.Header.Get(wire.ClientHeader)
	kind, name, _ := strings.Cut(header, ":")
	if decoded, err := url.PathUnescape(name); err == nil {
		name = decoded
	}
	return wire.ClientInfo{Kind: kind, Name: name}, header != ""
}
