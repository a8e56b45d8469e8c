package ignore

import (
	"io/fs"
	"path"
)

// Git holds what git leaves out of a workspace: the rules of the workspace's and the user's ignore files, without
// callgate's own exclusions. A value belongs to one folder. The zero value leaves out only .git.
type Git struct{ files []rules }

// ReadGit reads the user's ignore file, info/exclude of the repository, and the ignore files above dir in it. Inside
// reads that of dir, which is an absolute path without links. ReadGit runs no git command in the workspace.
func ReadGit(dir string) Git {
	var g Git
	if user, ok := userRules(); ok {
		g.files = append(g.files, user)
	}
	g.files = append(g.files, rulesAbove(dir)...)
	return g
}

// Inside returns the rules for the folder name, a slash-separated path from the top folder; "." is the top folder
// itself. dir is the file system of the folder. The caller MUST call Inside for each folder on the way down.
func (g Git) Inside(dir fs.FS, name string) Git {
	inner, ok := readRules(dir, ".", GitName)
	if !ok {
		return g
	}
	inner.dir = name
	return Git{append(g.files[:len(g.files):len(g.files)], inner)}
}

// Ignores reports whether git leaves out name unless it is tracked. name is a path from the top folder, directly in the
// folder that g belongs to. The caller MUST have asked about the folders above it.
func (g Git) Ignores(name string, dir bool) bool {
	if path.Base(name) == ".git" {
		return true
	}
	why, _ := decide(g.files, name, dir)
	return why != ""
}
