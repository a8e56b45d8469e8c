package rulebook

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/adrg/xdg"

	"callgate/permissions"
)

// Shipped returns the rules file and what it would be with the rules that this version ships merged in.
func (b *Book) Shipped() (base, merged []byte, err error) {
	if base, err = b.Store.Text(); err != nil {
		return nil, nil, err
	}
	merged, err = permissions.MergeDefaults(b.Store.Path(), base, xdg.Home)
	return base, merged, err
}

// MergeDefaults merges the shipped rules into the file and keeps a copy of the old one.
func (b *Book) MergeDefaults() error {
	base, merged, err := b.Shipped()
	switch {
	case err != nil:
		return err
	case bytes.Equal(base, merged):
		return b.Say("your rules hold what this version ships")
	}
	return b.Record(func() (string, error) {
		backup, err := keepBeside(b.Store.Path(), base)
		if err != nil {
			return "", fmt.Errorf("the old rules could not be kept, so nothing was changed: %w", err)
		}
		if err := b.Store.Replace(base, merged); err != nil {
			return "", err
		}
		return "shipped rules merged into the file", b.Say("changed %s; the old rules are in %s", b.Store.Path(), backup)
	})
}

// keepBeside writes a copy of a file under a name that is free and returns that.
func keepBeside(path string, text []byte) (string, error) {
	backup := path + "." + time.Now().UTC().Format("20060102T150405Z") + ".bak"
	f, err := os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return backup, errors.Join(err, f.Sync(), f.Close())
}
