package companion

import (
	"net/http"
	"net/url"
	"strings"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/companion/wire"
)

// fromHeader is where the hub says that the client of a request which it passes on came from.
const fromHeader = "Callgate-From"

// originOf is where the client of a request is, for the record: the address that it came from. The hub's word
// counts, a client's does not.
func originOf(r *http.Request) string {
	if membershipOf(r) != nil {
		return tools.Visible(r.Header.Get(fromHeader))
	}
	return r.RemoteAddr
}

// restClient is how the audit trail names an approver that came by REST and did not say who it is.
const restClient = "rest"

// authorOf is how the audit trail names who sent a REST request that approver let pass, and where from.
func authorOf(r *http.Request) audit.Author {
	who := audit.Author{By: restClient, From: originOf(r)}
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
