package home

import (
	"os/user"
	"runtime"
	"strings"
	"testing"

	"github.com/adrg/xdg"
)

func TestAHomeIsFound(t *testing.T) {
	u, err := user.Current()
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("the system knows no home")
	}
	t.Cleanup(xdg.Reload)
	t.Setenv("XDG_DATA_HOME", "")
	for home, want := range map[string]string{"": u.HomeDir, "home": u.HomeDir, "/tmp/x": "/tmp/x"} {
		t.Setenv("HOME", home)
		xdg.Reload()
		if find(); xdg.Home != want || !strings.HasPrefix(xdg.DataHome, want) {
			t.Errorf("HOME=%q: home %q, data in %q, want %q", home, xdg.Home, xdg.DataHome, want)
		}
	}
}
