package tools

import (
	"path/filepath"
	"strings"

	"callgate/shellparse"
)

// processPart returns the part of another process that path is: its variables, its memory, its open files or
// what it sees as the file system. "" when it is none.
func processPart(path string) string {
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), "/proc/")
	if !ok {
		return ""
	}
	if rest == "kcore" || rest == "kmem" {
		return rest
	}
	parts := strings.Split(rest, "/")
	if len(parts) > 3 && parts[1] == "task" {
		parts = parts[2:]
	}
	if len(parts) < 2 {
		return ""
	}
	switch parts[1] {
	case "environ", "mem", "fd", "root", "cwd", "map_files", "auxv", "pagemap":
		return parts[1]
	}
	return ""
}

// showsVariables reports whether a command is a ps that prints the variables of processes.
func showsVariables(c *shellparse.Command) bool {
	if len(c.Argv) < 2 || c.Argv[0].Value != "ps" {
		return false
	}
	takesValue := false
	for _, w := range c.Argv[1:] {
		value := w.Value
		switch {
		case !w.Known:
			return true
		case takesValue:
			takesValue = false
		case strings.HasPrefix(value, "--"):
			takesValue = value != "--" && !strings.Contains(value, "=")
		case strings.HasPrefix(value, "-"):
			options, _, hasValue := cutAny(value[1:], "oOCpqstuUgGkNn")
			if strings.Contains(options, "E") {
				return true
			}
			takesValue = hasValue && strings.IndexAny(value[1:], "oOCpqstuUgGkNn") == len(value)-2
		default:
			options, _, _ := cutAny(value, "oOkpqtU")
			if strings.ContainsAny(options, "eE") {
				return true
			}
		}
	}
	return false
}

// cutAny slices s around the first of the characters in chars.
func cutAny(s, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
