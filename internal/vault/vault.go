// Package vault keeps secrets that only servers get: in the system's keyring, or in files that only the user can read.
package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/zalando/go-keyring"

	"callgate/internal/companion/credentials"
	"callgate/internal/lazyregexp"
)

// Vault is the vault of a data directory.
type Vault struct{ dir string }

// service is the name of callgate's entries in the system's keyring.
const service = "callgate"

// At returns the vault of a data directory. The guard hides its files from servers.
func At(dataDir string) *Vault { return &Vault{filepath.Join(dataDir, "secrets")} }

var name = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName returns an error if s is not a valid name for a secret.
func CheckName(s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("%q is not a name for a secret: use letters, digits, dots, - and _, at most 64", s)
	}
	return nil
}

// Get returns a secret: from its file or, if there is none, from the keyring.
func (v *Vault) Get(name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	data, err := credentials.ReadPrivate(filepath.Join(v.dir, name))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return string(data), err
	}
	value, err := keyring.Get(service, name)
	if err != nil {
		return "", fmt.Errorf("there is no secret %s (%w): callgate secrets set %s", name, err, name)
	}
	return value, nil
}

// Set stores a secret, in the keyring or in a file, and replaces an older one.
func (v *Vault) Set(name, value string, inKeyring bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if value == "" {
		return errors.New("a secret cannot be empty")
	}
	if inKeyring {
		if err := keyring.Set(service, name, value); err != nil {
			return fmt.Errorf("the keyring: %w", err)
		}
		return ignoreMissing(os.Remove(filepath.Join(v.dir, name))) // a file would win over the keyring
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	return credentials.WritePrivate(filepath.Join(v.dir, name), []byte(value))
}

// Remove deletes a secret from wherever it is. It is an error if there is none.
func (v *Vault) Remove(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	file := os.Remove(filepath.Join(v.dir, name))
	ring := keyring.Delete(service, name)
	if ignoreMissing(file) != nil || file == nil || ring == nil {
		return ignoreMissing(file)
	}
	return fmt.Errorf("there is no secret %s (%w)", name, ring)
}

// List returns the names of the secrets in files, sorted. A keyring cannot list its secrets.
func (v *Vault) List() ([]string, error) {
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var names []string
	for _, e := range entries {
		if name.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
