// Package workspace knows where a host works: its folders, and the window that it was started in.
package workspace

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/gitfiles"
)

// Folders says where one host works.
type Folders struct {
	Local bool // the host started callgate, and works where callgate runs

	roots atomic.Pointer[[]string] // nil until the host has named its folders
}

// Named takes the host's result of roots/list. It replaces what the host named before.
func (f *Folders) Named(result []byte) {
	roots := parseRoots(result)
	f.roots.Store(&roots)
}

// Roots returns the folders that the host has named, or nil before that.
func (f *Folders) Roots() []string {
	if roots := f.roots.Load(); roots != nil {
		return *roots
	}
	return nil
}

// parseRoots returns the local folders that a result of roots/list names.
func parseRoots(result []byte) (roots []string) {
	var list struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	if json.Unmarshal(result, &list) != nil {
		return nil
	}
	for _, r := range list.Roots {
		u, err := url.Parse(r.URI)
		if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
			continue
		}
		path := u.Path
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, "/")
		}
		if path = filepath.FromSlash(path); filepath.IsAbs(path) && !slices.Contains(roots, filepath.Clean(path)) {
			roots = append(roots, filepath.Clean(path))
		}
	}
	return roots
}

// Place returns where a server's calls run. It adds the host's roots to the folders that relative paths may mean.
func (f *Folders) Place(place tools.Place) tools.Place {
	roots := f.Roots()
	if len(roots) > 0 {
		place.Workspace = roots
	}
	for _, root := range roots {
		if !slices.Contains(place.Roots, root) {
			place.Roots = append(slices.Clip(place.Roots), root)
		}
	}
	return place
}

// Origin returns where the host works, for people to read: the first folder that it names, or else, for a local host,
// the current folder.
func (f *Folders) Origin() gate.Origin {
	var o gate.Origin
	if roots := f.Roots(); len(roots) > 0 {
		o.Folder = roots[0]
	} else if f.Local {
		if here, err := os.Getwd(); err == nil {
			o.Folder = here
		}
	}
	o.Branch = gitfiles.Branch(o.Folder)
	if f.Local {
		o.Terminal = terminalOf(os.Getenv, os.Getppid())
	}
	return gate.Origin{Folder: tools.Visible(o.Folder), Branch: tools.Visible(o.Branch), Terminal: tools.Visible(o.Terminal)}
}

// terminalOf names the window in which the host was started, as far as its environment and terminal tell.
func terminalOf(getenv func(string) string, parent int) string {
	var parts []string
	program := cmp.Or(getenv("TERM_PROGRAM"), getenv("TERMINAL_EMULATOR"))
	if program == "" && getenv("WT_SESSION") != "" {
		program = "Windows Terminal"
	}
	if pane := getenv("TMUX_PANE"); pane != "" && getenv("TMUX") != "" {
		program = "tmux " + pane
	}
	if program != "" {
		parts = append(parts, program)
	}
	if tty := terminalDevice(parent); tty != "" {
		parts = append(parts, tty)
	}
	if getenv("SSH_CONNECTION") != "" {
		from, _, _ := strings.Cut(getenv("SSH_CONNECTION"), " ")
		parts = append(parts, "over SSH from "+from)
	}
	return strings.Join(parts, ", ")
}

// terminalDevice returns the terminal among a process's standard files, or "" if that is unknown.
func terminalDevice(pid int) string {
	for _, fd := range []string{"0", "1", "2"} {
		to, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", fd))
		if err == nil && (strings.HasPrefix(to, "/dev/pts/") || strings.HasPrefix(to, "/dev/tty")) {
			return to
		}
	}
	return ""
}
