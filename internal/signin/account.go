package signin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// Server is an MCP server to sign in to.
type Server struct {
	Name string // the alias, which names the file
	URL  string

	// ClientID and ClientSecret are of a client that the authorization server knows; without them callgate
	// registers itself where the server allows that.
	ClientID, ClientSecret string
	Scopes                 []string
}

// Account is callgate's login at one server. It may be used by many goroutines at once.
type Account struct {
	server Server
	store  *store

	refreshing sync.Mutex
}

// New returns the account whose login is kept in dataDir.
func New(dataDir string, s Server) *Account {
	return &Account{server: s, store: &store{path: file(dataDir, s.Name), url: s.URL}}
}

// Authorize returns the Authorization header for the server; "" when nobody has signed in. refused is a header that
// the server did not take, "" for none: it is not returned again. It satisfies remote.Config.Authorize.
func (a *Account) Authorize(ctx context.Context, refused string) (string, error) {
	l, err := a.store.load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case fresh(l.Token) && bearer(l.Token) != refused:
		return bearer(l.Token), nil
	}
	a.refreshing.Lock()
	defer a.refreshing.Unlock()
	unlock, err := a.store.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if l, err = a.store.load(); err != nil {
		return "", err
	}
	if fresh(l.Token) && bearer(l.Token) != refused { // another process has refreshed it
		return bearer(l.Token), nil
	}
	if l.Token.RefreshToken == "" {
		return "", errors.New("the login has expired")
	}
	token, err := a.refresh(ctx, l)
	if err != nil {
		return "", fmt.Errorf("the login cannot be refreshed: %w", brief(err))
	}
	return bearer(token), nil
}

// refresh gets another token from who gave the first. Where that is, is the server's word each time anew: one that
// has changed its mind, or its owner, does not get what another gave.
func (a *Account) refresh(ctx context.Context, l *login) (*transport.Token, error) {
	h := a.handler(l, "")
	metadata, err := h.GetServerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	if metadata.TokenEndpoint != l.Issued {
		return nil, errors.New("the server names another address for it than the one that gave the login: sign in again if that is right")
	}
	return h.RefreshToken(ctx, l.Token.RefreshToken)
}

func fresh(t *transport.Token) bool {
	return t.AccessToken != "" && (t.ExpiresAt.IsZero() || time.Until(t.ExpiresAt) > early)
}

func bearer(t *transport.Token) string {
	kind := t.TokenType
	if kind == "" || strings.EqualFold(kind, "bearer") {
		kind = "Bearer"
	}
	return kind + " " + t.AccessToken
}

// SignedIn tells until when the token is good that is there now, zero for one without an end. ok is false when
// nobody has signed in.
func (a *Account) SignedIn() (until time.Time, ok bool) {
	l, err := a.store.load()
	if err != nil {
		return time.Time{}, false
	}
	return l.Token.ExpiresAt, true
}

// Forget removes the login of the server with the alias, whatever its address. ok is false when there was none.
func Forget(dataDir, alias string) (ok bool, err error) {
	err = os.Remove(file(dataDir, alias))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// file is where the login of the server with the alias is.
func file(dataDir, alias string) string { return filepath.Join(dataDir, "logins", alias+".json") }

// handler is the library's view of the login.
func (a *Account) handler(l *login, redirect string) *transport.OAuthHandler {
	h := transport.NewOAuthHandler(transport.OAuthConfig{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret, TokenEndpointAuthMethod: l.AuthMethod,
		RedirectURI: redirect, Scopes: a.server.Scopes, TokenStore: a.store, PKCEEnabled: true,
		HTTPClient: newClient(a.server.URL),
	})
	h.SetBaseURL(a.server.URL)
	h.HandleUnauthorizedResponse(&http.Response{Header: http.Header{"Www-Authenticate": l.Challenge}})
	return h
}

// brief is the beginning of an error that may quote a server.
func brief(err error) error {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, err.Error())
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return errors.New(text)
}
