// Package signin signs callgate in to MCP servers that require OAuth.
//
// A person signs in once with a browser, or callgate proves its own identity. The login is stored in the data
// directory, is used only for its own server, and is refreshed when it expires.
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

// login is the stored result of a sign-in.
type login struct {
	URL      string   `json:"url"` // of the server; the token is sent nowhere else
	Resource string   `json:"resource,omitempty"`
	Scopes   []string `json:"scopes,omitempty"` // that were asked for

	// The authorization server. Nobody else gets the client's secret or the refresh token, even if the server names
	// another one later.
	Issuer        string `json:"issuer"`
	TokenEndpoint string `json:"tokenEndpoint"`

	Client client        `json:"client"`
	Token  *oauth2.Token `json:"token"`
}

// demand is the server's challenge from its last refusal. The next sign-in asks for it.
type demand struct {
	URL       string   `json:"url"`
	Challenge []string `json:"challenge"`
}

// early is how long before its expiry a token counts as expired: requests take time, and clocks differ.
const early = 30 * time.Second

// Limits of a stored challenge.
const (
	maxChallenges = 8
	maxChallenge  = 4 << 10
)

// store is the file of one server's login, and the file of the server's demand beside it. Processes share them. Each
// refresh holds a lock, because a refresh token may work only once.
type store struct {
	path string
	url  string

	mu    sync.Mutex
	read  durable.Stamp // stamp of the file that known was read from
	known *login
	none  time.Time // when the file was last found missing
}

// look is how long a missing file is taken to be missing. If the server refuses a request for want of a login, the file
// is checked at once.
const look = time.Second

// absent reports whether there was no login at the last look.
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

// load returns the login, which MUST NOT be changed. The error wraps fs.ErrNotExist if there is none for the URL.
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

// save replaces the file. The caller holds the lock.
func (s *store) save(l *login) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := durable.SaveJSON(s.path, l); err != nil {
		return err
	}
	s.known, s.none = nil, time.Time{}
	return nil
}

// remember locks the store and stores the server's demand.
func (s *store) remember(ctx context.Context, refused *remote.Refusal) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.keepDemand(refused)
}

// keepDemand stores the server's demand, unless refused is nil. The caller holds the lock.
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

// maxLogin bounds the files of a login, in bytes.
const maxLogin = 1 << 20

// demanded returns the challenge in the server's demand. ok is false if there is none.
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

// demandPath returns the path of the demand. No alias can have its ending, so it cannot be another server's login.
func (s *store) demandPath() string { return strings.TrimSuffix(s.path, ".json") + ".demand.json" }
