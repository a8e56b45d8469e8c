// Package credentials makes, reads and proves the secrets of one data directory. A client shows no secret before the
// other side has proved that it holds the same one.
package credentials

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"callgate/internal/durable"
)

// Credential names a secret in {dataDir}/credentials. None implies another.
type Credential string

const (
	Approve Credential = "approve" // may watch and answer
	View    Credential = "view"    // may watch
	MCP     Credential = "mcp"     // lets a host speak MCP over HTTP; opens nothing here
	Worker  Credential = "worker"  // lets a process join the hub and show its own approvals there
	Tools   Credential = "tools"   // may bring tools into sessions, and list the sessions
	Hook    Credential = "hook"    // lets the hooks of hosts ask whether a call may run; opens nothing here
	Prompt  Credential = "prompt"  // may report what the user said to the model, and list the sessions
)

const (
	TokenBytes  = 32
	tokenLength = 43 // TokenBytes in unpadded base64url
)

// Names returns the credentials that do not belong to one person. All of them exist after Open.
func Names() []Credential { return []Credential{Approve, View, MCP, Worker, Tools, Hook, Prompt} }

// Store reads and makes the secrets of one data directory. Each secret is 32 random bytes in base64url, in its own
// file: mode 0600, in a directory of mode 0700. Secrets are handed over by file only, never in arguments or the
// environment, where every process of the user could read them.
//
// Store reads a file again on every use, which is rare (a connection, a REST call, an answer). So a rotated secret
// stops working at once in every process.
type Store struct{ dir string }

func Dir(dataDir string) string { return filepath.Join(dataDir, "credentials") }

// Open makes missing secrets and checks the others. Processes that start at the same time agree on the same secrets.
// Open fails if Check does. Any other secret that is damaged, or that others may read or write, opens nothing but does
// not stop the rest from working. A secret that others could read must be rotated; changing its mode is not enough.
func Open(dataDir string) (*Store, error) {
	c := &Store{dir: Dir(dataDir)}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if err := CheckPrivate(c.dir); err != nil {
		return nil, err
	}
	err := c.locked(func() error {
		for _, name := range Names() {
			_, err := c.Token(name)
			if errors.Is(err, fs.ErrNotExist) {
				err = c.replace(name)
			} else {
				err = nil // left to Check
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// At returns the secrets of a data directory as they are. It makes none.
func At(dataDir string) *Store { return &Store{dir: Dir(dataDir)} }

// ErrDamaged means that a file exists and is private, but holds no secret.
var ErrDamaged = errors.New("damaged")

// Lasting returns the secret called name if it has no end, and "" if a sign-in made it. The error wraps fs.ErrNotExist
// if there is no such secret, or ErrDamaged.
func (c *Store) Lasting(name Credential) (string, error) {
	token, until, _, err := c.read(name)
	if err != nil || !until.IsZero() {
		return "", err
	}
	return token, nil
}

// Token returns the secret called name. The error wraps fs.ErrNotExist if there is none or its sign-in is over.
func (c *Store) Token(name Credential) (string, error) {
	token, until, _, err := c.read(name)
	if err == nil && !until.IsZero() && !time.Now().Before(until) {
		return "", fmt.Errorf("credential %q: the sign-in is over: %w", name, fs.ErrNotExist)
	}
	return token, err
}

// read returns the secret called name. For one made by a sign-in it also returns its end and the hash of the account;
// for others these are zero and "".
func (c *Store) read(name Credential) (token string, until time.Time, account string, err error) {
	data, err := ReadPrivate(filepath.Join(c.dir, string(name)))
	if open, ok := errors.AsType[*OpenError](err); ok {
		err = &exposed{name, open}
	}
	if err != nil {
		return "", until, "", err
	}
	token, rest, ends := strings.Cut(string(data), " ")
	if ends {
		var end string
		end, account, _ = strings.Cut(rest, " ")
		var seconds int64
		seconds, err = strconv.ParseInt(end, 10, 64)
		until = time.Unix(seconds, 0)
	}
	if raw, wrong := base64.RawURLEncoding.Strict().DecodeString(token); err != nil || wrong != nil || len(raw) != TokenBytes || ends && name.Person() == "" {
		return "", until, "", fmt.Errorf("%s is %w: %s", filepath.Join(c.dir, string(name)), ErrDamaged, name.howToMend())
	}
	return token, until, account, nil
}

// Foreign returns the secret of another service that the user put beside callgate's own, where no tool may look:
// {dataDir}/credentials/{name}. It must be as private as they are. The error wraps fs.ErrNotExist if there is none.
func Foreign(dataDir, name string) (string, error) {
	data, err := ReadPrivate(filepath.Join(Dir(dataDir), name))
	return strings.TrimSpace(string(data)), err
}

// Check returns what is wrong with the folder, or with a secret by which callgate's processes recognize each other.
func (c *Store) Check() error {
	if err := CheckPrivate(c.dir); err != nil {
		return err
	}
	for _, name := range []Credential{Approve, Worker} {
		if _, _, _, err := c.read(name); err != nil {
			return err
		}
	}
	return nil
}

// Fault describes a credential that cannot be used although its file exists.
type Fault struct {
	Name Credential
	Err  error // names the file and the remedy
}

// Faults lists the credentials that cannot be used. The others still work.
func (c *Store) Faults() (all []Fault) {
	people, err := c.People()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []Fault{{Err: fmt.Errorf("credentials: %w", err)}}
	}
	for _, name := range append(people, Names()...) {
		if _, _, _, err := c.read(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, Fault{name, err})
		}
	}
	return all
}

// Rotate replaces the secret called name, even a damaged one. Clients with the old secret are refused from now on.
// Rotate does not create a person's credential: the error wraps fs.ErrNotExist if there is none. A secret from a
// sign-in keeps its end; if the end cannot be read, Rotate fails and changes nothing.
func (c *Store) Rotate(name Credential) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if err := CheckPrivate(c.dir); err != nil {
		return err
	}
	return c.locked(func() error {
		if name.Person() == "" {
			return c.replace(name)
		}
		if _, err := os.Lstat(filepath.Join(c.dir, string(name))); err != nil {
			return fmt.Errorf("there is no credential %s: %w; callgate credentials add makes one", name, fs.ErrNotExist)
		}
		_, until, account, err := c.read(name)
		if err != nil {
			return err
		}
		if until.IsZero() {
			return c.replace(name)
		}
		return WritePrivate(filepath.Join(c.dir, string(name)), fmt.Appendf(nil, "%s %d %s", newSecret(), until.Unix(), account))
	})
}

// Identify returns the companion's credential with this token, which may be a person's, or "". It skips credentials
// that cannot be read; the error lists them if no other matches.
func (c *Store) Identify(token string) (Credential, error) {
	if len(token) != tokenLength {
		return "", nil
	}
	people, err := c.People()
	faults := []error{err}
	for _, name := range append(people, Approve, View, Tools, Prompt) {
		want, err := c.Token(name)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) || name.Person() == "" { // a person's credential may have been removed in the meantime
				faults = append(faults, err)
			}
			continue
		}
		if subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1 {
			return name, nil
		}
	}
	return "", errors.Join(faults...)
}

// State returns a text that changes whenever the folder changes.
func (c *Store) State() string {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "%s %d %d %v\n", e.Name(), info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	return b.String()
}

// locked runs f while no other process makes secrets.
func (c *Store) locked(f func() error) error {
	if err := durable.Locked(filepath.Join(c.dir, ".lock"), f); err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	return nil
}

// replace writes a new secret. The caller MUST hold the lock.
func (c *Store) replace(name Credential) error {
	return WritePrivate(filepath.Join(c.dir, string(name)), []byte(newSecret()))
}

func newSecret() string {
	var secret [TokenBytes]byte
	rand.Read(secret[:])
	return base64.RawURLEncoding.EncodeToString(secret[:])
}
