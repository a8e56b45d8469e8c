package credentials

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// NonceLength is the length of a nonce in hex digits.
const NonceLength = 64

// Proof returns a proof for nonce at address that only a holder of token can make.
func Proof(token, nonce, address string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("callgate companion proof v1\x00" + nonce + "\x00" + address))
	return hex.EncodeToString(mac.Sum(nil))
}

// Nonce returns a fresh random nonce.
func Nonce() string {
	var random [NonceLength / 2]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
