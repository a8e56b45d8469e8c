package credentials

import (
	"fmt"
	"io"
	"io/fs"

	"callgate/internal/durable"
)

// maxPrivate bounds a private file, in bytes. All of them are small.
const maxPrivate = 4096

// OpenError means that other users can read or write a private file or folder.
type OpenError struct {
	Path string
	Mode fs.FileMode
}

func (e *OpenError) Error() string {
	if e.Mode.IsDir() {
		return fmt.Sprintf("%s is open to other users (mode %04o): run chmod 700 %[1]s", e.Path, e.Mode.Perm())
	}
	return fmt.Sprintf("%s is open to other users (mode %04o): run chmod 600 %[1]s, and make a new secret if others may have read it", e.Path, e.Mode.Perm())
}

// Cure returns the subcommand that repairs a credential's file. It removes a person's credential: an unreadable one may
// come from a sign-in, and a new secret would have neither its end nor its account.
func (c Credential) Cure() string {
	if c.Person() != "" {
		return "credentials remove " + string(c)
	}
	return "credentials rotate " + string(c)
}

// howToMend returns advice that names Cure and what it does.
func (c Credential) howToMend() string {
	if c.Person() != "" {
		return fmt.Sprintf("run \"callgate %s\"; then it can be added again, or %s signs in again", c.Cure(), c.Person())
	}
	return fmt.Sprintf("run \"callgate %s\", which replaces it, also while callgate runs", c.Cure())
}

// exposed is the OpenError of a credential. callgate itself can replace the credential.
type exposed struct {
	name Credential
	open *OpenError
}

func (e *exposed) Error() string {
	return fmt.Sprintf("%s is open to other users (mode %04o): %s", e.open.Path, e.open.Mode.Perm(), e.name.howToMend())
}

func (e *exposed) Unwrap() error { return e.open }

// ReadPrivate reads a small file that only the user can read and write.
func ReadPrivate(path string) ([]byte, error) {
	if err := CheckPrivate(path); err != nil {
		return nil, err
	}
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPrivate+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxPrivate {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxPrivate)
	}
	return data, nil
}

// WritePrivate writes data to path, whole or not at all. Only the user can read and write the file.
func WritePrivate(path string, data []byte) error { return durable.Replace(path, data, 0o600) }
