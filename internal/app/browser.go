package app

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// CanBrowse returns an error if no browser can be started here.
func CanBrowse() error {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return errors.New("there is no display")
	}
	return nil
}

// OpenBrowser opens the page in the user's browser. Other users may see the arguments of a process. On macOS the
// address is not among them, on Windows others cannot see them, and on Linux the server accepts a code only from its
// own user's processes.
func OpenBrowser(page string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("osascript", "-")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("open location %q\n", page))
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", page)
	default:
		if err := CanBrowse(); err != nil {
			return err
		}
		cmd = exec.Command("xdg-open", page)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("no browser could be started: %w", err)
	}
	return nil
}
