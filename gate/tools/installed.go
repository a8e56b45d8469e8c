package tools

import (
	"os"
	"path/filepath"
	"slices"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/workspace"
	"callgate/internal/lazyregexp"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// installed returns the command that npx or a path runs if that is a program that the project has installed, else nil.
// npx fetches a package only if the project has none. The program is known by its name, so the command is judged as if
// the program ran by itself.
func (b *shells) installed(c *shellparse.Command) *shellparse.Command {
	if b.record.tool.remote || b.record.place.Dir == "" || len(c.Argv) == 0 || !c.Argv[0].Known {
		return nil
	}
	words, file := c.Argv, c.Argv[0].Value
	name := programs.Installed(file)
	if name == "" {
		if words = commands.BehindLauncher(words); len(words) == 0 || !words[0].Known {
			return nil
		}
		file = "node_modules/.bin/" + words[0].Value
		if name = programs.Installed(file); name == "" {
			return nil
		}
	}
	if !b.inProject(filepath.FromSlash(file), b.record.place.At(c.Dir).Dir) {
		return nil
	}
	inner := *c
	inner.Argv = append([]shellparse.Word{{Value: name, Known: true}}, words[1:]...)
	return &inner
}

var (
	pythonLink   = lazyregexp.New(`^python(3(\.[0-9]+)?)?$`)
	pythonBinary = lazyregexp.New(`^/(usr/bin|usr/local/bin|opt/homebrew/Cellar/python@3[\w./]*/bin)/python3(\.[0-9]+)?$`)
)

// isPython reports whether the file at path is the Python of an environment of the project, by a link to the system's.
// Python takes its settings from beside the link, so the link's folder and the settings must lie in the workspace.
func (b *shells) isPython(path, real string) bool {
	dir := filepath.Dir(path)
	environment := filepath.Dir(dir)
	if filepath.Base(dir) != "bin" || !pythonLink.MatchString(filepath.Base(path)) || !pythonBinary.MatchString(real) {
		return false
	}
	for _, own := range []string{dir, filepath.Join(environment, "pyvenv.cfg"), filepath.Join(environment, "lib")} {
		at, _, err := workspace.RealPath(own)
		if _, _, in := b.record.place.InWorkspace(at); err != nil || !in || at != own {
			return false
		}
	}
	return true
}

// inProject reports whether there is a file of that name in dir, which lies in the workspace, or in a folder above it,
// up to the workspace root. A file with an absolute path only has to lie in the workspace. No link may lead there from
// elsewhere.
func (b *shells) inProject(name, dir string) bool {
	absolute := filepath.IsAbs(name)
	if absolute {
		dir, name = filepath.Split(name)
	}
	roots := b.record.place.Bases()
	for {
		file := filepath.Join(dir, name)
		// What a package manager fills is two folders deep, and may itself be a link.
		within, _, err := workspace.RealPath(filepath.Dir(filepath.Dir(filepath.Dir(file))))
		if _, _, inside := b.record.place.InWorkspace(within); err != nil || !inside {
			return false
		}
		for _, found := range []string{file, file + ".exe"} {
			if info, err := os.Stat(found); err == nil {
				return info.Mode().IsRegular()
			}
		}
		parent := filepath.Dir(dir)
		if absolute || parent == dir || slices.Contains(roots, dir) {
			return false
		}
		dir = parent
	}
}
