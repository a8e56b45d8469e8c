package companion

import (
	"net/http"

	"callgate/docs"
)

// handleSchema serves the schema of the protocol. It is the same for everybody and holds no secret, so no
// credential is asked for.
func handleSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(docs.ProtocolSchema) // a client that is gone gets nothing
}
