package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Grants are the sockets that a server can be given back, by name.
var grants = map[string]func(runtime, home string, getenv func(string) string) []string{
	"docker": func(runtime, _ string, _ func(string) string) []string {
		return []string{
			"/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock",
			runtime + "/docker.sock", runtime + "/podman/podman.sock", runtime + "/containerd-rootless",
		}
	},
	"dbus": func(runtime, _ string, _ func(string) string) []string {
		return []string{runtime + "/bus", runtime + "/systemd", "/run/dbus/system_bus_socket", "/run/systemd/private"}
	},
	"ssh-agent": func(runtime, _ string, getenv func(string) string) []string {
		return []string{getenv("SSH_AUTH_SOCK"), runtime + "/keyring", runtime + "/ssh-agent.socket", runtime + "/openssh_agent"}
	},
	"gpg-agent": func(runtime, home string, _ func(string) string) []string {
		sockets, _ := filepath.Glob(home + "/.gnupg/S.*") // a home with brackets in its name has none that is found
		return append(sockets, runtime+"/gnupg")
	},
}

// Grants are the names of what Sockets leaves out when a server is granted it.
func Grants() []string { return []string{"dbus", "docker", "gpg-agent", "ssh-agent"} }

// Sockets are those through which a program acts with the rights of its user outside of every wall: the message bus, the
// service manager, container runtimes, key agents. What is granted is left out, and so is what the program is.
func Sockets(granted []string, command string) []string {
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = "/run/user/" + strconv.Itoa(os.Getuid())
	}
	home, _ := os.UserHomeDir() // without one there is no agent of it
	program := filepath.Base(command)
	var list []string
	for _, name := range Grants() {
		runs := name == "docker" && slices.Contains([]string{"docker", "podman", "nerdctl"}, program)
		if slices.Contains(granted, name) || runs {
			continue
		}
		for _, path := range grants[name](runtime, home, os.Getenv) {
			if strings.HasPrefix(path, "/") {
				list = append(list, path)
			}
		}
	}
	return list
}
