package store

import (
	"bytes"
	_ "embed"
)

//go:embed defaults.jsonc
var defaults []byte

// Seed returns the text of a new file for a user with that home. If home is "", it leaves out the lines that need it,
// because the file could not be parsed with them.
func Seed(home string) []byte {
	if home != "" {
		return defaults
	}
	var kept []byte
	for line := range bytes.Lines(defaults) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte(`"~/`)) {
			kept = append(kept, line...)
		}
	}
	return kept
}
