package guard

import (
	"slices"
	"testing"
)

// TestSocketsOfVariables checks that the wall closes the sockets that variables of the session name, but granted ones.
func TestSocketsOfVariables(t *testing.T) {
	for _, c := range []struct{ grant, variable, value, path string }{
		{"terminal", "TMUX", "/work/t.sock,12,0", "/work/t.sock"},
		{"terminal", "NVIM", "/work/nvim.sock", "/work/nvim.sock"},
		{"terminal", "KITTY_LISTEN_ON", "unix:/work/kitty", "/work/kitty"},
		{"terminal", "WEZTERM_UNIX_SOCKET", "/work/wezterm", "/work/wezterm"},
		{"terminal", "VSCODE_IPC_HOOK_CLI", "/work/code.sock", "/work/code.sock"},
		{"ssh-agent", "SSH_AUTH_SOCK", "/work/agent", "/work/agent"},
		{"docker", "DOCKER_HOST", "unix:///work/docker.sock", "/work/docker.sock"},
		{"dbus", "DBUS_SESSION_BUS_ADDRESS", "unix:path=/work/bus,guid=1", "/work/bus"},
	} {
		t.Setenv(c.variable, c.value)
		var closed, granted Wall
		closed.CloseSockets(nil, "server")
		granted.CloseSockets([]string{c.grant}, "server")
		if !slices.Contains(closed.Sockets, c.path) || slices.Contains(granted.Sockets, c.path) {
			t.Errorf("%s=%s: closed %v, with a grant %v", c.variable, c.value, closed.Sockets, granted.Sockets)
		}
	}
}
