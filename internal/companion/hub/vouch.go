package hub

import (
	"context"
	"net/http"

	"callgate/internal/companion/credentials"
)

type vouchedKey struct{}

// WithVouched returns the request with what its client may do here, as another companion of this process has found out.
// may is called each time, because credentials are rotated.
func WithVouched(r *http.Request, may func() credentials.Credential) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), vouchedKey{}, may))
}
