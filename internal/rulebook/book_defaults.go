package rulebook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"

	"callgate/permissions/store"
)

// Shipped returns the rules file, and the file with the rules that this version ships merged in.
func (b *Book) Shipped() (base, merged []byte, err error) {
	if base, err = b.Store.Text(); err != nil {
		return nil, nil, err
	}
	merged, err = store.MergeDefaults(b.Store.Path(), base, xdg.Home)
	return base, merged, err
}

// MergeDefaults merges the shipped rules into the file and keeps a copy of the old one.
func (b *Book) MergeDefaults() error {
	base, merged, err := b.Shipped()
	switch {
	case err != nil:
		return err
	case bytes.Equal(base, merged):
		return b.Say("your file has all the rules that this version ships")
	}
	return b.Install(base, merged, "shipped rules merged into the file")
}

// Changed returns the rules file, and the file as it would be after the edit.
func (b *Book) Changed(edit func(*store.Store) error) (base, text []byte, err error) {
	if base, err = b.Store.Text(); err != nil {
		return nil, nil, err
	}
	// The copy is beside the file, where no tool may read or change it.
	dir, err := os.MkdirTemp(filepath.Dir(b.Store.Path()), "change-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, filepath.Base(b.Store.Path()))
	if err := os.WriteFile(path, base, 0o600); err != nil {
		return nil, nil, err
	}
	copied := store.Open(path, store.Options{Home: xdg.Home})
	if err := edit(copied); err != nil {
		return nil, nil, err
	}
	text, err = copied.Text()
	return base, text, err
}

// Install replaces the file, whose text was base, by text, and keeps a copy of the old file.
func (b *Book) Install(base, text []byte, summary string) error {
	return b.Record(func() (string, error) {
		backup, err := keepBeside(b.Store.Path(), base)
		if err != nil {
			return "", fmt.Errorf("the old rules could not be kept, so nothing was changed: %w", err)
		}
		if err := b.Store.Replace(base, text); err != nil {
			return "", err
		}
		return summary, b.Say("changed %s; the old rules are in %s", b.Store.Path(), backup)
	})
}

// keepBeside writes a copy of a file under an unused name, which it returns. Two changes in one second keep both
// copies.
func keepBeside(path string, text []byte) (string, error) {
	name := path + "." + time.Now().UTC().Format("20060102T150405Z")
	backup := name + ".bak"
	f, err := os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	for n := 2; errors.Is(err, fs.ErrExist) && n <= 1000; n++ {
		backup = fmt.Sprintf("%s-%d.bak", name, n)
		f, err = os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return backup, errors.Join(err, f.Sync(), f.Close())
}
