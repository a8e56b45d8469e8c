//go:build unix

package environment

import "strings"

// passes reports whether a clean environment includes the variable.
func passes(name string) bool {
	switch name {
	case "HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR", "TZ":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

func sameName(a, b string) bool { return a == b }
