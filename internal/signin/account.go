package signin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"callgate/internal/remote"
	"callgate/internal/visible"
)

// Grant says how callgate gets a token.
type Grant uint8

const (
	Person            Grant = iota // a person signs in with a browser
	ClientCredentials              // callgate proves its identity: with a secret, or with a signature by its key
	Workload                       // callgate shows the identity token that the machine was given (RFC 7523)
)

// Server is an MCP server to sign in to.
type Server struct {
	Name string // the alias; it names the file
	URL  string

	Grant Grant

	// ClientID and ClientSecret belong to a client that the authorization server knows. Without them callgate uses the
	// document at ClientMetadata if the server accepts such documents, or registers itself if the server allows it.
	ClientID, ClientSecret string
	ClientMetadata         string // an https URL; "" for none
	Key                    string // file with the key that the client signs with instead of using a secret; "" for none
	Assertion              string // file with the workload's token, read again for each use

	Issuer string   // the only authorization server that may get these; "" for any that the server names
	Scopes []string // to ask for; nil for the scopes that the server names
}

// Shared shares logins between several machines.
type Shared interface {
	// Lock waits until no other machine renews the login in a file, and updates the file with their version. The caller
	// MUST hold the file's lock. It MUST stop its requests by until, and then call done, which gives the file's content
	// to the others.
	Lock(ctx context.Context, file string) (until time.Time, done func(), err error)
}

// Share shares the login with other machines. It MUST be called before the account is used.
func (a *Account) Share(s Shared) { a.shared = s }

// Account is callgate's login at one server. Many goroutines may use it at once.
type Account struct {
	server Server
	store  *store
	shared Shared // nil if there is only one machine

	refreshing sync.Mutex
	missing    atomic.Pointer[string] // the header that had failed when a person was last needed
}

// New returns the account for a server. Its login is stored in dataDir.
func New(dataDir string, s Server) *Account {
	return &Account{server: s, store: &store{path: file(dataDir, s.Name), url: s.URL}}
}

// Authorize returns the Authorization header for the server, or "" if nobody has signed in. refused is the server's
// refusal of a request; nil if there is none. A refused header is not returned again, unless signing in could not
// change anything. Authorize fits remote.Config.Authorize.
func (a *Account) Authorize(ctx context.Context, refused *remote.Refusal) (string, error) {
	if refused == nil && a.store.absent() {
		return "", nil
	}
	l, err := a.store.load()
	switch {
	case errors.Is(err, fs.ErrNotExist) && refused == nil:
		return "", nil
	case errors.Is(err, fs.ErrNotExist) && a.server.Grant == Person:
		a.noteMissing(nil)
		return "", a.store.remember(ctx, refused)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case a.usable(l, refused):
		return bearer(l.Token), nil
	case refused != nil && !refused.Unknown() && len(read(refused.Challenge).lacking(l.Scopes)) == 0:
		return refused.Credential, nil
	}
	return a.renewed(ctx, refused)
}

// renewed returns a header with a new token, after a refusal or expiry. Only one process renews at a time.
func (a *Account) renewed(ctx context.Context, refused *remote.Refusal) (string, error) {
	a.refreshing.Lock()
	defer a.refreshing.Unlock()
	unlock, err := a.store.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	until, done, err := a.lockShared(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	defer done()
	return a.renewedAlone(ctx, refused)
}

// lockShared waits until no other machine renews the login. It returns the deadline of the renewal.
func (a *Account) lockShared(ctx context.Context) (until time.Time, done func(), err error) {
	until = time.Now().Add(renewal)
	if a.shared == nil {
		return until, func() {}, nil
	}
	at, done, err := a.shared.Lock(ctx, a.store.path)
	if err != nil {
		err = &remote.PassingError{Err: fmt.Errorf("the login is shared with other replicas, and cannot be renewed now: %w", err)}
	}
	if at.Before(until) {
		until = at
	}
	return until, done, err
}

// renewedAlone is renewed while nobody else renews the login. A refresh token may work only once. So a caller that
// stops waiting MUST NOT end ctx, or the new token is lost.
func (a *Account) renewedAlone(ctx context.Context, refused *remote.Refusal) (string, error) {
	before, err := a.store.load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if before != nil && a.usable(before, refused) { // another process has renewed it
		return bearer(before.Token), nil
	}
	after, err := a.renew(ctx, before, refused)
	switch {
	case err != nil && !passes(err):
		a.noteMissing(before)
		return "", err
	case err != nil:
		return "", err
	case after == nil:
		return "", nil
	}
	return bearer(after.Token), a.store.save(after)
}

// usable reports whether to send the login's token, given the server's last refusal.
func (a *Account) usable(l *login, refused *remote.Refusal) bool {
	return fresh(l.Token) && (refused == nil || bearer(l.Token) != refused.Credential)
}

// renew returns a login with a new token, or nil if there is no login. It uses callgate's own identity or what a person
// has allowed. The caller holds the lock.
func (a *Account) renew(ctx context.Context, before *login, refused *remote.Refusal) (*login, error) {
	switch {
	case a.server.Grant != Person && refused == nil && a.reusable(before):
		return a.withNewToken(ctx, before)
	case a.server.Grant != Person:
		return a.introduce(ctx, challenged(refused), before)
	case before == nil: // forgotten in the meantime
		return nil, nil
	case refused != nil && !refused.Unknown():
		return nil, a.widen(before, refused)
	}
	return a.refresh(ctx, before, refused)
}

// noteMissing notes that a person or another try is needed to replace the login. l is nil if there is none.
func (a *Account) noteMissing(l *login) {
	header := ""
	if l != nil {
		header = bearer(l.Token)
	}
	a.missing.Store(&header)
}

// Await returns nil once there is another login than the last one that failed. Where no person signs in, it returns nil
// when it is time to try again. If ctx ends first, it returns an error. Await fits upstream.Config.Await.
func (a *Account) Await(ctx context.Context) error {
	look := time.NewTicker(every)
	defer look.Stop()
	again := time.NewTimer(retry)
	defer again.Stop()
	for {
		select {
		case <-look.C:
			missing := a.missing.Load()
			if l, err := a.store.load(); err == nil && missing != nil && fresh(l.Token) && bearer(l.Token) != *missing {
				return nil
			}
		case <-again.C:
			if a.server.Grant != Person {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// How often to look for a login made by a person, and how long to wait before asking an authorization server again that
// gave callgate no token.
const (
	every = 500 * time.Millisecond
	retry = 30 * time.Second
)

// renewal bounds the wait for a token that needs no person.
const renewal = time.Minute

// widen stores that the server wants more than a person has allowed. It always returns an error.
func (a *Account) widen(l *login, refused *remote.Refusal) error {
	more := strings.Join(read(refused.Challenge).lacking(l.Scopes), " ")
	return errors.Join(
		fmt.Errorf("the server wants more than the login allows (%s): sign in again with \"callgate login %s\"", excerpt(more), a.server.Name),
		a.store.keepDemand(refused),
	)
}

// refresh gets a new token for the login from its authorization server. The caller holds the lock.
func (a *Account) refresh(ctx context.Context, l *login, refused *remote.Refusal) (*login, error) {
	if l.Token.RefreshToken == "" || l.TokenEndpoint == "" {
		return nil, errors.Join(errors.New("the login has expired"), a.store.keepDemand(refused))
	}
	token, err := a.request(ctx, l, map[string]string{
		"grant_type": "refresh_token", "refresh_token": l.Token.RefreshToken, "resource": l.Resource,
	})
	if err != nil {
		err = fmt.Errorf("the login cannot be refreshed: %w", err)
		if passes(err) {
			return nil, err
		}
		return nil, errors.Join(err, a.store.keepDemand(refused))
	}
	if token.RefreshToken == "" { // a server that does not rotate it need not repeat it
		token.RefreshToken = l.Token.RefreshToken
	}
	next := *l
	next.Token = token
	return &next, nil
}

func fresh(t *oauth2.Token) bool {
	return t.AccessToken != "" && (t.Expiry.IsZero() || time.Until(t.Expiry) > early)
}

func bearer(t *oauth2.Token) string { return t.Type() + " " + t.AccessToken }

// SignedIn returns when the current token expires; zero means never. ok is false if nobody has signed in.
func (a *Account) SignedIn() (until time.Time, ok bool) {
	l, err := a.store.load()
	if err != nil {
		return time.Time{}, false
	}
	return l.Token.Expiry, true
}

// Forget removes the login of the server with the alias, whatever its URL. It waits for a running renewal. ok is false
// if there was no login.
func Forget(ctx context.Context, dataDir, alias string) (ok bool, err error) {
	s := &store{path: file(dataDir, alias)}
	unlock, err := s.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := s.dropDemand(); err != nil {
		return false, err
	}
	err = os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// file returns the path of the login for the server with the alias.
func file(dataDir, alias string) string { return filepath.Join(Dir(dataDir), alias+".json") }

// Dir returns the folder of logins.
func Dir(dataDir string) string { return filepath.Join(dataDir, "logins") }

// union returns the scopes of all lists, each once.
func union(lists ...[]string) (all []string) {
	for _, scope := range slices.Concat(lists...) {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// brief shortens an error that may quote a server. A temporary error stays temporary.
func brief(err error) error {
	short := errors.New(excerpt(err.Error()))
	if passes(err) {
		return &remote.PassingError{Err: short}
	}
	return short
}

func passes(err error) bool {
	_, ok := errors.AsType[*remote.PassingError](err)
	return ok
}

// excerpt returns the start of a server's text, on one line and safe to show.
func excerpt(text string) string {
	return visible.Text(visible.Shorten(strings.Join(strings.Fields(text), " "), 300))
}
