// Package signin signs callgate in to MCP servers that want OAuth.
//
// A person signs in once with a browser, or callgate proves its own identity. The login is stored in the data directory
// for the server it was meant for and no other, and is refreshed.
package signin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"callgate/internal/durable"
	"callgate/internal/remote"
)

// login is what is kept of one sign-in.
type login struct {
	URL      string   `json:"url"` // of the server: the token is sent nowhere else
	Resource string   `json:"resource,omitempty"`
	Scopes   []string `json:"scopes,omitempty"` // that were asked for

	// The authorization server: nobody else learns of the client's secret and the refresh token, whomever the server
	// names later.
	Issuer        string `json:"issuer"`
	TokenEndpoint string `json:"tokenEndpoint"`

	Client client        `json:"client"`
	Token  *oauth2.Token `json:"token"`
}

// demand is what the server said when it refused what callgate has: what the next sign-in asks for.
type demand struct {
	URL       string   `json:"url"`
	Challenge []string `json:"challenge"`
}

// early is how long before its end a token counts as expired: requests take time, and clocks differ.
const early = 30 * time.Second

// Limits for what is kept of a server's challenge.
const (
	maxChallenges = 8
	maxChallenge  = 4 << 10
)

// store is the file of one server's login, and beside it what the server wants of the next one. Processes share
// them; each refresh happens under a lock, because a refresh token may be good for one use.
type store struct {
	path string
	url  string

	mu    sync.Mutex
	read  durable.Stamp // of the file that known was read from
	known *login
	none  time.Time // when there was no file
}

// look is how often a file is looked for that is not there. A server that wants a login meanwhile refuses the request,
// and then it is looked for at once.
const look = time.Second

// absent reports whether there was no login a moment ago.
func (s *store) absent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.none) < look
}

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
	now, err := durable.LookThrough(s.path)
	s.none = time.Time{}
	if errors.Is(err, fs.ErrNotExist) {
		s.none = time.Now()
	}
	if err != nil {
		return nil, err
	}
	if s.known != nil && now.Same(s.read) {
		return s.known, nil
	}
	text, err := durable.ReadFile(s.path, maxLogin)
	if err != nil {
		return nil, err
	}
	var l login
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", s.path, err)
	}
	if l.URL != s.url || l.Token == nil {
		return nil, fmt.Errorf("the login is for another address: %w", fs.ErrNotExist)
	}
	s.known, s.read = &l, now
	return &l, nil
}

// save replaces the file. The lock is held.
func (s *store) save(l *login) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := durable.SaveJSON(s.path, l); err != nil {
		return err
	}
	s.known, s.none = nil, time.Time{}
	return nil
}

// remember keeps the server's demand.
func (s *store) remember(ctx context.Context, refused *remote.Refusal) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.keepDemand(refused)
}

// keepDemand keeps what the server said, nil for nothing. The lock is held.
func (s *store) keepDemand(refused *remote.Refusal) error {
	if refused == nil {
		return nil
	}
	d := demand{URL: s.url}
	for _, header := range refused.Challenge[:min(len(refused.Challenge), maxChallenges)] {
		d.Challenge = append(d.Challenge, strings.ToValidUTF8(header[:min(len(header), maxChallenge)], ""))
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if have, err := durable.ReadFile(s.demandPath(), maxLogin); err == nil && bytes.Equal(have, text) {
		return nil
	}
	return durable.Replace(s.demandPath(), text, 0o600)
}

// maxLogin bounds a file of a login, in bytes.
const maxLogin = 1 << 20

// demanded returns the challenge of the server's demand; ok is false when there is none.
func (s *store) demanded() (challenge []string, ok bool, err error) {
	text, err := durable.ReadFile(s.demandPath(), maxLogin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var d demand
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, false, fmt.Errorf("%s cannot be read: %w", s.demandPath(), err)
	}
	return d.Challenge, d.URL == s.url, nil
}

func (s *store) dropDemand() error {
	if err := os.Remove(s.demandPath()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// demandPath has an ending that no alias can have, so that it is no other server's login.
func (s *store) demandPath() string { return strings.TrimSuffix(s.path, ".json") + ".demand.json" }
