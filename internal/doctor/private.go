package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"callgate/internal/companion/credentials"
)

// replace returns the finding for a credential that other users may have read, with the cure. A credential of another
// service has to be replaced there.
func (x *examination) replace(name credentials.Credential, open *credentials.OpenError) Finding {
	f := Finding{About: "credentials", Text: fmt.Sprintf("others can read %s: replace it", open.Path), Cure: x.run(name.Cure())}
	switch {
	case slices.Contains(credentials.Names(), name):
		f.fix = func() error { return x.o.Rotate(name) }
	case name.Person() == "":
		f.Text, f.Cure = fmt.Sprintf("others can read %s: close it, and put a new secret of that service there", open.Path), "chmod 600 "+open.Path
	}
	return f
}

// damaged reports the secrets that cannot be used, except those that other users can read.
func (x *examination) damaged() {
	for _, fault := range credentials.At(x.o.DataDir).Faults() {
		if _, open := errors.AsType[*credentials.OpenError](fault.Err); open {
			continue
		}
		f := Finding{About: "credentials", Text: fault.Err.Error()}
		if fault.Name != "" {
			f.Cure = x.run(fault.Name.Cure())
		}
		if slices.Contains(credentials.Names(), fault.Name) {
			f.fix = func() error { return x.o.Rotate(fault.Name) }
		}
		x.add(f)
	}
	for _, t := range x.o.Tokens {
		x.add(Finding{About: "credentials", Text: fmt.Sprintf("mcpTokens: %s cannot connect: %v", t.Name, t.Err), Cure: "put a token there, or remove the entry"})
	}
}

// writable reports files with which other users could change what callgate decides.
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
	patterns := []string{"*", "agents/*", "approvals/*", "audit/*", "connect/*", "hub/*", "workers/*", "workers/*/*"}
	for _, pattern := range append([]string{""}, patterns...) { // a tenant's folder is like the data directory
		patterns = append(patterns, filepath.Join("tenants/*", pattern))
	}
	for _, pattern := range patterns {
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
