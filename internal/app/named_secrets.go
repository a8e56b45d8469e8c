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

// maxVariables is how many bytes a file of variables may have.
const maxVariables = 256 << 10

// namedSecrets returns what reads the secrets that the configuration names: entries of the keyring, and files of
// variables; nil for none. A file that cannot be read is logged, and its values not looked for.
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

// keyringWait is how long an entry of the keyring may take: the system may ask its user to unlock it.
const keyringWait = 10 * time.Second

// keyringEntries returns what reads the entries of the system's keyring that the configuration names, each
// SERVICE/ACCOUNT. An entry that cannot be read is logged, and its value not looked for.
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
