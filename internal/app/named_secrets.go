package app

import (
	"io"
	"log/slog"
	"os"

	"callgate/gate"
	"callgate/internal/config"
	"callgate/internal/secrets"
)

// maxVariables is how many bytes of a file of variables are read.
const maxVariables = 256 << 10

// namedSecrets returns what reads the secrets that the configuration names: entries of the keyring, and files of variables;
// nil for none. A file that cannot be read is logged, and its values not looked for.
func namedSecrets(entries, files []string, log *slog.Logger) func() []gate.Credential {
	keyring := keyringEntries(entries, log)
	if keyring == nil && len(files) == 0 {
		return nil
	}
	return func() (found []gate.Credential) {
		if keyring != nil {
			found = keyring()
		}
		for _, path := range files {
			f, err := os.Open(config.ExpandHome(path))
			if err != nil {
				log.Warn("a file of secrets cannot be read: calls may take its values elsewhere", "error", err)
				continue
			}
			text, err := io.ReadAll(io.LimitReader(f, maxVariables))
			if f.Close(); err != nil {
				log.Warn("a file of secrets cannot be read: calls may take its values elsewhere", "error", err)
			}
			for value, kind := range secrets.Variables(string(text)) {
				found = append(found, gate.Credential{Value: value, Place: kind + " in " + path})
			}
		}
		return found
	}
}
