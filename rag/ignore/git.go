package ignore

import (
	"io/fs"
	"path"
)

// Git says what git leaves out of a workspace: its own ignore files and the user's, and nothing of
// what callgate leaves out besides. It is a value of one folder; the zero value leaves nothing out.
type Git struct{ files []rules }

// ReadGit reads the ignore files that hold at the top folder of a workspace, which is an absolute
// path without links, and above it in its repository. No git command reads anything of the workspace.
func ReadGit(dir string) Git {
	var g Git
	if user, ok := userRules(); ok {
		g.files = append(g.files, user)
	}
	g.files = append(g.files, rulesAbove(dir)...)
	return g
}

// Inside returns what holds in the folder name, a slash-separated path from the top folder, "." for that
// folder itself. Dir is the file system of the folder. It MUST be called for each folder on the way down.
func (g Git) Inside(dir fs.FS, name string) Git {
	inner, ok := readRules(dir, ".", GitName)
	if !ok {
		return g
	}
	inner.dir = name
	return Git{append(g.files[:len(g.files):len(g.files)], inner)}
}

// Ignores reports whether git leaves out name, a path from the top folder in the folder that g is of,
// unless it is tracked. The caller has asked about the folders above before.
func (g Git) Ignores(name string, dir bool) bool {
	if path.Base(name) == ".git" {
		return true
	}
	why, _ := decide(g.files, name, dir)
	return why != ""
}
