package proxy

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/gitfiles"
	"callgate/internal/rpc"
)

// folders are where one host works.
type folders struct {
	h     *host
	roots atomic.Pointer[[]string] // nil until the host has named them
}

// rootsPatience bounds how long a host may take to name its roots. Nothing waits for it: some hosts declare
// roots and never answer.
const rootsPatience = 30 * time.Second

// learn asks the host for its workspace folders: relative paths of calls may mean them too. It is told
// again when they change.
func (f *folders) learn() {
	if can := f.h.capable.Load(); can == nil || !can.roots {
		f.opened(nil)
		return
	}
	f.h.work.Go(func() {
		defer func() { f.opened(f.roots.Load()) }()
		pending, err := f.h.ask(nil, "roots", func(id []byte) []byte { return rpc.Request(id, "roots/list", nil) })
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(f.h.ctx, rootsPatience)
		defer cancel()
		answer, err := pending.Wait(ctx)
		if err != nil || answer.Result == nil {
			f.h.log.Debug("the host did not name its roots", "error", err)
			return
		}
		roots := parseRoots(answer.Result)
		f.roots.Store(&roots)
		f.h.folders.locate()
	})
}

// Workspaces is told which folders the hosts of a proxy work in.
type Workspaces interface {
	// Opened is called when a host has shaken hands and named its folders, none if it names none, and whenever
	// it names others.
	Opened(sessionID string, folders []string)

	// Closed is called when the session ends, also for one that was never opened.
	Closed(sessionID string)
}

// opened tells of the host's folders; nil when it has named none.
func (f *folders) opened(roots *[]string) {
	if f.h.p.o.Workspaces == nil || f.h.ctx.Err() != nil {
		return
	}
	var folders []string
	if roots != nil {
		folders = *roots
	}
	f.h.p.o.Workspaces.Opened(f.h.session.ID(), folders)
}

// parseRoots returns the folders that a result of roots/list names. What is no local folder is left out.
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

// placeOf is where calls of the server run, with the host's roots among those that relative paths may mean.
func (f *folders) placeOf(s *server) tools.Place {
	place := s.place
	if roots := f.roots.Load(); roots != nil {
		if len(*roots) > 0 {
			place.Workspace = *roots
		}
		for _, root := range *roots {
			if !slices.Contains(place.Roots, root) {
				place.Roots = append(slices.Clip(place.Roots), root)
			}
		}
	}
	return place
}

// locate tells people where the host works: the first folder that it names, else, for the one that started callgate,
// the current folder.
func (f *folders) locate() {
	var o gate.Origin
	local := f.h.principal == StdioPrincipal
	if roots := f.roots.Load(); roots != nil && len(*roots) > 0 {
		o.Folder = (*roots)[0]
	} else if local {
		if here, err := os.Getwd(); err == nil {
			o.Folder = here
		}
	}
	o.Branch = gitfiles.Branch(o.Folder)
	if local {
		o.Terminal = terminalOf(os.Getenv, os.Getppid())
	}
	f.h.session.SetOrigin(gate.Origin{Folder: tools.Visible(o.Folder), Branch: tools.Visible(o.Branch), Terminal: tools.Visible(o.Terminal)})
}

// terminalOf names the window that the host was started in, as far as its environment and its terminal tell.
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

// terminalDevice is the terminal that a process has as one of its standard files; "" where that cannot be told.
func terminalDevice(pid int) string {
	for _, fd := range []string{"0", "1", "2"} {
		to, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", fd))
		if err == nil && (strings.HasPrefix(to, "/dev/pts/") || strings.HasPrefix(to, "/dev/tty")) {
			return to
		}
	}
	return ""
}
