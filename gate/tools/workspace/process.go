package workspace

import (
	"path/filepath"
	"strings"
)

// ProcessPart returns which part of another process a path is: its variables, its memory, its open files or what it
// sees as the file system. It returns "" if the path is none.
func ProcessPart(path string) string {
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
