// Package home finds the home of a user whose HOME is missing or no absolute path: rules, data and servers are about
// it. Who imports it sees the right xdg.Home from the first variable on.
package home

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

func init() { find() }

// find sets HOME as the system knows it.
func find() {
	if runtime.GOOS == "windows" || filepath.IsAbs(os.Getenv("HOME")) {
		return
	}
	if u, err := user.Current(); err == nil && os.Setenv("HOME", u.HomeDir) == nil {
		xdg.Reload()
	}
}
