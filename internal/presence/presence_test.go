package presence

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/permissions"
)

const testPage = "http://localhost:7777"

// authenticator is a passkey in software. Tests can bend what it signs.
type authenticator struct {
	id      string
	private crypto.Signer
	origin  string
	party   string
	kind    string
	flags   byte
	extra   string // additional members of the client data
	count   uint32
}

func newAuthenticator(t *testing.T, id string, private crypto.Signer) *authenticator {
	t.Helper()
	if private == nil {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		private = key
	}
	return &authenticator{id: id, private: private, origin: testPage, party: "localhost", kind: "webauthn.get", flags: 5}
}

func (a *authenticator) key(t *testing.T) Key {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(a.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return Key{ID: a.id, Name: "test key " + a.id, Party: "localhost", Public: public}
}

// sign answers a challenge in the browser's format.
func (a *authenticator) sign(t *testing.T, nonce, challenge string) []byte {
	t.Helper()
	a.count++
	party := sha256.Sum256([]byte(a.party))
	data := binary.BigEndian.AppendUint32(append(party[:], a.flags), a.count)
	client := fmt.Appendf(nil, `{"type":%q,"challenge":%q,"origin":%q,"crossOrigin":false%s}`, a.kind, challenge, a.origin, a.extra)
	hash := sha256.Sum256(client)
	signed := append(bytes.Clone(data), hash[:]...)
	options := crypto.SignerOpts(crypto.SHA256)
	if _, ok := a.private.(ed25519.PrivateKey); ok {
		options = crypto.Hash(0)
	} else {
		sum := sha256.Sum256(signed)
		signed = sum[:]
	}
	signature, err := a.private.Sign(rand.Reader, signed, options)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Assertion{Nonce: nonce, Key: a.id, ClientData: client, AuthenticatorData: data, Signature: signature})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func openTestDesk(t *testing.T, class Class) (*Desk, string) {
	t.Helper()
	dir := t.TempDir()
	return Open(dir, class, func() string { return testPage + "/" }), dir
}

// register registers the authenticator's key with a code, like the page.
func register(t *testing.T, d *Desk, a *authenticator, record func(proof []byte) error) {
	t.Helper()
	code, _, err := d.Keys.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"name":"x"}`)
	given := gate.PresenceGiven{Page: testPage}
	needed := needs(t, d.Register(a.key(t), code, ActAdd, body, given, record))
	given.Assertion = a.sign(t, needed.Nonce, needed.Challenge)
	if err := d.Register(a.key(t), code, ActAdd, body, given, record); err != nil {
		t.Fatal(err)
	}
	if err := d.Register(a.key(t), code, ActAdd, body, given, record); !errors.Is(err, errCode) {
		t.Errorf("the code was taken again: %v", err)
	}
}

func unrecorded([]byte) error { return nil }

func needs(t *testing.T, err error) *Needed {
	t.Helper()
	needed, ok := IsNeeded(err)
	if !ok || !errors.Is(err, gate.ErrPresence) {
		t.Fatalf("want a question for a passkey, got %v", err)
	}
	return needed
}

func testApproval() *gate.Approval {
	return &gate.Approval{ID: "call_1", SessionID: "s-1", Digest: "d1"}
}

var yes = gate.Answer{SessionID: "s-1", Digest: "d1", Decision: "approve", Presence: gate.PresenceGiven{Page: testPage}}

// TestKinds approves with each kind of key.
func TestKinds(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, private := range map[string]crypto.Signer{"ES256": nil, "EdDSA": edwards, "RS256": long} {
		t.Run(name, func(t *testing.T) {
			d, _ := openTestDesk(t, High)
			a := newAuthenticator(t, "key", private)
			register(t, d, a, unrecorded)
			_, err := d.Check(testApproval(), yes, "d1")
			needed := needs(t, err)
			if needed.Party != "localhost" || len(needed.Keys) != 1 || needed.Keys[0] != "key" {
				t.Errorf("asked %+v", needed)
			}
			answer := yes
			answer.Presence.Assertion = a.sign(t, needed.Nonce, needed.Challenge)
			text, err := d.Check(testApproval(), answer, "d1")
			if err != nil {
				t.Fatal(err)
			}
			var proof Proof
			if err := json.Unmarshal(text, &proof); err != nil {
				t.Fatal(err)
			}
			if err := proof.Verify(); err != nil || proof.Statement.Approval != "call_1" || proof.Statement.Digest != "d1" {
				t.Errorf("the proof %+v: %v", proof.Statement, err)
			}
		})
	}
}

// TestForged checks that only a signature of this answer, on this page, by this person's key, made now, is accepted.
func TestForged(t *testing.T) {
	for name, c := range map[string]struct {
		bend   func(*testing.T, *authenticator)
		answer func(*gate.Answer)
		shown  func(*gate.Approval)
		runs   string
		assert func(*Assertion)
	}{
		"another page":                 {bend: func(_ *testing.T, a *authenticator) { a.origin = "http://localhost:3000" }},
		"another host":                 {bend: func(_ *testing.T, a *authenticator) { a.origin, a.party = "https://evil.example", "evil.example" }},
		"another party":                {bend: func(_ *testing.T, a *authenticator) { a.party = "evil.example" }},
		"a frame in another page":      {bend: func(_ *testing.T, a *authenticator) { a.extra = `,"topOrigin":"https://evil.example"` }},
		"crossOrigin said twice":       {bend: func(_ *testing.T, a *authenticator) { a.extra = `,"crossOrigin":true` }},
		"a registration":               {bend: func(_ *testing.T, a *authenticator) { a.kind = "webauthn.create" }},
		"nobody touched it":            {bend: func(_ *testing.T, a *authenticator) { a.flags = 4 }},
		"another key":                  {bend: func(t *testing.T, a *authenticator) { a.private = newAuthenticator(t, "", nil).private }},
		"a key that is not registered": {bend: func(t *testing.T, a *authenticator) { *a = *newAuthenticator(t, "other", nil) }},
		"another decision":             {answer: func(a *gate.Answer) { a.Decision = "always" }},
		"another grant":                {answer: func(a *gate.Answer) { a.Grants = []gate.GrantChoice{{Tool: "shell_exec", Pattern: "*"}} }},
		"another scope":                {answer: func(a *gate.Answer) { a.Scope = "worker" }},
		"another expiry":               {answer: func(a *gate.Answer) { a.ExpiresIn = time.Hour }},
		"another call":                 {shown: func(a *gate.Approval) { a.ID = "call_2" }},
		"another session":              {shown: func(a *gate.Approval) { a.SessionID = "s-2" }},
		"other arguments":              {shown: func(a *gate.Approval) { a.Digest = "d2" }},
		"edited arguments":             {runs: "d2"},
		"another person":               {answer: func(a *gate.Answer) { a.Presence.Person = "bob" }},
		"no page":                      {answer: func(a *gate.Answer) { a.Presence.Page = "" }},
		"a page at an address":         {answer: func(a *gate.Answer) { a.Presence.Page = "http://127.0.0.1:7777" }},
		"another page than asked":      {answer: func(a *gate.Answer) { a.Presence.Page = "http://localhost:7778" }},
		"a made-up nonce":              {assert: func(a *Assertion) { a.Nonce = "made-up" }},
		"no signature":                 {assert: func(a *Assertion) { a.Signature = nil }},
		"a changed signature":          {assert: func(a *Assertion) { a.Signature[len(a.Signature)-1] ^= 1 }},
		"changed data":                 {assert: func(a *Assertion) { a.AuthenticatorData[36] ^= 1 }},
		"short data":                   {assert: func(a *Assertion) { a.AuthenticatorData = a.AuthenticatorData[:36] }},
		"no client data":               {assert: func(a *Assertion) { a.ClientData = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := openTestDesk(t, Always)
			a := newAuthenticator(t, "key", nil)
			register(t, d, a, unrecorded)
			if c.bend != nil {
				c.bend(t, a)
			}
			_, err := d.Check(testApproval(), yes, "d1")
			needed := needs(t, err)
			assertion := a.sign(t, needed.Nonce, needed.Challenge)
			if c.assert != nil {
				var bent Assertion
				if err := json.Unmarshal(assertion, &bent); err != nil {
					t.Fatal(err)
				}
				c.assert(&bent)
				if assertion, err = json.Marshal(bent); err != nil {
					t.Fatal(err)
				}
			}
			answer, shown, runs := yes, testApproval(), "d1"
			answer.Presence.Assertion = assertion
			if c.answer != nil {
				c.answer(&answer)
			}
			if c.shown != nil {
				c.shown(shown)
			}
			if c.runs != "" {
				runs = c.runs
			}
			proof, err := d.Check(shown, answer, runs)
			if proof != nil {
				t.Errorf("it counts: %s", proof)
			}
			needs(t, err)
		})
	}
}

// TestReplayed checks that each signature is accepted once, and no old one.
func TestReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := openTestDesk(t, Always)
		a := newAuthenticator(t, "key", nil)
		register(t, d, a, unrecorded)
		ask := func() gate.Answer {
			_, err := d.Check(testApproval(), yes, "d1")
			needed := needs(t, err)
			answer := yes
			answer.Presence.Assertion = a.sign(t, needed.Nonce, needed.Challenge)
			return answer
		}
		answer := ask()
		if _, err := d.Check(testApproval(), answer, "d1"); err != nil {
			t.Fatal(err)
		}
		_, err := d.Check(testApproval(), answer, "d1")
		needs(t, err)

		answer = ask()
		time.Sleep(nonceLife)
		_, err = d.Check(testApproval(), answer, "d1")
		needs(t, err)

		answer = ask()
		for range maxNonces {
			ask()
		}
		_, err = d.Check(testApproval(), answer, "d1")
		needs(t, err)

		answer = ask()
		if _, err := d.Keys.Remove("key"); err != nil {
			t.Fatal(err)
		}
		_, err = d.Check(testApproval(), answer, "d1")
		if n := needs(t, err); n.Challenge != "" || !strings.Contains(n.Why, testPage) || !strings.Contains(n.Why, "callgate passkeys add") {
			t.Errorf("without a key: %+v", n)
		}
	})
}

func TestElsewhere(t *testing.T) {
	d, _ := openTestDesk(t, Always)
	register(t, d, newAuthenticator(t, "key", nil), unrecorded)
	answer := yes
	answer.Presence = gate.PresenceGiven{}
	_, err := d.Check(testApproval(), answer, "d1")
	if n := needs(t, err); n.Challenge != "" || !strings.Contains(n.Why, testPage+"/") {
		t.Errorf("%+v", n)
	}
}

// TestCode checks that registration needs the code.
func TestCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dir := openTestDesk(t, Always)
		a := newAuthenticator(t, "key", nil)
		try := func(code string) error {
			return d.Register(a.key(t), code, ActAdd, nil, gate.PresenceGiven{Page: testPage}, unrecorded)
		}
		if err := try(""); !errors.Is(err, errCode) {
			t.Errorf("no code was made: %v", err)
		}
		code, _, err := d.Keys.NewCode()
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(d.Keys.code())
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(code, "-") {
			if bytes.Contains(kept, []byte(part)) {
				t.Error("the code itself is in the file")
			}
		}
		needs(t, try(strings.ToLower(code)))
		for range maxWrongCodes {
			if err := try("AAAA-AAAA-AAAA-AAAA"); !errors.Is(err, errCode) {
				t.Errorf("a wrong code: %v", err)
			}
		}
		if err := try(code); !errors.Is(err, errCode) {
			t.Errorf("after %d wrong codes: %v", maxWrongCodes, err)
		}
		if code, _, err = d.Keys.NewCode(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(codeLife)
		if err := try(code); !errors.Is(err, errCode) {
			t.Errorf("an old code: %v", err)
		}
		if err := os.WriteFile(OpenKeys(dir).file(), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Check(testApproval(), yes, "d1"); err == nil || d.Problem() == "" {
			t.Errorf("with a damaged list: %v", err)
		}
	})
}

// TestRegisterNeedsTheKey checks that a key that did not sign, or is not valid, is not stored.
func TestRegisterNeedsTheKey(t *testing.T) {
	d, _ := openTestDesk(t, Always)
	a := newAuthenticator(t, "key", nil)
	code, _, err := d.Keys.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	given := gate.PresenceGiven{Page: testPage}
	needed := needs(t, d.Register(a.key(t), code, ActAdd, []byte("one body"), given, unrecorded))
	given.Assertion = a.sign(t, needed.Nonce, needed.Challenge)
	needs(t, d.Register(a.key(t), code, ActAdd, []byte("another body"), given, unrecorded))
	bad := a.key(t)
	bad.Public = []byte("no key")
	if err := d.Register(bad, code, ActAdd, nil, given, unrecorded); err == nil {
		t.Error("no key was taken")
	}
	small, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Register(newAuthenticator(t, "small", small).key(t), code, ActAdd, nil, given, unrecorded); err == nil {
		t.Error("a key of an unknown kind was taken")
	}
	needed = needs(t, d.Register(a.key(t), code, ActAdd, nil, gate.PresenceGiven{Page: testPage}, unrecorded))
	given.Assertion = a.sign(t, needed.Nonce, needed.Challenge)
	full := errors.New("the disk is full")
	if err := d.Register(a.key(t), code, ActAdd, nil, given, func([]byte) error { return full }); !errors.Is(err, full) {
		t.Errorf("not recorded: %v", err)
	}
	if kept, err := d.Keys.List(); err != nil || len(kept) != 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
}

func TestClass(t *testing.T) {
	for _, c := range []struct {
		class  Class
		risk   permissions.Risk
		marked bool
		want   bool
	}{
		{None, permissions.Escalation, true, false},
		{High, permissions.ReadOnly, false, false}, {High, permissions.Write, false, false}, {High, permissions.Network, false, false},
		{High, permissions.Unknown, false, true}, {High, permissions.Destructive, false, true}, {High, permissions.Escalation, false, true},
		{High, permissions.ReadOnly, true, true},
		{Always, permissions.ReadOnly, false, true},
	} {
		if got := c.class.Needs(c.risk, c.marked); got != c.want {
			t.Errorf("%s: %s, marked %v: %v", c.class, c.risk, c.marked, got)
		}
	}
	if _, err := ParseClass("sometimes"); err == nil {
		t.Error("sometimes is no class")
	}
}

// TestVerifyTrail checks proofs in a real trail, and that each record that differs from what was signed is reported.
func TestVerifyTrail(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*audit.Record)
		proof  func(*Proof)
		asked  string // digest of the arguments asked about as call_1
		want   string
	}{
		"as it was":            {},
		"other arguments":      {change: func(r *audit.Record) { r.Digest = "d2" }, want: "other arguments"},
		"as it was, repeated":  {change: func(r *audit.Record) { r.CallID = "call_repeated" }, asked: "d1"},
		"asked another":        {change: func(r *audit.Record) { r.CallID = "call_repeated" }, asked: "d2", want: "another call"},
		"another call":         {change: func(r *audit.Record) { r.CallID = "call_2" }, want: "another call"},
		"an unregistered key":  {proof: func(p *Proof) { p.Key = Key{} }, want: "does not hold"},
		"another statement":    {proof: func(p *Proof) { p.Statement.Digest = "d2" }, want: "something other than this answer was signed"},
		"another page":         {proof: func(p *Proof) { p.Origin = "http://localhost:1" }, want: "it was signed on the page"},
		"a changed signature":  {proof: func(p *Proof) { p.Signature[9] ^= 1 }, want: "signature"},
		"a proof of no format": {change: func(r *audit.Record) { r.Presence = json.RawMessage(`"x"`) }, want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := openTestDesk(t, Always)
			log, err := audit.Open(audit.Dir(dir), audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			write := func(r audit.Record) {
				if _, err := log.Append(r); err != nil {
					t.Fatal(err)
				}
			}
			a := newAuthenticator(t, "key", nil)
			register(t, d, a, func(proof []byte) error {
				write(audit.Record{Event: audit.Control, Summary: "Passkey added", Presence: proof})
				return nil
			})
			answer := yes
			_, err = d.Check(testApproval(), yes, "d1")
			needed := needs(t, err)
			answer.Presence.Assertion = a.sign(t, needed.Nonce, needed.Challenge)
			text, err := d.Check(testApproval(), answer, "d1")
			if err != nil {
				t.Fatal(err)
			}
			if c.proof != nil {
				var p Proof
				if err := json.Unmarshal(text, &p); err != nil {
					t.Fatal(err)
				}
				c.proof(&p)
				if text, err = json.Marshal(p); err != nil {
					t.Fatal(err)
				}
			}
			r := audit.Record{Event: audit.Decision, CallID: "call_1", Digest: "d1", Decision: "approved", Presence: text}
			if c.change != nil {
				c.change(&r)
			}
			removed, err := d.Keys.Remove("key")
			if err != nil {
				t.Fatal(err)
			}
			if c.asked != "" {
				write(audit.Record{Event: audit.Asked, CallID: "call_1", Digest: c.asked})
			}
			write(r)
			write(audit.Record{Event: audit.Control, Summary: RemovedSummary(removed)})
			if c.want == "" { // once more for the repeated call, but never again
				r.CallID = "call_9"
				write(r)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			checked, breaks, err := VerifyTrail(audit.Dir(dir))
			switch {
			case err != nil:
				t.Fatal(err)
			case c.want != "":
				if checked != 2 || len(breaks) != 1 || !strings.Contains(breaks[0].Detail, c.want) || breaks[0].Why != audit.WhyPresence {
					t.Errorf("%d checked, %v", checked, breaks)
				}
			case checked != 3 || len(breaks) != 1 || !strings.Contains(breaks[0].Detail, "removed before"):
				t.Errorf("%d checked, %v", checked, breaks)
			}
		})
	}
}

// FuzzVerify checks that no data from a browser or a record makes Verify panic.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"type":"webauthn.get"}`), []byte("data"), []byte("signature"), []byte("key"), testPage)
	f.Fuzz(func(t *testing.T, client, data, signature, public []byte, origin string) {
		p := Proof{Key: Key{Party: "localhost", Public: public}, Origin: origin, ClientData: client, AuthenticatorData: data, Signature: signature}
		if p.Verify() == nil {
			t.Errorf("it holds: %s", base64.StdEncoding.EncodeToString(client))
		}
	})
}
