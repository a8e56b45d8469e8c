// Package home finds the home folder of a user whose HOME is missing or not an absolute path, because rules, data and
// servers depend on it. A package that imports it sees the right xdg.Home even in its package variables.
package home

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

func init() { find() }

// find sets HOME to the home folder that the system knows.
func find() {
	if runtime.GOOS == "windows" || filepath.IsAbs(os.Getenv("HOME")) {
		return
	}
	if u, err := user.Current(); err == nil && os.Setenv("HOME", u.HomeDir) == nil {
		xdg.Reload()
	}
}
