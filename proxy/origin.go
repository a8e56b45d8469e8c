package proxy

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/gate"
	"callgate/gate/tools"
)

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
	o.Branch = branchOf(o.Folder)
	if local {
		o.Terminal = terminalOf(os.Getenv, os.Getppid())
	}
	f.h.session.SetOrigin(gate.Origin{Folder: tools.Visible(o.Folder), Branch: tools.Visible(o.Branch), Terminal: tools.Visible(o.Terminal)})
}

// maxGitFile bounds, in bytes, what is read of a repository to learn its branch. Nothing of the repository is run.
const maxGitFile = 4 << 10

// branchOf is the branch that is checked out in the folder, or in the repository that it lies in; the commit's first
// digits when there is none, "" outside repositories.
func branchOf(folder string) string {
	if folder == "" {
		return ""
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if !info.IsDir() { // a work tree beside its repository
				at, ok := strings.CutPrefix(firstLineOf(git), "gitdir: ")
				if !ok {
					return ""
				}
				if git = at; !filepath.IsAbs(git) {
					git = filepath.Join(dir, git)
				}
			}
			head := firstLineOf(filepath.Join(git, "HEAD"))
			if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
				return branch
			}
			return head[:min(len(head), 8)]
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// firstLineOf reads the first line of a small regular file; "" for anything else.
func firstLineOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
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
