package app

import (
	"log/slog"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"callgate/gate"
	"callgate/internal/config"
	"callgate/internal/durable"
	"callgate/internal/secrets"
)

// maxVariables bounds the size of a file of variables, in bytes.
const maxVariables = 256 << 10

// namedSecrets returns what reads the secrets that the configuration names, in the keyring and in files of variables.
// It returns nil if there are none. A file that cannot be read is logged, and callgate does not look for its values.
func namedSecrets(entries, files []string, log *slog.Logger) func() []gate.Credential {
	inKeyring := keyringEntries(entries, log)
	if inKeyring == nil && len(files) == 0 {
		return nil
	}
	return func() (found []gate.Credential) {
		if inKeyring != nil {
			found = inKeyring()
		}
		for _, path := range files {
			text, err := durable.ReadFile(config.ExpandHome(path), maxVariables)
			if err != nil {
				log.Warn("a file of secrets cannot be read: calls could send its values elsewhere", "error", err)
				continue
			}
			for value, kind := range secrets.Variables(string(text)) {
				found = append(found, gate.Credential{Value: value, Place: kind + " in " + path})
			}
		}
		return found
	}
}

// keyringWait bounds how long one entry of the keyring may take. The system may ask its user to unlock it.
const keyringWait = 10 * time.Second

// keyringEntries returns what reads the keyring entries that the configuration names, each as SERVICE/ACCOUNT. An entry
// that cannot be read is logged, and callgate does not look for its value.
func keyringEntries(names []string, log *slog.Logger) func() []gate.Credential {
	if len(names) == 0 {
		return nil
	}
	return func() (found []gate.Credential) {
		type answer struct {
			value string
			err   error
		}
		for _, name := range names {
			service, account, _ := strings.Cut(name, "/")
			got := make(chan answer, 1)
			go func() { // it ends when the keyring answers, or with callgate
				value, err := keyring.Get(service, account)
				got <- answer{value, err}
			}()
			select {
			case a := <-got:
				if a.err == nil {
					found = append(found, gate.Credential{Value: a.value, Place: "keyring entry " + name})
				} else {
					log.Warn("an entry of the keyring cannot be read: calls could send its value elsewhere", "entry", name, "error", a.err)
				}
			case <-time.After(keyringWait):
				log.Warn("the keyring did not answer: calls could send the value of an entry elsewhere", "entry", name)
			}
		}
		return found
	}
}
