package signin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"callgate/internal/durable"
)

// signed is how long a signature is valid.
const signed = time.Minute

// signature returns a client's signed assertion of its identity (RFC 7523), made with the key in the file. The
// assertion is valid once, and only at that issuer.
func signature(path, client, issuer string) (string, error) {
	key, err := readKey(path)
	if err != nil {
		return "", fmt.Errorf("oauth.privateKey: %w", err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("oauth.privateKey: %s: %w", path, err)
	}
	now := time.Now()
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: client, Subject: client, Audience: jwt.Audience{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(signed)),
	}).Serialize()
}

// readKey reads a private key: PEM as written by openssl, or a JSON Web Key, which may state its id and algorithm.
func readKey(path string) (*jose.JSONWebKey, error) {
	text, err := durable.ReadFile(path, maxSecret)
	if err != nil {
		return nil, err
	}
	key := &jose.JSONWebKey{}
	if block, _ := pem.Decode(text); block != nil {
		if key.Key, err = parseKey(block); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	} else if err := key.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("%s is neither PEM nor a JSON Web Key", path) // the error may quote the key
	}
	if key.IsPublic() {
		return nil, fmt.Errorf("%s is not a private key", path)
	}
	if key.Algorithm == "" {
		if key.Algorithm, err = algorithm(key.Key); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return key, nil
}

func parseKey(block *pem.Block) (crypto.PrivateKey, error) {
	switch block.Type {
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	return nil, fmt.Errorf("it has a %q: use a private key without a passphrase", block.Type)
}

// algorithm returns the signature algorithm for the key.
func algorithm(key crypto.PrivateKey) (string, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return string(jose.RS256), nil
	case ed25519.PrivateKey:
		return string(jose.EdDSA), nil
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return string(jose.ES256), nil
		case elliptic.P384():
			return string(jose.ES384), nil
		case elliptic.P521():
			return string(jose.ES512), nil
		}
	}
	return "", errors.New("use an RSA or Ed25519 key, or one on the curve P-256, P-384 or P-521")
}
