package guard

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// session describes where the sockets of a user's session are.
type session struct {
	runtime, home, user string
	getenv              func(string) string
}

// unixOf returns the socket that a variable names, like unix:///run/docker.sock or unix:path=/run/bus,guid=…; "" if it
// names none.
func (s *session) unixOf(variable string) string {
	path, ok := strings.CutPrefix(s.getenv(variable), "unix:")
	if !ok {
		return ""
	}
	path, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "path="), "//"), ",")
	return path
}

// found returns the files that match.
func found(patterns ...string) (paths []string) {
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // brackets in the home's name can make it invalid: nothing is found
		paths = append(paths, matches...)
	}
	return paths
}

// grants holds the sockets that can be granted to a server, by name.
var grants = map[string]func(s *session) []string{
	"docker": func(s *session) []string {
		return append(found(s.home+"/.docker/run/*.sock", s.home+"/.docker/desktop/*.sock", s.home+"/.colima/*/*.sock", s.home+"/.rd/*.sock", s.home+"/.lima/*/sock/*.sock"),
			"/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock", "/run/libvirt",
			s.runtime+"/docker.sock", s.runtime+"/podman", s.runtime+"/containerd-rootless", s.runtime+"/libvirt",
			s.unixOf("DOCKER_HOST"), s.unixOf("CONTAINER_HOST"))
	},
	"dbus": func(s *session) []string {
		return []string{s.runtime + "/bus", s.runtime + "/systemd", "/run/dbus/system_bus_socket", "/run/systemd/private", s.unixOf("DBUS_SESSION_BUS_ADDRESS")}
	},
	"ssh-agent": func(s *session) []string {
		return append(found("/tmp/ssh-*/agent.*", s.home+"/.ssh/agent/*"), s.getenv("SSH_AUTH_SOCK"), s.runtime+"/keyring", s.runtime+"/gcr", s.runtime+"/ssh-agent.socket", s.runtime+"/openssh_agent",
			s.home+"/.1password/agent.sock", s.home+"/.bitwarden-ssh-agent.sock")
	},
	"gpg-agent": func(s *session) []string {
		return append(found(s.home+"/.gnupg/S.*", cmp.Or(s.getenv("GNUPGHOME"), s.home)+"/S.gpg-agent*"), s.runtime+"/gnupg")
	},
	// Programs that type into terminals or run what they are told: an approver may be using one.
	"terminal": func(s *session) []string {
		tmux, _, _ := strings.Cut(s.getenv("TMUX"), ",") // with -S or -L, it can be anywhere
		uid := strconv.Itoa(os.Getuid())
		return append(found(s.runtime+"/nvim.*", s.runtime+"/kitty*", s.runtime+"/wezterm", s.runtime+"/zellij", s.runtime+"/emacs", s.runtime+"/vscode-ipc-*",
			"/tmp/kitty-*", "/tmp/zellij-"+uid, "/tmp/emacs"+uid, "/tmp/nvim."+s.user, "/tmp/vscode-ipc-*"),
			"/run/screen/S-"+s.user, s.home+"/.screen", s.getenv("SCREENDIR"), tmux, s.getenv("NVIM"), s.getenv("NVIM_LISTEN_ADDRESS"),
			s.unixOf("KITTY_LISTEN_ON"), s.getenv("WEZTERM_UNIX_SOCKET"), s.getenv("VSCODE_IPC_HOOK_CLI"))
	},
}

// Grants returns the names of the grants: CloseSockets leaves their sockets open for a server that has them.
func Grants() []string { return []string{"dbus", "docker", "gpg-agent", "ssh-agent", "terminal"} }

// CloseSockets adds to the wall the sockets through which a program acts with its user's rights outside every wall: the
// message bus, the service manager, container runtimes, key agents, terminals. It leaves out granted sockets, and those
// that command itself is a client of.
func (w *Wall) CloseSockets(granted []string, command string) {
	s := session{runtime: os.Getenv("XDG_RUNTIME_DIR"), user: filepath.Base(os.Getenv("USER")), getenv: os.Getenv}
	s.runtime = cmp.Or(s.runtime, "/run/user/"+strconv.Itoa(os.Getuid()))
	s.home, _ = os.UserHomeDir() // without a home there are no sockets in it
	program := filepath.Base(command)
	for _, name := range Grants() {
		runs := name == "docker" && slices.Contains([]string{"docker", "podman", "nerdctl"}, program)
		if slices.Contains(granted, name) || runs {
			continue
		}
		for _, path := range grants[name](&s) {
			if strings.HasPrefix(path, "/") {
				w.Sockets = append(w.Sockets, path)
			}
		}
		if name == "terminal" {
			dir := cmp.Or(os.Getenv("TMUX_TMPDIR"), "/tmp")
			w.Apart = append(w.Apart, filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid())))
		}
	}
}
