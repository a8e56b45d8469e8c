package rag

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
)

// Dir returns the directory, below the one of all indexes, of the index of the workspace root. Links on the way
// to the workspace make no difference.
func Dir(indexes, root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	name := unusual.ReplaceAllString(filepath.Base(root), "_")
	return filepath.Join(indexes, name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:6])), nil
}

var unusual = regexp.MustCompile(`[^A-Za-z0-9._-]`)
