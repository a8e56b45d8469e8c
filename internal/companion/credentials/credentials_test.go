package credentials

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestCredentials(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]Credential{}
	for _, name := range []Credential{Approve, View, MCP} {
		token, err := c.Token(name)
		if err != nil || len(token) != tokenLength {
			t.Fatalf("%s: %q, %v", name, token, err)
		}
		tokens[token] = name
	}
	if len(tokens) != 3 {
		t.Fatal("two credentials are the same")
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for token, name := range tokens {
		if kept, err := again.Token(name); err != nil || kept != token {
			t.Errorf("%s changed when it was opened again: %v", name, err)
		}
		want := name
		if name == MCP {
			want = ""
		}
		if got, err := again.Identify(token); err != nil || got != want {
			t.Errorf("%s is taken for %q, %v; want %q", name, got, err, want)
		}
		if err := c.Rotate(name); err != nil {
			t.Fatal(err)
		}
		if got, err := again.Identify(token); err != nil || got != "" {
			t.Errorf("%s after rotation is still %q, %v", name, got, err)
		}
	}
	for _, token := range []string{"", "x", strings.Repeat("A", tokenLength), strings.Repeat("A", tokenLength+1)} {
		if got, err := c.Identify(token); err != nil || got != "" {
			t.Errorf("%q is taken for %q, %v", token, got, err)
		}
	}
}

func TestCredentialsStartedAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	const starts = 16
	var got [starts]string
	var wait sync.WaitGroup
	for i := range starts {
		wait.Go(func() {
			c, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if got[i], err = c.Token(Approve); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, token := range got {
		if token != got[0] {
			t.Fatal("processes that started at once hold different credentials")
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "credentials", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCredentialsModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	dir := filepath.Join(t.TempDir(), "data")
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.dir, string(Approve))
	for name, want := range map[string]os.FileMode{c.dir: 0o700, path: 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	for _, tt := range []struct {
		name  string
		spoil func() error
		mend  func() error
	}{
		{"file readable by the group", func() error { return os.Chmod(path, 0o640) }, func() error { return At(dir).Rotate(Approve) }},
		{"file writable by others", func() error { return os.Chmod(path, 0o602) }, func() error { return os.Chmod(path, 0o600) }},
		{"directory listable", func() error { return os.Chmod(c.dir, 0o755) }, func() error { return os.Chmod(c.dir, 0o700) }},
		{"symbolic link", func() error {
			if err := os.Rename(path, path+".real"); err != nil {
				return err
			}
			return os.Symlink(path+".real", path)
		}, func() error { return os.Rename(path+".real", path) }},
		{"damaged", func() error { return os.WriteFile(path, []byte("short"), 0o600) }, func() error { return c.Rotate(Approve) }},
		{"huge", func() error { return os.WriteFile(path, make([]byte, maxPrivate+1), 0o600) }, func() error { return c.Rotate(Approve) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.spoil(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err == nil {
				t.Error("it was accepted")
			}
			if err := c.Check(); err == nil || !strings.Contains(err.Error(), c.dir) {
				t.Errorf("check: %v", err)
			}
			if err := tt.mend(); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir); err != nil {
				t.Errorf("after it was mended: %v", err)
			}
		})
	}
}

// An unusable secret opens nothing, is reported, and does not stop the others from working.
func TestOneBadCredential(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	for name, spoil := range map[string]func(path string) error{
		"empty":                 func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"readable by the group": func(path string) error { return os.Chmod(path, 0o640) },
		"a folder": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
	} {
		for _, bad := range []Credential{"view@bob", Hook, View, Prompt} {
			t.Run(name+" "+string(bad), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				c, err := Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(c.Add("view@bob"), c.Add("approve@alice")); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(c.dir, string(bad))
				of, err := c.Token(bad)
				if err == nil {
					err = spoil(path)
				}
				if err != nil {
					t.Fatal(err)
				}
				if c, err = Open(dir); err != nil {
					t.Fatal(err)
				}
				for _, good := range []Credential{Approve, "approve@alice"} {
					token, err := c.Token(good)
					if err != nil {
						t.Fatal(err)
					}
					if got, err := c.Identify(token); got != good || err != nil {
						t.Errorf("%s is taken for %q, %v", good, got, err)
					}
				}
				if got, err := c.Identify(of); got != "" || bad != Hook && (err == nil || !strings.Contains(err.Error(), path)) {
					t.Errorf("the bad one is taken for %q, %v", got, err)
				}
				if faults := c.Faults(); len(faults) != 1 || faults[0].Name != bad || !strings.Contains(faults[0].Err.Error(), path) {
					t.Errorf("faults: %v", faults)
				}
				if _, err := c.SignIn(Approve, "carol", "account"); err != nil {
					t.Errorf("others cannot sign in: %v", err)
				}
			})
		}
	}
}

// Rotate does not create a person's credential, and does not extend one from a sign-in.
func TestRotateAPersons(t *testing.T) {
	c, err := Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Rotate("approve@zed"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that never was: %v", err)
	}
	if people, err := c.People(); err != nil || len(people) > 0 {
		t.Errorf("made: %v, %v", people, err)
	}
	name, err := c.SignIn(Approve, "alice", "account")
	if err != nil {
		t.Fatal(err)
	}
	before, until, account, err := c.read(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Rotate(name); err != nil {
		t.Fatal(err)
	}
	if token, ends, of, err := c.read(name); err != nil || token == before || !ends.Equal(until) || of != account {
		t.Errorf("rotated: ends %v, was %v, %v", ends, until, err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, string(name)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = c.SignIn(Approve, "alice", "account")
	if err == nil || !strings.Contains(err.Error(), "callgate credentials remove approve@alice") {
		t.Errorf("signed in with a damaged file: %v", err)
	}
	if err := c.Rotate(name); err == nil {
		t.Error("what may be of a sign-in lasts for good")
	}
	if err := c.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SignIn(Approve, "alice", "account"); err != nil {
		t.Errorf("after what was said: %v", err)
	}
}
