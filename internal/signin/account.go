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

// Grant is how callgate comes by a token.
type Grant uint8

const (
	Person            Grant = iota // a person signs in with a browser
	ClientCredentials              // callgate shows what it is: a secret, or a signature with its key
	Workload                       // callgate shows what the machine was given to tell who it is (RFC 7523)
)

// Server is an MCP server to sign in to.
type Server struct {
	Name string // the alias, which names the file
	URL  string

	Grant Grant

	// ClientID and ClientSecret are of a client that the authorization server knows. Without them callgate is what
	// the document at ClientMetadata says, where the server takes such, or registers itself where it allows that.
	ClientID, ClientSecret string
	ClientMetadata         string // an https address; "" for none
	Key                    string // a file with the key that the client signs with instead of showing a secret; "" for none
	Assertion              string // a file with the token of the workload, read again for each use

	Issuer string   // the only authorization server that may learn of these; "" for whichever the server names
	Scopes []string // what to ask for; nil for what the server names
}

// Shared keeps logins for several machines.
type Shared interface {
	// Lock waits until no other machine renews the login in a file, and puts into the file what they have. The caller
	// holds the file's lock. By the deadline it asks for nothing any more, and then it calls done, which gives the others
	// what the file holds.
	Lock(ctx context.Context, file string) (until time.Time, done func(), err error)
}

// Share shares the login with other machines. Call it before the account is used.
func (a *Account) Share(s Shared) { a.shared = s }

// Account is callgate's login at one server. It may be used by many goroutines at once.
type Account struct {
	server Server
	store  *store
	shared Shared // nil on one machine

	refreshing sync.Mutex
	missing    atomic.Pointer[string] // the header that was no good when a person was last needed
}

// New returns the account whose login is kept in dataDir.
func New(dataDir string, s Server) *Account {
	return &Account{server: s, store: &store{path: file(dataDir, s.Name), url: s.URL}}
}

// Authorize returns the Authorization header for the server; "" when nobody has signed in. refused is what the
// server has said to a request; nil before. A header that it did not take is not returned again, unless there is
// nothing that signing in could change. It satisfies remote.Config.Authorize.
func (a *Account) Authorize(ctx context.Context, refused *remote.Refusal) (string, error) {
	if refused == nil && a.store.absent() {
		return "", nil
	}
	l, err := a.store.load()
	switch {
	case errors.Is(err, fs.ErrNotExist) && refused == nil:
		return "", nil
	case errors.Is(err, fs.ErrNotExist) && a.server.Grant == Person:
		a.miss(nil)
		return "", a.store.remember(ctx, refused)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case a.good(l, refused):
		return bearer(l.Token), nil
	case refused != nil && !refused.Unknown() && len(read(refused.Challenge).lacking(l.Scopes)) == 0:
		return refused.Credential, nil
	}
	return a.renewed(ctx, refused)
}

// renewed returns the header with a new token for what was refused or has expired. One process renews at a time.
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

// lockShared waits until no other machine renews the login.
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

// renewedAlone is renewed while nobody else renews the login. A refresh token may be good for one use only, so a caller
// that stops waiting MUST NOT end ctx, or the new token is lost.
func (a *Account) renewedAlone(ctx context.Context, refused *remote.Refusal) (string, error) {
	before, err := a.store.load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if before != nil && a.good(before, refused) { // another process was here
		return bearer(before.Token), nil
	}
	after, err := a.renew(ctx, before, refused)
	switch {
	case err != nil && !passes(err):
		a.miss(before)
		return "", err
	case err != nil:
		return "", err
	case after == nil:
		return "", nil
	}
	return bearer(after.Token), a.store.save(after)
}

// good reports whether to send the login's token, given the server's last answer.
func (a *Account) good(l *login, refused *remote.Refusal) bool {
	return fresh(l.Token) && (refused == nil || bearer(l.Token) != refused.Credential)
}

// renew gets another token than that of the login, nil for none: itself, or with what a person has allowed. The lock
// is held.
func (a *Account) renew(ctx context.Context, before *login, refused *remote.Refusal) (*login, error) {
	switch {
	case a.server.Grant != Person && refused == nil && a.lasting(before):
		return a.again(ctx, before)
	case a.server.Grant != Person:
		return a.introduce(ctx, challenged(refused), before)
	case before == nil: // forgotten meanwhile
		return nil, nil
	case refused != nil && !refused.Unknown():
		return nil, a.widen(before, refused)
	}
	return a.refresh(ctx, before, refused)
}

// miss notes that a person, or another try, is needed to replace the login; nil for none.
func (a *Account) miss(l *login) {
	header := ""
	if l != nil {
		header = bearer(l.Token)
	}
	a.missing.Store(&header)
}

// Await returns nil when there is another login than the one that was last no good or, where no person signs in, it is
// time to try again; else an error, when ctx ends. It satisfies upstream.Config.Await.
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

// How often a login is looked for that a person makes, and after what time an authorization server that gave callgate
// none is asked again.
const (
	every = 500 * time.Millisecond
	retry = 30 * time.Second
)

// renewal bounds how long a token is waited for that no person is needed for.
const renewal = time.Minute

// widen remembers that the server wants more than a person has allowed, which is an error until they have.
func (a *Account) widen(l *login, refused *remote.Refusal) error {
	more := strings.Join(read(refused.Challenge).lacking(l.Scopes), " ")
	return errors.Join(
		fmt.Errorf("the server wants more than the login allows (%s): sign in again with \"callgate login %s\"", excerpt(more), a.server.Name),
		a.store.keepDemand(refused),
	)
}

// refresh gets another token for the login, at the authorization server that it is of. The lock is held.
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

// SignedIn tells until when the token is good that is there now, zero for one without an end. ok is false when
// nobody has signed in.
func (a *Account) SignedIn() (until time.Time, ok bool) {
	l, err := a.store.load()
	if err != nil {
		return time.Time{}, false
	}
	return l.Token.Expiry, true
}

// Forget removes the login of the server with the alias, whatever its address, when nobody renews it any more. ok is
// false when there was none.
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

// file is where the login of the server with the alias is.
func file(dataDir, alias string) string { return filepath.Join(Dir(dataDir), alias+".json") }

// Dir is the folder of logins.
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

// excerpt is the beginning of text of a server, on one line, as it is safe to show.
func excerpt(text string) string {
	return visible.Text(visible.Shorten(strings.Join(strings.Fields(text), " "), 300))
}
