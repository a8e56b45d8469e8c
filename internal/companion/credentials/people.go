package credentials

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/lazyregexp"
)

// A person can have their own secret. The credential "approve@alice" opens what approve opens, and the record says
// alice because the secret proves it. From then on, clients without that secret cannot use the name.

var personalName = lazyregexp.New(`^(approve|view)@([A-Za-z0-9][A-Za-z0-9._@+-]{0,62})$`)

// Of returns the name of a person's credential. role is approve or view.
func Of(role Credential, person string) (Credential, error) {
	c := Credential(string(role) + "@" + person)
	if role != Approve && role != View || !personalName.MatchString(string(c)) {
		return "", fmt.Errorf("%q: use approve@NAME for a person who answers, or view@NAME for one who watches; a name has letters, digits and . _ @ + -, at most 63", strings.TrimSuffix(string(c), "@"))
	}
	return c, nil
}

// Role returns what the credential opens, no matter whose it is.
func (c Credential) Role() Credential {
	if m := personalName.FindStringSubmatch(string(c)); m != nil {
		return Credential(m[1])
	}
	return c
}

// Person returns the person to whom the credential belongs, or "".
func (c Credential) Person() string {
	if m := personalName.FindStringSubmatch(string(c)); m != nil {
		return m[2]
	}
	return ""
}

// People returns the credentials of persons, sorted.
func (c *Store) People() (all []Credential, err error) {
	dir, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if personalName.MatchString(name) {
			all = append(all, Credential(name))
		}
	}
	slices.Sort(all)
	return all, err
}

// Add makes a person's credential. If the person already has one, the error wraps fs.ErrExist.
func (c *Store) Add(name Credential) error {
	return c.locked(func() error {
		known, err := c.People()
		if err != nil {
			return err
		}
		for _, other := range known {
			if Skeleton(other.Person()) == Skeleton(name.Person()) {
				return fmt.Errorf("%s: %w or has a name that looks the same: rotate or remove it first", other, fs.ErrExist)
			}
		}
		return c.replace(name)
	})
}

// Remove deletes a person's credential.
func (c *Store) Remove(name Credential) error {
	if name.Person() == "" {
		return fmt.Errorf("%s does not belong to one person: rotate it instead", name)
	}
	err := os.Remove(filepath.Join(c.dir, string(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no credential %s", name)
	}
	return err
}

// SignedInFor is how long the credential from a provider's sign-in lasts.
const SignedInFor = 12 * time.Hour

// SignIn gives a person who signed in at a provider a credential that expires. It extends one from an earlier sign-in,
// and removes one of another role. It never replaces a credential that was added by hand. account is the provider's
// permanent id of the person, because names can change there. While a credential lasts, its account has only this name,
// and the name only this account.
func (c *Store) SignIn(role Credential, person, account string) (name Credential, err error) {
	if name, err = Of(role, person); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(account))
	account = base64.RawURLEncoding.EncodeToString(sum[:])
	return name, c.locked(func() error {
		known, err := c.People()
		if err != nil {
			return err
		}
		for _, other := range known {
			if err := c.clearForSignIn(other, name, account); err != nil {
				return err
			}
		}
		token, until, _, err := c.read(name)
		if err != nil || !time.Now().Before(until) {
			token = newSecret()
		}
		return WritePrivate(filepath.Join(c.dir, string(name)), fmt.Appendf(nil, "%s %d %s", token, time.Now().Add(SignedInFor).Unix(), account))
	})
}

// clearForSignIn removes other if it stands in the way of a sign-in as name, or returns why the sign-in cannot go on.
func (c *Store) clearForSignIn(other, name Credential, account string) error {
	_, until, of, err := c.read(other)
	lasts := time.Now().Before(until)
	switch alike := Skeleton(other.Person()) == Skeleton(name.Person()); {
	case errors.Is(err, fs.ErrNotExist) || err != nil && !alike: // other opens nothing
		return nil
	case err != nil:
		return err
	case !alike && lasts && of == account:
		return fmt.Errorf("this account has signed in as %s, which it stays until %s", other.Person(), until.Format(time.DateTime))
	case !alike:
		return nil
	case until.IsZero():
		return fmt.Errorf("%s was added by hand: nobody can sign in under that name until you remove it", other)
	case other.Person() != name.Person() && lasts:
		return fmt.Errorf("the name looks the same as that of %s", other)
	case of != account && lasts:
		return fmt.Errorf("another account has signed in as %s", other.Person())
	case other != name || of != account:
		return os.Remove(filepath.Join(c.dir, string(other)))
	}
	return nil
}

// Knows reports whether the person has a credential that works. It returns true for "", which is no particular person.
func (c *Store) Knows(person string) bool {
	if person == "" {
		return true
	}
	for _, role := range []Credential{Approve, View} {
		if own, err := Of(role, person); err == nil {
			if _, err := c.Token(own); err == nil {
				return true
			}
		}
	}
	return false
}
