package companion

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Pairing gives the web page a credential that nobody has to copy. "callgate open" holds the approve credential. It
// mints a code and puts it into the fragment of the page's address, which browsers never send. The page removes the
// fragment from the address and exchanges the code for the credential.
//
//   - Only the approve credential can mint. A code opens at most what it was minted for.
//   - A code is 32 random bytes, works once within codeLife, and is compared in constant time. Only its hash is kept,
//     in memory, so it ends with the process.
//   - Wrong codes are counted over all clients. After maxWrongCodes within wrongWhile, further ones are refused as
//     too many until that time is over. Guessing is hopeless anyway; the limit is there for its log line. The right
//     code is always accepted, because anybody on the machine can send wrong ones.
//   - A browser is started with the address in its arguments, which other users of the machine may see. So if the
//     system can tell which user is at the other end of a connection, it must not be another one.

const (
	codeLife      = time.Minute
	maxCodes      = 8 // unused codes at one time; the oldest gives way
	maxWrongCodes = 10
	wrongWhile    = time.Minute
)

// pairing is a code that can still be exchanged, and what it gives.
type pairing struct {
	hash       [sha256.Size]byte
	credential credentials.Credential
	tenant     string // the tenant of the credential; "" for none
	name       string // the person's name in the audit trail
	expires    time.Time
}

// pairings holds the unused codes. Its zero value is ready to use.
type pairings struct {
	mu    sync.Mutex
	open  []pairing // oldest first
	wrong int       // wrong codes since then
	since time.Time
}

// mint returns a new code.
func (p *pairings) mint(credential credentials.Credential, tenant, name string) string {
	var secret [credentials.TokenBytes]byte
	rand.Read(secret[:])
	code := base64.RawURLEncoding.EncodeToString(secret[:])
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	if len(p.open) == maxCodes {
		p.open = slices.Delete(p.open, 0, 1)
	}
	p.open = append(p.open, pairing{sha256.Sum256([]byte(code)), credential, tenant, name, time.Now().Add(codeLife)})
	return code
}

// redeem uses up a code. limited means that the code is wrong, after too many wrong ones.
func (p *pairings) redeem(code string) (found pairing, ok, limited bool) {
	hash := sha256.Sum256([]byte(code))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	at := -1
	for i := range p.open { // always all of them, to take constant time
		if subtle.ConstantTimeCompare(hash[:], p.open[i].hash[:]) == 1 {
			at = i
		}
	}
	switch {
	case at < 0 && p.wrong >= maxWrongCodes:
		return pairing{}, false, true
	case at < 0:
		if p.wrong == 0 {
			p.since = time.Now()
		}
		p.wrong++
		return pairing{}, false, false
	}
	found = p.open[at]
	p.open = slices.Delete(p.open, at, at+1)
	return found, true, false
}

// expire drops codes that are too old. The caller holds mu.
func (p *pairings) expire() {
	now := time.Now()
	p.open = slices.DeleteFunc(p.open, func(o pairing) bool { return !now.Before(o.expires) })
	if now.Sub(p.since) >= wrongWhile {
		p.wrong = 0
	}
}

// pairAPI serves pairing and proofs over REST.
type pairAPI struct {
	api
	tenantFront
	pairings *pairings
	log      *slog.Logger
}

func (s pairAPI) routes(path func(string, methods)) {
	path("/api/proof", methods{"GET": s.reply.of(s.proof)})
	path("/api/pair", methods{"POST": s.approver(reading(s.pair))})
	path("/api/pair/redeem", methods{"POST": s.reply.of(s.redeem)})
}

// pair mints a code. Its route needs approver.
func (s pairAPI) pair(r *http.Request, f wire.PairRequest) (any, error) {
	wanted := credentials.Credential(f.Credential)
	switch wanted.Role() {
	case "":
		wanted = credentials.View
	case credentials.View, credentials.Approve:
	default:
		return nil, badMessage("credential must be approve or view")
	}
	if person := hub.PersonOf(r); person != "" { // a person can hand on only their own credential, or the one to watch
		if f.Name = person; wanted.Role() == credentials.Approve {
			wanted = credentials.Credential("approve@" + person)
		} else {
			wanted, f.Name = credentials.View, "" // which is no proof of the name
		}
	} else if person := wanted.Person(); person != "" {
		f.Name = person
	} else if refused := s.may.refuseTaken(f.Name); refused != nil {
		return nil, failed(http.StatusForbidden, refused.Code, refused.Message)
	}
	name := []rune(tools.Visible(f.Name))
	code := s.pairings.mint(wanted, "", string(name[:min(len(name), maxName)]))
	s.log.Info("companion: pairing code created", "credential", wanted)
	minted := wire.PairCode{Code: code, ExpiresIn: int(codeLife.Seconds())}
	if d := hub.DoorOf(r); s.may.presenceOn() && d != nil && !d.Remote {
		minted.Host = "localhost" // browsers refuse passkeys for IP addresses
	}
	return minted, nil
}

// redeem exchanges a code for its credential. It needs no credential.
func (s pairAPI) redeem(r *http.Request) (any, error) {
	if !rest.JsonBody(r) {
		return nil, failed(http.StatusUnsupportedMediaType, wire.CodeBadMessage, "the body must be application/json")
	}
	if err := checkPeer(r); err != nil {
		s.log.Warn("companion: pairing refused", slog.Any("error", err))
		return nil, failed(http.StatusForbidden, wire.CodeUnauthorized, "only a browser of the user who runs callgate can pair")
	}
	var f struct {
		Code string `json:"code"`
	}
	if err := body(r, &f); err != nil {
		return nil, err
	}
	found, ok, limited := s.pairings.redeem(f.Code)
	switch {
	case limited:
		s.log.Warn("companion: pairing refused: too many wrong codes")
		return nil, failed(http.StatusTooManyRequests, wire.CodeUnauthorized, "too many wrong codes: wait a minute, then run callgate open again")
	case !ok:
		s.log.Warn("companion: pairing refused: the code is wrong, used or too old")
		return nil, failed(http.StatusUnauthorized, wire.CodeUnauthorized, "the code is wrong, was used already, or is older than a minute")
	}
	store, secret := s.credentials, string(found.credential)
	if found.tenant != "" {
		store, secret = s.storeOf(found.tenant), found.tenant+"/"+secret
	}
	token, err := store.Token(found.credential)
	if err != nil {
		return nil, err
	}
	s.log.Info("companion: page paired", "credential", found.credential, "name", found.name)
	return map[string]string{"token": token, "credential": string(found.credential.Role()), "secret": secret, "name": found.name}, nil
}

// checkPeer refuses a request if it is known to come from another user's process, or if it came through the hub.
func checkPeer(r *http.Request) error {
	door := hub.DoorOf(r)
	if door == nil {
		return errors.New("it came from the hub, and pairing is between the hub and a browser")
	}
	if door.Remote { // this machine has no record of the other end
		return nil
	}
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return err
	}
	server, err := netip.ParseAddrPort(door.Address)
	if err != nil {
		return err
	}
	return hub.OwnPeer(client, server)
}

// A client cannot know who listens at an announced address: callgate may have crashed, and another user's process may
// have taken the port. So before the Go client shows its credential, it asks for a proof that the other side holds the
// same one. The proof covers the address, so nobody can get one by relaying the question to the real companion at
// another port.

// proof answers GET /api/proof?credential=approve&nonce=HEX. It needs no credential, and is of no use without one.
func (s pairAPI) proof(r *http.Request) (any, error) {
	asked, nonce, store := r.URL.Query().Get("credential"), r.URL.Query().Get("nonce"), s.credentials
	if tenant, its, ok := strings.Cut(asked, "/"); ok && s.all() != nil {
		store, asked = s.storeOf(tenant), its
	}
	name := credentials.Credential(asked)
	switch name.Role() {
	case credentials.Approve, credentials.View, credentials.Tools, credentials.Prompt:
	default:
		return nil, badMessage("credential must be approve, view, tools or prompt")
	}
	if raw, err := hex.DecodeString(nonce); err != nil || len(nonce) != credentials.NonceLength || len(raw) == 0 {
		return nil, badMessage("nonce must be 64 hex digits")
	}
	door := hub.DoorOf(r)
	if door == nil {
		return nil, failed(http.StatusNotFound, wire.CodeBadMessage, "the hub has had its proof")
	}
	token, err := store.Token(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failed(http.StatusNotFound, wire.CodeUnauthorized, "there is no such credential, or no longer")
	}
	if err != nil {
		return nil, err
	}
	address := door.Address
	if door.Remote { // the name that the client knows, which guard has checked and the certificate has proved
		address = r.Host
	}
	return map[string]string{"proof": credentials.Proof(token, nonce, address)}, nil
}
