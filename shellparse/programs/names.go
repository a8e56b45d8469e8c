package programs

import (
	"path"
	"strings"
)

// trustedDirs hold programs that only an administrator changes.
var trustedDirs = map[string]bool{"/bin": true, "/usr/bin": true, "/usr/local/bin": true, "/sbin": true, "/usr/sbin": true,
	"/usr/local/sbin": true, "/opt/homebrew/bin": true}

// NameOf reduces a path to its last element where only an administrator could have put it there, and takes away the
// ending that names of programs have on Windows.
func NameOf(s string) string {
	if !strings.Contains(s, "/") && len(s) > len(".exe") {
		return strings.TrimSuffix(s, ".exe")
	}
	if !strings.HasPrefix(s, "/") {
		return s
	}
	p := path.Clean(s)
	if dir, base := path.Split(p); trustedDirs[strings.TrimSuffix(dir, "/")] {
		return base
	}
	return s
}

// OnlyTrusted reports whether a value of PATH, given as the source of a word, adds nothing to it but folders of programs
// that only an administrator changes.
func OnlyTrusted(source string) bool {
	if len(source) > 1 && source[0] == '"' && source[len(source)-1] == '"' {
		source = source[1 : len(source)-1]
	}
	for dir := range strings.SplitSeq(source, ":") {
		if dir != "$PATH" && dir != "${PATH}" && !trustedDirs[dir] {
			return false
		}
	}
	return true
}

// installedDirs hold what package managers install for a project.
var installedDirs = map[string]bool{"node_modules/.bin": true, ".venv/bin": true, "venv/bin": true,
	".venv/Scripts": true, "venv/Scripts": true, "vendor/bin": true}

// Installed is the name of a program that a package manager has put where this path leads, for a project or for a folder
// of it, "" for other paths. Somebody else may have put another program there.
func Installed(s string) string {
	dir, name := path.Split(s)
	dir = strings.TrimSuffix(dir, "/")
	if name == "" || name[0] == '-' || s[0] == '~' || strings.ContainsAny(name, "@ ") || strings.Contains(dir, "..") {
		return ""
	}
	parent, bin := path.Split(dir)
	if !installedDirs[path.Join(path.Base(parent), bin)] {
		return ""
	}
	return strings.TrimSuffix(name, ".exe")
}

// RunsTool says that a package manager given this word runs a known program that the project has installed: pnpm tsc. A
// script of that name goes before it.
func RunsTool(manager, tool string) bool {
	m := Find(Canonical(manager))
	return m.Has(RunsInstalled) && m.Has(PackageManager) && Find(m.Name, tool).Name == "" && Find(tool).Has(ProjectTool)
}

// Versioned says that a name is a program that reads option files, with a version or a target before or behind it:
// gcc-12, aarch64-linux-gnu-gcc.
func Versioned(name string) bool {
	head, tail := strings.LastIndexByte(name, '-'), strings.IndexByte(name, '-')
	if head < 0 {
		return false
	}
	if strings.Trim(name[head+1:], "0123456789.") == "" {
		name = name[:head]
		if Find(name).Has(OptionFiles) {
			return true
		}
		head = strings.LastIndexByte(name, '-')
	}
	return tail > 0 && head >= 0 && Find(name[head+1:]).Has(OptionFiles)
}

// callgate does not know what code for an interpreter does, whether it comes as an argument, from a here-document, a
// here-string or a pipe, or from a file on standard input. A script that a word names is a file that can be read.

// LanguageOf returns the language of an interpreter, wherever it lies and whatever its version, nil if it is not one.
func LanguageOf(name string) *Language {
	if l := Find(Canonical(name)).Language; l != nil {
		return l
	}
	whole := name
	if name = path.Base(name); name != whole {
		if l := Find(Canonical(name)).Language; l != nil {
			return l
		}
		whole = name
	}
	name = strings.TrimSuffix(name, "-dbg")
	end := len(name)
	if end > 1 && (name[end-1] == 't' || name[end-1] == 'd' || name[end-1] == 'm') && name[end-2] >= '0' && name[end-2] <= '9' {
		end-- // a build of another kind
	}
	for end > 0 && (name[end-1] >= '0' && name[end-1] <= '9' || name[end-1] == '.' || name[end-1] == '-') {
		end--
	}
	if end == len(whole) {
		return nil
	}
	return Find(Canonical(name[:end])).Language
}

// LauncherOf is the name of a program that runs one which its words name somewhere: behind options that differ between
// versions, behind a file or an address, as a text for a shell. Nothing of that is certain. It is "" for other
func LauncherOf(program string) string {
	base := path.Base(program)
	switch {
	case base == "ld.so", strings.HasPrefix(base, "ld-") && strings.Contains(base, ".so"), strings.HasPrefix(base, "ld64.so"):
		return "ld.so"
	case Find(base).Has(Launcher), strings.HasPrefix(base, "qemu-") && !strings.HasPrefix(base, "qemu-img") && !strings.HasPrefix(base, "qemu-system"):
		return base
	}
	return ""
}
