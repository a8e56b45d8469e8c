package endpoint

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/proxy"
)

// Principal names the sender of a request, as far as the door can tell. Sessions, tasks and handles belong to the
// principal that began them.
type Principal string

// Guest is the sender of a request, with the tenants that its credential names.
type Guest struct {
	Principal
	Tenants []string

	until  time.Time // when the credential expires; zero means never
	secret secretSum // hash of the credential; zero for one that expires
}

// secretSum is the hash of a secret.
type secretSum [sha256.Size]byte

// Door decides who may come in.
type Door interface {
	// Admit returns who sends the request, or an error that says what is wrong with the credential.
	Admit(r *http.Request) (Guest, error)

	knows(who Principal, tenant string) bool     // whether somebody of that name can still come in to the tenant; "" means none
	holding() func(who Guest) bool               // returns whether a guest's credential is valid at this moment
	secrets() map[Principal]secretSum            // hash of each name's secret for hosts that are in, or zero; nil if credentials expire by themselves
	challenge(r *http.Request, why error) string // the WWW-Authenticate header for a refused request
	routes(mux *http.ServeMux)                   // adds what hosts may read to learn how to get in
	open() bool                                  // whether everybody is admitted
}

var (
	_ Door = Anyone{}
	_ Door = (*Tokens)(nil)
	_ Door = (*OAuth)(nil)
)

// Anyone admits everybody who can reach the server. It is refused where other machines can.
type Anyone struct{}

// anyone is the name of every host.
const anyone Principal = proxy.AnyPrincipal

// Admit admits every request.
func (Anyone) Admit(*http.Request) (Guest, error) { return Guest{Principal: anyone}, nil }

func (Anyone) knows(who Principal, _ string) bool { return who == anyone }
func (Anyone) holding() func(Guest) bool {
	return func(who Guest) bool { return who.Principal == anyone }
}
func (Anyone) secrets() map[Principal]secretSum      { return nil }
func (Anyone) challenge(*http.Request, error) string { return "Bearer" }
func (Anyone) routes(*http.ServeMux)                 {}
func (Anyone) open() bool                            { return true }

// Token is a secret of one client.
type Token struct {
	Name   Principal
	Secret func() (string, error) // called from time to time, so that a replaced secret stops working
	Tenant string                 // the tenant that it is for; may be ""
}

// Tokens admits hosts that bring one of the secrets as a Bearer token.
type Tokens struct {
	of []Token

	mu    sync.Mutex
	read  time.Time
	known []known // one for each token
}

// known is the state of a secret.
type known struct {
	sum     secretSum // zero, which no secret has, if it cannot be read
	held    secretSum // that of the hosts that are in; it stays for a while if the secret cannot be read
	failing time.Time // since when the secret cannot be read; zero if it can
}

const (
	fresh     = time.Second      // how long secrets are assumed to be unchanged
	unreadFor = 10 * time.Second // how long an unreadable secret is not taken to be gone
)

// NewTokens returns a door for the holders of the tokens.
func NewTokens(of ...Token) *Tokens { return &Tokens{of: of} }

// whereTokens helps readers of callgate's log, and tells nothing to others.
const whereTokens = "callgate's log, or mcpTokens in its configuration, names the file with the token"

// Admit returns the client that the token belongs to.
func (t *Tokens) Admit(r *http.Request) (Guest, error) {
	token, err := bearer(r)
	if err != nil {
		return Guest{}, fmt.Errorf("%w; %s", err, whereTokens)
	}
	secrets := t.look(fresh)
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range secrets { // compare with all of them, in constant time
		if subtle.ConstantTimeCompare(sum[:], secrets[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Guest{}, errors.New("unknown Bearer token; " + whereTokens)
	}
	who := Guest{Principal: t.of[found].Name, secret: sum}
	if tenant := t.of[found].Tenant; tenant != "" {
		who.Tenants = []string{tenant}
	}
	return who, nil
}

// look returns the state of the secrets, no older than ago.
func (t *Tokens) look(ago time.Duration) []known {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.known != nil && now.Sub(t.read) < ago {
		return t.known
	}
	next := make([]known, len(t.of))
	copy(next, t.known)
	for i, one := range t.of {
		secret, err := one.Secret()
		next[i].learn(secret, err, now)
	}
	t.known, t.read = next, now
	return next
}

// learn notes the result of reading the secret. Nobody comes in without a readable secret. Hosts that are in stay while
// the secret may still exist: a process without free descriptors, or a volume that comes back, revokes no token.
func (k *known) learn(secret string, err error, now time.Time) {
	if err == nil {
		sum := sha256.Sum256([]byte(secret))
		*k = known{sum: sum, held: sum}
		return
	}
	if k.sum = (secretSum{}); k.failing.IsZero() {
		k.failing = now
	}
	_, unread := errors.AsType[*fs.PathError](err)
	if !unread || errors.Is(err, fs.ErrNotExist) || now.Sub(k.failing) >= unreadFor {
		k.held = secretSum{}
	}
}

func (t *Tokens) knows(who Principal, tenant string) bool {
	return slices.ContainsFunc(t.of, func(one Token) bool { return one.Name == who && (tenant == "" || one.Tenant == tenant) })
}

func (t *Tokens) holding() func(Guest) bool {
	now := t.held(0)
	return func(who Guest) bool {
		sum, listed := now[who.Principal]
		return listed && subtle.ConstantTimeCompare(sum[:], who.secret[:]) == 1
	}
}

// secrets returns the secrets that holding used, if that was called just before.
func (t *Tokens) secrets() map[Principal]secretSum { return t.held(fresh / 2) }

// held returns the secrets of the hosts that are in, by name, no older than ago.
func (t *Tokens) held(ago time.Duration) map[Principal]secretSum {
	all := map[Principal]secretSum{}
	for i, one := range t.look(ago) {
		all[t.of[i].Name] = one.held
	}
	return all
}

func (*Tokens) challenge(*http.Request, error) string { return `Bearer realm="callgate"` }
func (*Tokens) routes(*http.ServeMux)                 {}
func (*Tokens) open() bool                            { return false }

// bearer returns the Bearer token of the request.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", errors.New("send an Authorization: Bearer header")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) != 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errors.New("the Authorization header is not one Bearer token")
	}
	return token, nil
}
