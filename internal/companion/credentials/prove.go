package credentials

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// nonceLength is the length of a nonce in hex digits.
const NonceLength = 64

// Proof returns a proof that only a holder of token can make, for nonce at address.
func Proof(token, nonce, address string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("callgate companion proof v1\x00" + nonce + "\x00" + address))
	return hex.EncodeToString(mac.Sum(nil))
}

// Nonce makes a question that nobody was asked before.
func Nonce() string {
	var random [NonceLength / 2]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
