package commands

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// systemPrograms are folders where only an administrator or a package manager puts programs.
var systemPrograms = []string{"/bin/", "/sbin/", "/usr/", "/opt/homebrew/", "/nix/store/", "/snap/"}

// Runs returns the files whose content a command executes: the program, if it is named by a path, and the script that
// an interpreter is given. The paths are absolute if the folder is known. Programs of the system are left out.
func Runs(c *shellparse.Command) (paths []string) {
	add := func(name string) {
		for _, dir := range c.Dirs {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			path = filepath.Clean(path)
			system := slices.ContainsFunc(systemPrograms, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
			if !system && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return nil
	}
	program := c.Argv[0].Value
	if strings.ContainsRune(program, '/') {
		add(program)
	}
	if Known(filepath.Base(program)).Has(programs.Interpreter) {
		for _, word := range c.Argv[1:] {
			if word.Known && !strings.HasPrefix(word.Value, "-") {
				add(word.Value)
				break
			}
		}
	}
	return paths
}
