// Package workspace says where the paths of a call lead: into the workspace, to a protected place, through links.
package workspace

import "callgate/shellparse"

func Exists(path string) bool {
	_, ok := standing(path)
	return ok
}

func IsRegular(path string) bool {
	mode, ok := standing(path)
	return ok && mode.IsRegular()
}

func IsFolder(path string) bool {
	mode, ok := standing(path)
	return ok && mode.IsDir()
}

// At returns the place in another working directory, or the same place if dir is "".
func (p Place) At(dir string) Place {
	if dir != "" {
		p.Roots = p.Bases()
		p.Dir = p.Absolute(dir)
	}
	return p
}

// Place is where a call runs: what relative paths mean.
type Place struct {
	Dir   string   // absolute working directory of the upstream
	Roots []string // absolute folders that relative paths may mean, Dir among them; none means Dir alone
	// Workspace is what $WORKSPACE stands for in rules: the host's roots, else the folder that the server runs in. None
	// means Roots. See opens for folders that are too wide to be one.
	Workspace []string
	Home      string
	Shell     *ShellSetup // how shell text is read; nil means bash and the built-in tables
}

// ShellSetup says how shell text is read.
type ShellSetup struct {
	Dialect shellparse.Dialect
	Tables  *shellparse.Tables // nil means the built-in ones
}
