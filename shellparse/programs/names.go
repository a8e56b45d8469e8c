package programs

import (
	"path"
	"strings"
)

// trustedDirs lists folders whose programs only an administrator changes.
var trustedDirs = map[string]bool{"/bin": true, "/usr/bin": true, "/usr/local/bin": true, "/sbin": true, "/usr/sbin": true,
	"/usr/local/sbin": true, "/opt/homebrew/bin": true}

// NameOf reduces a path to its last element if only an administrator could have put the program there. It removes the
// suffix of Windows programs.
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

// OnlyTrusted reports whether a value of PATH adds only folders of programs that only an administrator changes. source
// is the value as written.
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

// installedDirs lists folders in which package managers install programs for a project.
var installedDirs = map[string]bool{"node_modules/.bin": true, ".venv/bin": true, "venv/bin": true,
	".venv/Scripts": true, "venv/Scripts": true, "vendor/bin": true}

// Installed returns the name of the program that a package manager has put at this path, for a project or a folder of
// it, or "" for other paths. Somebody else may have put another program there.
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

// RunsTool reports whether a package manager given this word runs a known program that the project has installed: pnpm
// tsc. A script of that name takes precedence.
func RunsTool(manager, tool string) bool {
	m := Find(Canonical(manager))
	return m.Has(RunsInstalled) && m.Has(PackageManager) && Find(m.Name, tool).Name == "" && Find(tool).Has(ProjectTool)
}

// Versioned reports whether a name is that of a program that reads option files, with a version or a target: gcc-12.
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
// here-string or a pipe, or from a file on standard input. A script named by a word is a file that can be read.

// LanguageOf returns the language of an interpreter, whatever its folder and version, or nil for other programs.
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
		end-- // a special build, such as python3.13t
	}
	for end > 0 && (name[end-1] >= '0' && name[end-1] <= '9' || name[end-1] == '.' || name[end-1] == '-') {
		end--
	}
	if end == len(whole) {
		return nil
	}
	return Find(Canonical(name[:end])).Language
}

// LauncherOf returns the name of a program that runs another program named somewhere in its words: after options that
// differ between versions, after a file or an address, or in a shell text. None of that is certain. It is "" for
// others.
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
