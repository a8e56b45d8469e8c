// Package definitions examines tool definitions: their hash, their shape, and whether they read like an attack.
package definitions

import (
	"crypto/sha256"
	"encoding/hex"
)

// HashOf is the SHA-256 of a raw definition in hex, as pins and approvals know it.
func HashOf(definition []byte) string {
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:])
}
