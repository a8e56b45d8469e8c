package endpoint

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// outOfReach are replicas at which a request ends before it arrives.
type outOfReach struct {
	Replicas
	end func()
}

func (o outOfReach) DialHosts(context.Context, string, string) (net.Conn, error) {
	o.end()
	return nil, errors.New("nobody is there")
}

// A host that is not let in any more while its request is passed on is told so, instead of getting an empty success.
func TestExpelledWhileARequestIsPassedOn(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	newRelay(outOfReach{end: end}, slog.New(slog.DiscardHandler)).passOn(visit{w: w, r: httptest.NewRequestWithContext(ctx, "POST", "/mcp", nil)}, "other", "1", home{request: []byte("1")})
	if w.Code != http.StatusUnauthorized {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}
