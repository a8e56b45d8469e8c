package endpoint

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/proxy"
)

// Principal names who sends a request, as far as the door can tell. Sessions, tasks and handles belong to the
// principal that began them.
type Principal string

// Guest is who sends a request, and which tenants the credential names.
type Guest struct {
	Principal
	Tenants []string

	until  time.Time // when the credential ends by itself; zero for never
	secret secretSum // that it is; zero for one that ends by itself
}

// secretSum stands for a secret.
type secretSum [sha256.Size]byte

// Door says who may come in.
type Door interface {
	// Admit returns who sends the request; the error says what is wrong with the credential.
	Admit(r *http.Request) (Guest, error)

	knows(who Principal, tenant string) bool     // somebody of that name can still come in to the tenant, "" for none
	holding() func(who Guest) bool               // whether the credential by which a guest came in is good at this moment
	secrets() map[Principal]secretSum            // of all names, as they are now; nil if credentials end by themselves
	challenge(r *http.Request, why error) string // the WWW-Authenticate header for who was not let in
	routes(mux *http.ServeMux)                   // what hosts may read to learn how to get in
	open() bool                                  // everybody is let in
}

var (
	_ Door = Anyone{}
	_ Door = (*Tokens)(nil)
	_ Door = (*OAuth)(nil)
)

// Anyone admits everybody who can reach the server. It is refused where other machines can.
type Anyone struct{}

// anyone is everybody's name.
const anyone Principal = proxy.AnyPrincipal

// Admit lets in.
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
	Secret func() (string, error) // read again from time to time, so that a replaced one stops working; who gives it says why it fails
	Tenant string                 // that it is for; "" for none
}

// Tokens admits hosts that bring one of the secrets as a Bearer token.
type Tokens struct {
	of []Token

	mu   sync.Mutex
	read time.Time
	hash []secretSum // of each secret; zero, which is that of none, if it cannot be read
}

// fresh is how long secrets are believed to be the same.
const fresh = time.Second

// NewTokens returns a door for the holders of the tokens.
func NewTokens(of ...Token) *Tokens { return &Tokens{of: of} }

// whereTokens helps readers of callgate's log, and tells nothing to others.
const whereTokens = "callgate's log names the file with the token"

// Admit names the client whose token it is.
func (t *Tokens) Admit(r *http.Request) (Guest, error) {
	token, err := bearer(r)
	if err != nil {
		return Guest{}, fmt.Errorf("%w; %s", err, whereTokens)
	}
	hashes := t.hashes(fresh)
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range hashes { // all of them, in the same time
		if subtle.ConstantTimeCompare(sum[:], hashes[i][:]) == 1 {
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

// hashes are of the secrets as they were that long ago, or later.
func (t *Tokens) hashes(ago time.Duration) []secretSum {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hash != nil && time.Since(t.read) < ago {
		return t.hash
	}
	hash := make([]secretSum, len(t.of))
	for i, one := range t.of {
		secret, err := one.Secret()
		if err != nil { // its client stays out, and the others do not suffer for it
			continue
		}
		hash[i] = sha256.Sum256([]byte(secret))
	}
	t.hash, t.read = hash, time.Now()
	return hash
}

func (t *Tokens) knows(who Principal, tenant string) bool {
	return slices.ContainsFunc(t.of, func(one Token) bool { return one.Name == who && (tenant == "" || one.Tenant == tenant) })
}

func (t *Tokens) holding() func(Guest) bool {
	now := t.secrets()
	return func(who Guest) bool {
		sum, known := now[who.Principal]
		return known && subtle.ConstantTimeCompare(sum[:], who.secret[:]) == 1
	}
}

func (t *Tokens) secrets() map[Principal]secretSum {
	all := map[Principal]secretSum{}
	for i, sum := range t.hashes(0) {
		all[t.of[i].Name] = sum
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
