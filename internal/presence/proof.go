package presence

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"

	"callgate/internal/jsonx"
)

// Statement is what a person signs. Its hash is the challenge, so the signature is valid for nothing else.
type Statement struct {
	Nonce    string `json:"nonce"`
	Act      string `json:"act"`                // approve, always, or method and path of a change
	Approval string `json:"approval,omitempty"` // id
	Session  string `json:"session,omitempty"`
	Digest   string `json:"digest,omitempty"` // of the arguments that were shown
	Runs     string `json:"runs,omitempty"`   // digest of the arguments that would run
	Rest     string `json:"rest,omitempty"`   // hash of the rest of the answer or request
}

func (s *Statement) challenge() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// Assertion is the browser's answer: an authenticator's signature, and what it signed. Binary members are base64.
type Assertion struct {
	Nonce             string `json:"nonce"`
	Key               string `json:"key"` // the credential's id in browsers' base64url
	ClientData        []byte `json:"clientData"`
	AuthenticatorData []byte `json:"authenticatorData"`
	Signature         []byte `json:"signature"`
}

// Proof is an assertion with everything needed to check it again. Audit records hold it as "presence".
type Proof struct {
	Statement         Statement `json:"statement"`
	Key               Key       `json:"key"`
	Origin            string    `json:"origin"` // of the page that asked
	ClientData        []byte    `json:"clientData"`
	AuthenticatorData []byte    `json:"authenticatorData"`
	Signature         []byte    `json:"signature"`
}

// flagPresent is the authenticator's flag that a person touched it.
const flagPresent = 1

// Verify returns nil if the key signed the statement at the origin while a person was present.
func (p *Proof) Verify() error {
	challenge, err := p.Statement.challenge()
	if err != nil {
		return err
	}
	if err := p.checkClientData(challenge); err != nil {
		return err
	}
	party, err := PartyOf(p.Origin)
	if err != nil {
		return err
	}
	if p.Key.Party != party {
		return fmt.Errorf("the passkey belongs to %q, not to %q", p.Key.Party, party)
	}
	if len(p.AuthenticatorData) < sha256.Size+5 {
		return errors.New("the authenticator's data is too short")
	}
	if hash := sha256.Sum256([]byte(party)); subtle.ConstantTimeCompare(p.AuthenticatorData[:sha256.Size], hash[:]) != 1 {
		return errors.New("the authenticator signed for another site")
	}
	if p.AuthenticatorData[sha256.Size]&flagPresent == 0 {
		return errors.New("the authenticator does not say that a person was there")
	}
	hash := sha256.Sum256(p.ClientData)
	return p.Key.checkSignature(append(append([]byte(nil), p.AuthenticatorData...), hash[:]...), p.Signature)
}

func (p *Proof) checkClientData(challenge string) error {
	var said [5]jsonx.Member
	err := jsonx.Check(p.ClientData)
	if err == nil {
		err = jsonx.Members(p.ClientData, []string{"type", "challenge", "origin", "crossOrigin", "topOrigin"}, said[:])
	}
	if err != nil {
		return fmt.Errorf("the browser's data is not JSON: %w", err)
	}
	kind, _ := jsonx.String(said[0].Value)
	signed, _ := jsonx.String(said[1].Value)
	origin, _ := jsonx.String(said[2].Value)
	crosses := said[3].Value != nil && string(said[3].Value) != "false" || said[4].Value != nil && string(said[4].Value) != `""`
	switch {
	case kind != "webauthn.get":
		return fmt.Errorf("the browser signed %q, not webauthn.get", kind)
	case signed != challenge:
		return errors.New("something other than this answer was signed")
	case origin != p.Origin || crosses:
		return fmt.Errorf("it was signed on the page %q, not on %q", origin, p.Origin)
	}
	return nil
}

// PartyOf returns the name of a page's passkeys: its host, which must be a name. Only localhost may use http.
func PartyOf(origin string) (string, error) {
	u, err := url.Parse(origin)
	if err != nil {
		return "", err
	}
	if net.ParseIP(u.Hostname()) != nil || u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost") {
		return "", mistake(fmt.Sprintf("a page at %q cannot use passkeys: open it at localhost, or over https by a name", origin))
	}
	return u.Hostname(), nil
}

// parsePublic parses a public key. It accepts only kinds that callgate can check.
func parsePublic(der []byte) (crypto.PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, mistake("not a public key: " + err.Error())
	}
	switch key := key.(type) {
	case ed25519.PublicKey:
		return key, nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return key, nil
		}
	case *rsa.PublicKey:
		if key.N.BitLen() >= 2048 {
			return key, nil
		}
	}
	return nil, mistake("not a public key of a kind that callgate knows: ES256, EdDSA, or RS256 of 2048 bits")
}

func (k *Key) checkSignature(signed, signature []byte) error {
	public, err := parsePublic(k.Public)
	if err != nil {
		return err
	}
	sum, good := sha256.Sum256(signed), false
	switch key := public.(type) {
	case ed25519.PublicKey:
		good = ed25519.Verify(key, signed, signature)
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(key, sum[:], signature)
	case *rsa.PublicKey:
		good = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	}
	if !good {
		return errors.New("the signature is not the passkey's")
	}
	return nil
}
