//go:build !opa

package policy

import (
	"errors"
	"time"

	"callgate/gate"
)

// OpenRego refuses: OPA is as large as a third of callgate, so only builds with the tag opa hold it.
func OpenRego(string, time.Duration) (gate.Advisor, error) {
	return nil, errors.New("this callgate was built without OPA; build one with it: make build TAGS=opa, or go build -tags opa ./cmd/callgate")
}
