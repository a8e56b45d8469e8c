package presence

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/durable"
)

// Key is a passkey that may approve. It holds no secret.
type Key struct {
	ID     string    `json:"id"` // the credential's id in browsers' base64url
	Name   string    `json:"name"`
	Person string    `json:"person,omitempty"` // the person of the credential that it goes with; "" for the shared credential
	Party  string    `json:"party"`            // host of the page where it works
	Public []byte    `json:"public"`           // PKIX
	Added  time.Time `json:"added"`
}

const (
	maxKeysFile = 1 << 20
	maxKeys     = 64
	maxKeyID    = 1400 // in bytes: WebAuthn's limit of 1023, in base64
	maxName     = 64
)

// ToldError is a mistake of the person who registers or removes a passkey.
type ToldError interface {
	error
	told()
}

type mistake string

func (t mistake) Error() string { return string(t) }
func (mistake) told()           {}

// ErrNoKey means that there is no passkey with that id.
var ErrNoKey error = mistake("there is no such passkey")

// Keys is the list of passkeys of a data directory. Every call reads the file again.
type Keys struct{ dir string }

// OpenKeys returns the passkeys of a data directory. It reads nothing yet.
func OpenKeys(dataDir string) *Keys { return &Keys{filepath.Join(dataDir, "presence")} }

func (k *Keys) file() string { return filepath.Join(k.dir, "keys.json") }
func (k *Keys) code() string { return filepath.Join(k.dir, "code.json") }

// List returns the passkeys, oldest first.
func (k *Keys) List() ([]Key, error) {
	var kept []Key
	if err := durable.LoadJSON(k.file(), maxKeysFile, &kept); err != nil {
		return nil, fmt.Errorf("passkeys: %w", err)
	}
	return kept, nil
}

// Named returns the id of the passkey with that id or name. It is an error if several match.
func (k *Keys) Named(name string) (id string, err error) {
	all, err := k.List()
	if err != nil {
		return "", err
	}
	var matches []string
	for _, key := range all {
		if key.ID == name || key.Name == name {
			matches = append(matches, key.ID)
		}
	}
	switch len(matches) {
	case 0:
		return "", fmt.Errorf("%w: %q; \"callgate passkeys list\" lists them", ErrNoKey, name)
	case 1:
		return matches[0], nil
	}
	return "", fmt.Errorf("%q is the name of several passkeys: give the id of one, %s", name, strings.Join(matches, " or "))
}

// Remove removes a passkey and returns it. It returns ErrNoKey if there is none with that id.
func (k *Keys) Remove(id string) (removed Key, err error) {
	err = k.locked(func() error {
		all, err := k.List()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(one Key) bool { return one.ID == id })
		if i < 0 {
			return ErrNoKey
		}
		removed = all[i]
		return durable.SaveJSON(k.file(), slices.Delete(all, i, i+1))
	})
	return removed, err
}

// check returns what is wrong with a key that is to be added.
func (k *Key) check() error {
	if _, err := parsePublic(k.Public); err != nil {
		return err
	}
	switch {
	case k.ID == "" || len(k.ID) > maxKeyID || strings.Trim(k.ID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "":
		return mistake("the passkey's id is not base64url of at most 1023 bytes")
	case strings.TrimSpace(k.Name) == "" || len(k.Name) > maxName:
		return mistake(fmt.Sprintf("give the passkey a name of at most %d bytes", maxName))
	}
	return nil
}

// add stores a key if the code is right. The code is used up, and record is called, before the key is stored.
func (k *Keys) add(key Key, code string, record func() error) error {
	return k.locked(func() error {
		if err := k.checkCode(code); err != nil {
			return err
		}
		all, err := k.List()
		switch {
		case err != nil:
			return err
		case slices.ContainsFunc(all, func(one Key) bool { return one.ID == key.ID }):
			return mistake("this passkey is registered already")
		case len(all) >= maxKeys:
			return mistake(fmt.Sprintf("%d passkeys are registered, and no more may be: remove one", maxKeys))
		}
		if err := os.Remove(k.code()); err != nil {
			return err
		}
		if err := record(); err != nil {
			return err
		}
		return durable.SaveJSON(k.file(), append(all, key))
	})
}

// A code lets a person register one passkey. Only somebody who can write to the data directory gets a code, and only
// its hash is stored: whoever holds a credential or can read the files cannot register.

const (
	codeLife      = 10 * time.Minute
	maxWrongCodes = 5
)

type keptCode struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
	Wrong   int       `json:"wrong"`
}

// errCode refuses a code.
var errCode error = mistake(`the code is wrong, was used already, or is too old: run "callgate passkeys add" for another one`)

// NewCode returns a code for registering one passkey, and how long it lives. It voids earlier codes.
func (k *Keys) NewCode() (code string, life time.Duration, err error) {
	var secret [10]byte
	rand.Read(secret[:])
	text := base32.StdEncoding.EncodeToString(secret[:])
	code = strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
	return code, codeLife, k.locked(func() error {
		return durable.SaveJSON(k.code(), keptCode{Hash: hashCode(code), Expires: time.Now().Add(codeLife)})
	})
}

func hashCode(code string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code)))))
}

// tryCode is checkCode for callers that do not hold the lock.
func (k *Keys) tryCode(code string) error {
	return k.locked(func() error { return k.checkCode(code) })
}

// checkCode compares the code and counts wrong ones. The caller holds the lock.
func (k *Keys) checkCode(code string) error {
	var kept keptCode
	if err := durable.LoadJSON(k.code(), maxKeysFile, &kept); err != nil {
		return err
	}
	if kept.Hash == "" || !time.Now().Before(kept.Expires) {
		return errCode
	}
	if subtle.ConstantTimeCompare([]byte(kept.Hash), []byte(hashCode(code))) == 1 {
		return nil
	}
	if kept.Wrong++; kept.Wrong >= maxWrongCodes {
		return errors.Join(errCode, os.Remove(k.code()))
	}
	return errors.Join(errCode, durable.SaveJSON(k.code(), kept))
}

func (k *Keys) locked(change func() error) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	return durable.Locked(filepath.Join(k.dir, "lock"), change)
}
