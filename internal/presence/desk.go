package presence

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/gate"
	"callgate/permissions"
)

const (
	nonceLife = 2 * time.Minute
	maxNonces = 256 // open at the same time; the oldest gives way
)

// Desk asks for signatures and accepts each once. Use Open to make one.
type Desk struct {
	Keys  *Keys
	class Class
	page  func() string // the page's address, for people

	mu   sync.Mutex
	open []nonce // oldest first
}

type nonce struct {
	text    string
	expires time.Time
}

var _ gate.Presence = (*Desk)(nil)

// Open returns the desk of a process. page returns the page's address.
func Open(dataDir string, class Class, page func() string) *Desk {
	return &Desk{Keys: OpenKeys(dataDir), class: class, page: page}
}

// On reports whether some answers need a passkey.
func (d *Desk) On() bool { return d.class != None }

// Class returns the class of answers that need a passkey.
func (d *Desk) Class() Class { return d.class }

// Page returns the address of the page where passkeys work.
func (d *Desk) Page() string { return d.page() }

// Needed is the error for an answer that needs a passkey and has no valid one. It matches gate.ErrPresence.
type Needed struct {
	Why       string
	Nonce     string // "" if the answer did not come from the page
	Challenge string
	Party     string
	Keys      []string // ids of the passkeys that may sign
}

func (n *Needed) Error() string { return n.Why }

func (n *Needed) Is(target error) bool { return target == gate.ErrPresence }

// Needs reports whether approving a call of that risk needs a passkey.
func (d *Desk) Needs(risk permissions.Risk, marked bool) bool { return d.class.Needs(risk, marked) }

// Check returns the proof of the answer, for the record. runs is the digest of the arguments that would run. The error
// is a *Needed unless callgate itself failed.
func (d *Desk) Check(a *gate.Approval, answer gate.Answer, runs string) ([]byte, error) {
	rest, err := json.Marshal([]any{answer.Grants, answer.Scope, answer.ExpiresIn})
	if err != nil {
		return nil, err
	}
	return d.check(Statement{
		Act: answer.Decision, Approval: a.ID, Session: a.SessionID, Digest: a.Digest, Runs: runs, Rest: hashOf(rest),
	}, answer.Presence, d.registered)
}

// CheckAct is Check for a change that loosens the gate. act is its method and path, body what was sent.
func (d *Desk) CheckAct(act string, body []byte, given gate.PresenceGiven) ([]byte, error) {
	return d.check(Statement{Act: act, Rest: hashOf(body)}, given, d.registered)
}

// Register adds a key, which MUST have signed the body that it came with. It calls record with the proof first.
func (d *Desk) Register(key Key, code, act string, body []byte, given gate.PresenceGiven, record func(proof []byte) error) error {
	if err := key.check(); err != nil {
		return err
	}
	if err := d.Keys.tryCode(code); err != nil {
		return err
	}
	party, err := PartyOf(given.Page)
	if err != nil {
		return err
	}
	key.Party, key.Person, key.Added = party, given.Person, time.Now().UTC().Truncate(time.Second)
	proof, err := d.check(Statement{Act: act, Rest: hashOf(body)}, given, func(gate.PresenceGiven) ([]Key, error) { return []Key{key}, nil })
	if err != nil {
		return err
	}
	return d.Keys.add(key, code, func() error { return record(proof) })
}

func hashOf(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// registered returns the passkeys that may sign for the person on the page.
func (d *Desk) registered(given gate.PresenceGiven) ([]Key, error) {
	all, err := d.Keys.List()
	if err != nil {
		return nil, err
	}
	party, err := PartyOf(given.Page)
	if err != nil {
		return nil, d.elsewhere(err.Error())
	}
	all = slices.DeleteFunc(all, func(k Key) bool { return k.Party != party || k.Person != given.Person })
	if len(all) == 0 {
		return nil, d.elsewhere(`no passkey is registered for you on this page: run "callgate passkeys add"`)
	}
	return all, nil
}

// elsewhere refuses an answer from a place that cannot ask for a passkey.
func (d *Desk) elsewhere(why string) *Needed {
	page := d.page()
	return &Needed{Why: fmt.Sprintf("this needs your passkey: answer on the page %s (%s)", page, why)}
}

// check verifies the signature that was given for the statement, or asks for one.
func (d *Desk) check(s Statement, given gate.PresenceGiven, may func(gate.PresenceGiven) ([]Key, error)) ([]byte, error) {
	if given.Page == "" {
		return nil, d.elsewhere(`"callgate open" opens it`)
	}
	keys, err := may(given)
	if err != nil {
		return nil, err
	}
	if len(given.Assertion) == 0 {
		return nil, d.ask(s, given, keys, "this needs your passkey")
	}
	var a Assertion
	if err := json.Unmarshal(given.Assertion, &a); err != nil {
		return nil, d.ask(s, given, keys, "the passkey's answer cannot be read")
	}
	i := slices.IndexFunc(keys, func(k Key) bool { return k.ID == a.Key })
	if !d.take(a.Nonce) {
		return nil, d.ask(s, given, keys, "the passkey's answer was used already, or is too old")
	}
	if i < 0 {
		return nil, d.ask(s, given, keys, "the passkey is not registered for you")
	}
	s.Nonce = a.Nonce
	proof := Proof{Statement: s, Key: keys[i], Origin: given.Page, ClientData: a.ClientData, AuthenticatorData: a.AuthenticatorData, Signature: a.Signature}
	if err := proof.Verify(); err != nil {
		return nil, d.ask(s, given, keys, "the passkey's answer does not count: "+err.Error())
	}
	return json.Marshal(proof)
}

// ask returns a *Needed with a new challenge.
func (d *Desk) ask(s Statement, given gate.PresenceGiven, keys []Key, why string) error {
	party, err := PartyOf(given.Page)
	if err != nil {
		return d.elsewhere(err.Error())
	}
	s.Nonce = d.issue()
	challenge, err := s.challenge()
	if err != nil {
		return err
	}
	n := &Needed{Why: why, Nonce: s.Nonce, Challenge: challenge, Party: party}
	for _, k := range keys {
		n.Keys = append(n.Keys, k.ID)
	}
	return n
}

func (d *Desk) issue() string {
	text := rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	if len(d.open) == maxNonces {
		d.open = slices.Delete(d.open, 0, 1)
	}
	d.open = append(d.open, nonce{text, time.Now().Add(nonceLife)})
	return text
}

// take uses up a nonce. It returns false if this process did not issue it, or if it was used or is too old.
func (d *Desk) take(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	i := slices.IndexFunc(d.open, func(n nonce) bool { return n.text == text })
	if i < 0 {
		return false
	}
	d.open = slices.Delete(d.open, i, i+1)
	return true
}

// expire drops nonces that are too old. The caller holds mu.
func (d *Desk) expire() {
	now := time.Now()
	d.open = slices.DeleteFunc(d.open, func(n nonce) bool { return !now.Before(n.expires) })
}

// Problem returns why nobody can give the answers that need a passkey, or "".
func (d *Desk) Problem() string {
	if !d.On() {
		return ""
	}
	all, err := d.Keys.List()
	switch {
	case err != nil:
		return "the passkeys cannot be read, so calls that need one cannot be approved: " + err.Error()
	case len(all) == 0:
		return `approvers.presence is ` + string(d.class) + ` and no passkey is registered, so calls that need one cannot be approved: run "callgate passkeys add"`
	}
	return ""
}

// IsNeeded returns the *Needed in err, if there is one.
func IsNeeded(err error) (n *Needed, ok bool) { return n, errors.As(err, &n) }
