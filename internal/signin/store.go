// Package signin gets callgate into MCP servers that want OAuth: a person signs in once with a browser, and what
// comes of it is kept in the data directory, for the server it was meant for and no other, and refreshed.
package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"callgate/internal/durable"
)

// login is what is kept of one sign-in.
type login struct {
	URL          string           `json:"url"` // of the server: the token is sent nowhere else
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	AuthMethod   string           `json:"authMethod,omitempty"`
	Challenge    []string         `json:"challenge,omitempty"` // with which the server said where to sign in
	Issued       string           `json:"issued"`              // by which address: refresh token and client secret are sent nowhere else
	Token        *transport.Token `json:"token"`
}

// early is how long before its end a token counts as expired: requests take time, and clocks differ.
const early = 30 * time.Second

// store is the file of one server's login. Processes share it; each refresh happens under a lock, because a
// refresh token may be good for one use.
type store struct {
	path string
	url  string

	mu    sync.Mutex
	read  time.Time // of the file that known was read from
	known *login
}

var _ transport.TokenStore = (*store)(nil)

func (s *store) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, err
	}
	release, err := durable.Lock(ctx, s.path+".lock")
	if err != nil {
		return nil, fmt.Errorf("the login cannot be locked: %w", err)
	}
	return func() { _ = release() }, nil // the end of the process unlocks it too
}

// load returns the login; fs.ErrNotExist when there is none for the server's address.
func (s *store) load() (*login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	if s.known != nil && info.ModTime().Equal(s.read) {
		return s.known, nil
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	var l login
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.path, err)
	}
	if l.URL != s.url || l.Token == nil {
		return nil, fmt.Errorf("the login is one for another address: %w", fs.ErrNotExist)
	}
	s.known, s.read = &l, info.ModTime()
	return &l, nil
}

// save replaces the file. The lock is held.
func (s *store) save(l *login) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.Replace(s.path, text, 0o600); err != nil {
		return err
	}
	s.known = nil
	return nil
}

// GetToken is called by the library before each request, and again when it refreshes.
func (s *store) GetToken(ctx context.Context) (*transport.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := s.load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, transport.ErrNoToken
	}
	if err != nil {
		return nil, err
	}
	token := *l.Token
	if !token.ExpiresAt.IsZero() {
		token.ExpiresAt = token.ExpiresAt.Add(-early)
	}
	return &token, nil
}

// SaveToken is called by the library after a refresh. The lock is held.
func (s *store) SaveToken(ctx context.Context, token *transport.Token) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, err := s.load()
	if err != nil {
		return err
	}
	next := *l
	fresh := *token
	if fresh.RefreshToken == "" { // a server that does not rotate it need not repeat it
		fresh.RefreshToken = l.Token.RefreshToken
	}
	next.Token = &fresh
	return s.save(&next)
}
