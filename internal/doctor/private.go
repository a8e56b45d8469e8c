package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"callgate/internal/companion/credentials"
)

// renew returns what replaces a credential that others may have read. A person's own is replaced by that person.
func renew(dir, name string) func() error {
	if credentials.Credential(name).Person() != "" {
		return nil
	}
	return func() error {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
		_, err := credentials.Open(filepath.Dir(dir)) // makes what is missing
		return err
	}
}

// writable looks for files by which others could change what callgate decides.
func (x *examination) writable() {
	if runtime.GOOS == "windows" {
		return
	}
	look := func(path string, info fs.FileInfo) {
		if mode := info.Mode().Perm(); mode&0o022 != 0 {
			x.add(Finding{
				About: "files", Text: fmt.Sprintf("others can change %s", path), Cure: "chmod go-w " + path,
				fix: func() error { return os.Chmod(path, mode&^0o022) },
			})
		}
	}
	if info, err := os.Stat(x.o.Config); x.o.Config != "" && err == nil {
		look(x.o.Config, info)
	}
	for _, pattern := range []string{"*", "agents/*", "approvals/*", "audit/*", "connect/*", "hub/*", "workers/*", "workers/*/*"} {
		found, err := filepath.Glob(filepath.Join(x.o.DataDir, pattern))
		if err != nil {
			x.add(Finding{About: "files", Text: err.Error()})
		}
		for _, path := range found {
			if info, err := os.Lstat(path); err == nil && (info.Mode().IsRegular() || info.IsDir()) {
				look(path, info)
			}
		}
	}
}
