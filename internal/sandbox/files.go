// Package sandbox decides what a server in a sandbox can reach: files, by the rules and the server's command line, and
// the network, through a proxy that has every host judged. internal/guard has the kernel's part.
package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/guard"
	"callgate/permissions"
)

// Level says how much of the system a sandbox opens.
type Level string

const (
	Off Level = "off"
	// Workspace opens for change the workspace, the folders that the server's command line names and the caches of its
	// package runner, besides what the rules allow.
	Workspace Level = "workspace"
	// Strict opens what the rules allow and, only for reading, the workspace and the files that the command line names.
	Strict Level = "strict"
)

// ParseLevel parses a level; "" means Off.
func ParseLevel(s string) (Level, error) {
	switch l := Level(s); l {
	case "":
		return Off, nil
	case Off, Workspace, Strict:
		return l, nil
	}
	return "", fmt.Errorf("sandbox is %q: use off, workspace or strict", s)
}

// Options describes the sandbox of one server.
type Options struct {
	Level  Level
	Server string              // its name in the configuration
	Rules  []permissions.Rule  // from the worker's file
	Grants []permissions.Grant // from the worker's file
	Home   string
	Dir    string // the workspace, in which the server runs; absolute
	Args   []string
	Read   []string // added by the user; absolute
	Write  []string // added by the user; absolute
	Net    guard.Net
	Limits guard.Limits
}

// system lists the places that programs need to run at all.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/snap", "/gnu", "/etc", "/sys",
	"/var/lib/ca-certificates", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system",
}

// secrets lists system files that every sandbox hides. They matter where callgate runs as root.
var secrets = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/krb5.keytab", "/etc/wireguard", "/etc/NetworkManager/system-connections"}

// caches lists the folders below the home that package runners write to.
var caches = map[string][]string{
	"npx": {".npm"}, "npm": {".npm"}, "pnpm": {".local/share/pnpm/store", ".cache/pnpm"}, "yarn": {".yarn/berry", ".cache/yarn"},
	"bunx": {".bun/install/cache"}, "bun": {".bun/install/cache"}, "deno": {".cache/deno"},
	"uvx": {".cache/uv", ".local/share/uv"}, "uv": {".cache/uv", ".local/share/uv"}, "pipx": {".local/share/pipx", ".local/pipx", ".cache/pip"},
}

// settings lists what package runners only read below the home: its text decides what runs outside the sandbox.
var settings = map[string][]string{"npx": {".npmrc"}, "npm": {".npmrc"}, "pnpm": {".npmrc"}}

// shared lists the folders below the home whose bin holds programs that have nothing to do with the rest of the folder.
var shared = []string{".local", ".cargo", "go"}

// Wall returns a copy of w with a box for the program at path, or for none if path is "".
func Wall(w guard.Wall, path string, o Options) *guard.Wall {
	box := &guard.Box{Net: o.Net, Limits: o.Limits, Env: Env, Read: append(slices.Clone(system), o.Read...), Write: slices.Clone(o.Write)}
	ruled := o.ruled()
	for _, n := range ruled.open {
		if n.write {
			box.Write = append(box.Write, n.path)
		} else {
			box.Read = append(box.Read, n.path)
		}
	}
	if !o.wide(o.Dir) {
		box.Read = append(box.Read, o.Dir)
	}
	if o.Level == Workspace {
		if !o.wide(o.Dir) {
			box.Write = append(box.Write, o.Dir)
		}
		for _, arg := range o.Args {
			if p, dir := o.pathIn(arg); dir {
				box.Write = append(box.Write, p)
			}
		}
		for _, cache := range caches[filepath.Base(path)] {
			box.Write = append(box.Write, filepath.Join(o.Home, cache))
		}
		for _, file := range settings[filepath.Base(path)] {
			box.Read = append(box.Read, filepath.Join(o.Home, file))
		}
	}
	if path != "" {
		box.Read = append(box.Read, o.installation(path, box)...)
	}
	for _, arg := range o.Args {
		p, dir := o.pathIn(arg)
		if p != "" && !dir {
			box.Read = append(box.Read, o.installation(p, box)...)
		}
		if p != "" {
			box.Read = append(box.Read, p)
		}
	}
	w.Hidden = slices.Concat(w.Hidden, secrets, hostKeys())
	w.Fixed = slices.Clone(w.Fixed)
	for _, d := range ruled.denied {
		entries := slices.Concat(box.Read, box.Write)
		switch {
		case within(d.path, o.Dir): // its own folder
		case slices.ContainsFunc(entries, func(path string) bool { return within(filepath.Clean(path), d.path) }): // it needs what is there
		case !slices.ContainsFunc(entries, func(path string) bool { return within(d.path, filepath.Clean(path)) }): // closed anyway
		case d.write:
			w.Fixed = append(w.Fixed, d.path)
		default:
			w.Hidden = append(w.Hidden, d.path)
		}
	}
	w.Box = box
	return &w
}

// holds reports whether a grant applies to this server and this folder, and has not expired.
func (o *Options) holds(g *permissions.Grant) bool {
	switch {
	case g.Server != "" && g.Server != o.Server, g.Workspace != "" && !within(o.Dir, g.Workspace):
		return false
	case g.Content != "", g.Folder != "":
		return false
	}
	return g.Expires.IsZero() || !time.Now().After(g.Expires)
}

// hostKeys returns the private SSH host keys of this machine.
func hostKeys() []string {
	keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key") // the pattern is valid
	return keys
}

// wide reports whether a folder is too wide for a sandbox unless the user names it: the root, the home, or a folder
// above the home.
func (o *Options) wide(dir string) bool {
	dir = filepath.Clean(dir)
	at := resolved(dir)
	return !filepath.IsAbs(dir) || at == "/" || within(o.Home, dir) || within(resolved(o.Home), at)
}

// resolved returns a path without links, or the path itself if that does not exist.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// pathIn returns the file or folder that a word of the command line names; "" if it names none.
func (o *Options) pathIn(arg string) (path string, dir bool) {
	if i := strings.IndexByte(arg, '='); strings.HasPrefix(arg, "-") && i > 0 {
		arg = arg[i+1:]
	}
	path = arg
	if !filepath.IsAbs(path) {
		if !strings.ContainsRune(path, '/') && filepath.Ext(path) == "" && path != "." && path != ".." {
			return "", false
		}
		path = filepath.Join(o.Dir, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil || o.wide(path) {
		return "", false
	}
	return path, info.IsDir()
}

// installation returns the folders that a program's own files are in: the folder around its bin, or its package tree,
// and the same for its interpreter. System folders are open anyway. A link or a script that the server can change leads
// only to what is installed.
func (o *Options) installation(path string, box *guard.Box) (dirs []string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return []string{path}
	}
	changes := func(p string) bool {
		return slices.ContainsFunc(box.Write, func(dir string) bool { return within(p, filepath.Clean(dir)) })
	}
	dirs = o.programFolders(path)
	if real != path && (!changes(path) || changes(real) || installed(real)) {
		dirs = append(dirs, o.programFolders(real)...)
	}
	if by := interpreter(real); by != "" && by != path && (!changes(path) && !changes(real) || changes(by) || installed(by)) {
		dirs = append(dirs, o.installation(by, box)...)
	}
	return dirs
}

// installed reports whether a path is a program that PATH finds, or one in the bin of an installation.
func installed(path string) bool {
	if found, err := exec.LookPath(filepath.Base(path)); err == nil && found == path {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || filepath.Base(filepath.Dir(path)) != "bin" {
		return false
	}
	lib, err := os.Stat(filepath.Join(filepath.Dir(path), "../lib"))
	return err == nil && lib.IsDir()
}

// programFolders returns the folders that belong to a program: the one above its bin, unless other files are in it too.
func (o *Options) programFolders(p string) []string {
	dir := filepath.Dir(p)
	if i := strings.Index(p, "/node_modules/"); i > 0 {
		return []string{p[:i] + "/node_modules", p[:i] + "/package.json"}
	}
	if slices.Contains([]string{"bin", "dist", "build", "shims"}, filepath.Base(dir)) {
		if above := filepath.Dir(dir); !o.wide(above) && !slices.ContainsFunc(shared, func(name string) bool { return resolved(above) == resolved(filepath.Join(o.Home, name)) }) {
			dir = above
		}
	}
	if o.wide(dir) {
		return []string{p}
	}
	return []string{dir}
}

// interpreter returns the program in a script's first line; "" if path is not a script.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var head [256]byte
	n, _ := f.Read(head[:]) // an unreadable file names none
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		if by, err := exec.LookPath(word); err == nil {
			return by
		}
		return ""
	}
	return ""
}
