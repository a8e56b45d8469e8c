package companion

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/durable"
)

// Credential names one of the secrets in {dataDir}/credentials. None implies another.
type Credential string

const (
	CredentialApprove Credential = "approve" // may watch and answer
	CredentialView    Credential = "view"    // may watch
	CredentialMCP     Credential = "mcp"     // lets a host speak MCP over HTTP; opens nothing here
	CredentialWorker  Credential = "worker"  // lets a process join the hub and show its own approvals there
	CredentialTools   Credential = "tools"   // may bring tools into sessions, and sees which sessions there are
	CredentialHook    Credential = "hook"    // lets the hooks of hosts ask whether a call may run; opens nothing here
	CredentialPrompt  Credential = "prompt"  // may tell what the user said to the model, and sees which sessions there are
)

const (
	tokenBytes  = 32
	tokenLength = 43 // of tokenBytes in unpadded base64url
)

// Credentials reads and makes the secrets of one data directory. Each secret is 32 random bytes in
// base64url, in a file of its own: 0600, in a directory that is 0700. They are handed over by file only,
// never in arguments or the environment, where every process of the user could read them.
//
// Files are read again on every use, which is rare (a connection, a REST call, an answer), so that a
// rotated secret stops working at once in every process.
type Credentials struct{ dir string }

func credentialsDir(dataDir string) string { return filepath.Join(dataDir, "credentials") }

// OpenCredentials makes what is missing and checks what is there. Processes that start at the same time
// agree on the same secrets. Files or directories that others may read or write are refused: what was
// readable once has to be rotated, not repaired.
func OpenCredentials(dataDir string) (*Credentials, error) {
	c := &Credentials{dir: credentialsDir(dataDir)}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if err := checkPrivate(c.dir); err != nil {
		return nil, err
	}
	err := c.locked(func() error {
		for _, name := range []Credential{CredentialApprove, CredentialView, CredentialMCP, CredentialWorker, CredentialTools, CredentialHook, CredentialPrompt} {
			_, err := c.Token(name)
			if errors.Is(err, fs.ErrNotExist) {
				err = c.replace(name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Token returns the secret called name. The error wraps fs.ErrNotExist when it was never made.
func (c *Credentials) Token(name Credential) (string, error) {
	data, err := readPrivate(filepath.Join(c.dir, string(name)))
	if err != nil {
		return "", err
	}
	token := string(data)
	if raw, err := base64.RawURLEncoding.Strict().DecodeString(token); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("credential %q in %s is damaged: rotate it", name, c.dir)
	}
	return token, nil
}

// Foreign returns the secret of another service that the user put beside callgate's own, where no tool may
// look: {dataDir}/credentials/{name}. It has to be as private as they are. The error wraps fs.ErrNotExist
// when there is none.
func Foreign(dataDir, name string) (string, error) {
	data, err := readPrivate(filepath.Join(credentialsDir(dataDir), name))
	return strings.TrimSpace(string(data)), err
}

// Rotate replaces the secret called name. Clients that hold the old one are turned away from now on.
func (c *Credentials) Rotate(name Credential) error {
	return c.locked(func() error { return c.replace(name) })
}

// identify returns which of the credentials of the companion token is, a person's among them, or "".
func (c *Credentials) identify(token string) (Credential, error) {
	if len(token) != tokenLength {
		return "", nil
	}
	people, err := c.People()
	if err != nil {
		return "", err
	}
	for _, name := range append(people, CredentialApprove, CredentialView, CredentialTools, CredentialPrompt) {
		want, err := c.Token(name)
		if errors.Is(err, fs.ErrNotExist) && name.Person() != "" { // removed meanwhile
			continue
		}
		if err != nil {
			return "", err
		}
		if subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1 {
			return name, nil
		}
	}
	return "", nil
}

// locked runs f while no other process makes secrets.
func (c *Credentials) locked(f func() error) error {
	if err := durable.Locked(filepath.Join(c.dir, ".lock"), f); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return nil
}

// replace writes a new secret. The caller MUST hold the lock.
func (c *Credentials) replace(name Credential) error {
	var secret [tokenBytes]byte
	rand.Read(secret[:])
	token := base64.RawURLEncoding.EncodeToString(secret[:])
	return writePrivate(filepath.Join(c.dir, string(name)), []byte(token))
}
