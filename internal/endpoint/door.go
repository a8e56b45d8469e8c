package endpoint

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Principal names who sends a request, as far as the door can tell. Sessions, tasks and handles belong to the
// principal that began them.
type Principal string

// Guest is who sends a request, and which tenants the credential names.
type Guest struct {
	Principal
	Tenants []string
}

// Door says who may come in.
type Door interface {
	// Admit returns who sends the request; the error says what is wrong with the credential.
	Admit(r *http.Request) (Guest, error)

	knows(who Principal, tenant string) bool // somebody of that name can still come in to the tenant, "" for none
	challenge(r *http.Request) string        // the WWW-Authenticate header for who was not let in
	routes(mux *http.ServeMux)               // what hosts may read to learn how to get in
	open() bool                              // everybody is let in
}

var (
	_ Door = Anyone{}
	_ Door = (*Tokens)(nil)
	_ Door = (*OAuth)(nil)
)

// Anyone admits everybody who can reach the server. It is refused where other machines can.
type Anyone struct{}

// anyone is everybody's name.
const anyone Principal = "anyone"

// Admit lets in.
func (Anyone) Admit(*http.Request) (Guest, error) { return Guest{Principal: anyone}, nil }

func (Anyone) knows(who Principal, _ string) bool { return who == anyone }
func (Anyone) challenge(*http.Request) string     { return "Bearer" }
func (Anyone) routes(*http.ServeMux)              {}
func (Anyone) open() bool                         { return true }

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
	hash [][sha256.Size]byte // of each secret; of one that cannot be read, of what nobody can know
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
	hashes := t.hashes()
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
	who := Guest{Principal: t.of[found].Name}
	if tenant := t.of[found].Tenant; tenant != "" {
		who.Tenants = []string{tenant}
	}
	return who, nil
}

func (t *Tokens) hashes() [][sha256.Size]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hash != nil && time.Since(t.read) < fresh {
		return t.hash
	}
	hash := make([][sha256.Size]byte, len(t.of))
	for i, one := range t.of {
		secret, err := one.Secret()
		if err != nil { // its client stays out, and the others do not suffer for it
			rand.Read(hash[i][:])
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

func (*Tokens) challenge(*http.Request) string { return `Bearer realm="callgate"` }
func (*Tokens) routes(*http.ServeMux)          {}
func (*Tokens) open() bool                     { return false }

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
