package upstream

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	names "callgate/internal/address"
	"callgate/internal/guard"
	"callgate/internal/sandbox"
)

// secretPrefix begins the value of a variable that names a secret: "secret:NAME", or "secret:NAME@HOST" if the process
// gets only a placeholder.
const secretPrefix = "secret:"

// Secret is the secret that an entry of an environment names.
type Secret struct {
	Name string
	Host string // the only host that gets it; set if Held
	Held bool   // the process only gets a placeholder
}

// SecretOf reads the secret that an entry of an environment names. ok is false for a plain value.
func SecretOf(entry string) (s Secret, ok bool) {
	_, value, _ := strings.Cut(entry, "=")
	if value, ok = strings.CutPrefix(value, secretPrefix); ok {
		s.Name, s.Host, s.Held = strings.Cut(value, "@")
	}
	return s, ok
}

// secrets fills secrets into env, whose end is cfg.Env. Secrets for one host get placeholders, which swaps lists.
func (cfg *Config) secrets(env []string) (filled []string, swaps []sandbox.Swap, err error) {
	filled = slices.Clone(env)
	for i := len(env) - len(cfg.Env); i < len(env); i++ {
		secret, ok := SecretOf(env[i])
		if !ok {
			continue
		}
		if cfg.terms.Secret == nil {
			return nil, nil, errors.New("secrets cannot be used here")
		}
		value, err := cfg.terms.Secret(secret.Name)
		if err != nil {
			return nil, nil, err
		}
		if secret.Held {
			normal, ok := names.Host(secret.Host)
			if !ok {
				return nil, nil, fmt.Errorf("no host: %q", secret.Host)
			}
			placeholder := "callgate-" + rand.Text()
			swaps = append(swaps, sandbox.Swap{Placeholder: placeholder, Secret: value, Host: normal})
			value = placeholder
		}
		variable, _, _ := strings.Cut(env[i], "=")
		filled[i] = variable + "=" + value
	}
	return filled, swaps, nil
}

// systemRoots lists where systems keep the certificates that programs trust.
var systemRoots = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"}

// trust makes an authority that only the process trusts, in a file that the box can read. The caller removes folder
// with the process.
func (cfg *Config) trust(env []string, box *guard.Box) (authority *sandbox.Authority, folder string, more []string, err error) {
	if authority, err = sandbox.NewAuthority(cfg.Name); err != nil {
		return nil, "", nil, err
	}
	var bundle []byte
	for _, path := range systemRoots {
		if bundle, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if err != nil { // with callgate's authority alone, the process could reach no other host by TLS
		return nil, "", nil, fmt.Errorf("the system's root certificates cannot be read: tried %s", strings.Join(systemRoots, ", "))
	}
	if folder, err = os.MkdirTemp("", "callgate-trust-"); err != nil {
		return nil, "", nil, err
	}
	file := filepath.Join(folder, "roots.pem")
	if err := os.WriteFile(file, append(bundle, authority.PEM...), 0o600); err != nil {
		os.RemoveAll(folder) // a temporary folder
		return nil, "", nil, err
	}
	box.Read = append(slices.Clone(box.Read), folder)
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"} {
		more = append(more, name+"="+file)
	}
	return authority, folder, append(slices.Clone(env), more...), nil
}
