package cluster

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"callgate/internal/durable"
)

// Key makes a callgate a replica of the cluster. Its first secret seals. The others only open what was sealed before
// the key was rotated.
type Key struct{ secrets []string }

// shortestSecret is the least number of characters in a secret.
const shortestSecret = 32

// ReadKey reads the file with the cluster's key: one secret per line, the newest first. It refuses a file that other
// users can read.
func ReadKey(path string) (Key, error) {
	text, err := durable.ReadFile(path, 64<<10)
	if err == nil {
		if err := private(path); err != nil {
			return Key{}, fmt.Errorf("cluster.key: %w", err)
		}
	}
	if err != nil {
		return Key{}, fmt.Errorf("cluster.key: %w; every replica needs the same file; make one with: openssl rand -base64 48 > %s", err, path)
	}
	return ParseKey(string(text))
}

// ParseKey does what ReadKey does, for the text of the file.
func ParseKey(text string) (Key, error) {
	var k Key
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(line) < shortestSecret {
			return Key{}, fmt.Errorf("cluster.key: a secret must have at least %d characters, but one has %d", shortestSecret, len(line))
		}
		k.secrets = append(k.secrets, line)
	}
	if len(k.secrets) == 0 {
		return Key{}, errors.New("cluster.key: the file has no secret")
	}
	return k, nil
}

// derive makes a secret for one purpose from each secret of the key.
func (k Key) derive(purpose string) [][]byte {
	all := make([][]byte, len(k.secrets))
	for i, secret := range k.secrets {
		all[i], _ = hkdf.Key(sha256.New, []byte(secret), nil, "callgate cluster "+purpose, 32) // fails only for wrong lengths
	}
	return all
}

// sealer seals the values of one place. A value from another place does not open.
type sealer struct{ open []cipher.AEAD } // the first seals

func (k Key) sealer(purpose string) sealer {
	var s sealer
	for _, secret := range k.derive("seal " + purpose) {
		block, _ := aes.NewCipher(secret) // 32 bytes
		aead, _ := cipher.NewGCM(block)
		s.open = append(s.open, aead)
	}
	return s
}

func (s sealer) seal(place string, body []byte) []byte {
	aead := s.open[0]
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(body)+aead.Overhead())
	rand.Read(nonce)
	return aead.Seal(nonce, nonce, body, []byte(place))
}

// errSealed means that a value cannot be opened.
var errSealed = errors.New("it was not sealed with the cluster's key")

func (s sealer) unseal(place string, sealed []byte) ([]byte, error) {
	body, _, err := s.unsealBy(place, sealed)
	return body, err
}

// unsealBy does what unseal does, and reports whether an older secret opened the value.
func (s sealer) unsealBy(place string, sealed []byte) (body []byte, old bool, err error) {
	for i, aead := range s.open {
		if n := aead.NonceSize(); len(sealed) >= n {
			if body, err := aead.Open(nil, sealed[:n], sealed[n:], []byte(place)); err == nil {
				return body, i > 0, nil
			}
		}
	}
	return nil, false, errSealed
}

// boundTo returns the TLS configuration for connections to one process of a replica, and for those that the process
// accepts. A connection fails if it is led to another process, or back to where it came from.
func boundTo(identity *tls.Config, name, epoch string) *tls.Config {
	bound, proto := identity.Clone(), "callgate/"+name+"/"+epoch
	bound.NextProtos = []string{proto}
	bound.VerifyConnection = func(state tls.ConnectionState) error {
		if state.NegotiatedProtocol != proto {
			return errors.New("the other side expects another replica")
		}
		return identity.VerifyConnection(state)
	}
	return bound
}

// identity returns the TLS configuration with which replicas recognise each other. Each shows a public key whose
// private key comes from the cluster's key, and accepts no other.
func (k Key) identity() (*tls.Config, error) {
	var known []ed25519.PublicKey
	var certificate tls.Certificate
	for i, seed := range k.derive("link") {
		private := ed25519.NewKeyFromSeed(seed)
		public := private.Public().(ed25519.PublicKey)
		known = append(known, public)
		if i > 0 {
			continue
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		if err != nil {
			return nil, err
		}
		certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	}
	return &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // VerifyConnection checks the other side; there is no authority
		VerifyConnection: func(state tls.ConnectionState) error {
			shown, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			for _, public := range known {
				if ok && public.Equal(shown) {
					return nil
				}
			}
			return errors.New("the other side does not have the cluster's key")
		},
	}, nil
}
