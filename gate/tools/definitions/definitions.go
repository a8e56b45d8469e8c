// Package definitions examines tool definitions: their hash, their shape, and whether they read like an attack.
package definitions

import (
	"crypto/sha256"
	"fmt"
)

// HashOf returns the SHA-256 of a raw definition in hex, as pins and approvals use it.
func HashOf(definition []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(definition))
}
