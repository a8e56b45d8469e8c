package tools

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/workspace"
	"callgate/shellparse"
	"callgate/shellparse/embedded"
)

// maxScript limits the scripts that are read, in bytes.
const maxScript = 64 << 10

// plainPython are options of Python that do not change what a script does.
var plainPython = []string{"-u", "-B", "-q", "-s", "-E", "-I", "-O", "-OO"}

// scripts reads the scripts of the workspace that Python is given. If all of a script is known to compute, print and
// use files by name, its command is known to do that. Scripts are read now, and run later: like tests, they are code of
// the project, which another call can change in between. Another command of the text must not.
func (b *shells) scripts(all []shellparse.Command) {
	type known struct {
		at     int
		file   string
		before shellparse.Command
	}
	var list []known
	for i := range all {
		c, before := &all[i], all[i]
		file := b.script(c)
		switch {
		case c.Computes && b.findsModule(c, file, all):
			*c = before
			c.Computes = false
		case file != "":
			list = append(list, known{i, file, before})
		}
	}
	for again := true; again; { // a script that is not known after all may change another
		again = false
		for _, s := range list {
			if c := &all[s.at]; c.Computes && slices.ContainsFunc(all, func(c shellparse.Command) bool { return mayChange(&c, s.file) }) {
				*c, again = s.before, true
			}
		}
	}
}

// script reads the script that a command gives to Python. If all of it is known, script records that in the command,
// and returns the file.
func (b *shells) script(c *shellparse.Command) (file string) {
	name, arguments := scriptOf(c)
	if name == "" || b.record.tool.remote || c.Remote || b.record.place.Dir == "" || len(c.Dirs) != 1 {
		return ""
	}
	in := func(name string) string {
		if !filepath.IsAbs(name) {
			name = filepath.Join(b.record.place.At(c.Dirs[0]).Dir, name)
		}
		return filepath.Clean(name)
	}
	real, _, err := workspace.RealPath(in(name))
	if _, _, inside := b.record.place.InWorkspace(real); err != nil || !inside {
		return ""
	}
	text, ok := readScript(real)
	if !ok {
		return ""
	}
	files, ok := embedded.Python(text)
	if !ok {
		return ""
	}
	if files.Arguments {
		for _, w := range arguments {
			if !w.Known {
				return ""
			}
			files.Reads = append(files.Reads, w.Value)
		}
	}
	used := func(list []shellparse.File, names []string) []shellparse.File {
		list = slices.Clip(list)
		for _, name := range names {
			list = append(list, shellparse.File{Path: shellparse.Word{Value: in(name), Known: true}, By: c.Argv[0].Value})
		}
		return list
	}
	c.Reads, c.Writes = used(c.Reads, files.Reads), used(c.Writes, files.Writes)
	c.Computes, c.Imports = true, files.Imports
	return in(name)
}

// findsModule reports whether an import of the command finds a file of its folder instead of a library, now or after
// another command of the text has written it. The folder is that of its script, behind links, or the current one
// without a script.
func (b *shells) findsModule(c *shellparse.Command, script string, all []shellparse.Command) bool {
	if b.record.tool.remote || c.Remote || b.record.place.Dir == "" || len(c.Imports) == 0 {
		return false
	}
	var folders []string
	if script == "" {
		for _, dir := range c.Dirs {
			folders = append(folders, b.record.place.At(dir).Dir)
		}
	} else if real, _, err := workspace.RealPath(script); err != nil {
		return true
	} else {
		folders = []string{filepath.Dir(real)}
	}
	for _, folder := range folders {
		names, err := namesIn(folder)
		if err != nil || slices.ContainsFunc(names, func(name string) bool {
			return isModule(name, c.Imports) || embedded.PythonFinds(name, c.Imports) && workspace.Exists(filepath.Join(folder, name, "__init__.py"))
		}) {
			return true
		}
		real, _, err := workspace.RealPath(folder)
		if err != nil {
			return true
		}
		if slices.ContainsFunc(all, func(other shellparse.Command) bool { return b.mayPut(&other, real, c.Imports) }) {
			return true
		}
	}
	return false
}

// mayPut reports whether a command may put a file into a folder, given by its real path, that one of the imports finds.
func (b *shells) mayPut(c *shellparse.Command, folder string, imports []string) bool {
	real := func(f shellparse.File) string {
		path, _, err := workspace.RealPath(b.record.place.Absolute(f.Path.Value))
		if err != nil || !f.Path.Known {
			return ""
		}
		return path
	}
	var written []string
	for _, f := range c.Writes {
		written = append(written, real(f))
	}
	// named reports whether what the command reads keeps its known name in the folder into, or lies there already.
	named := func(f shellparse.File, into string) bool {
		path := real(f)
		return path != "" && (path == into || slices.Contains(written, filepath.Join(into, filepath.Base(f.Path.Value))))
	}
	return slices.ContainsFunc(written, func(path string) bool {
		if _, around := workspace.Within(path, folder); path != "" && around {
			return slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.By != "redirect" && !named(f, path) })
		}
		below, ok := workspace.Within(folder, path)
		name, _, inside := strings.Cut(below, string(filepath.Separator))
		return ok && (isModule(name, imports) || inside && embedded.PythonFinds(name, imports))
	})
}

// isModule reports whether a file's name is that of code which one of the imports finds.
func isModule(name string, imports []string) bool {
	module, _, _ := strings.Cut(name, ".")
	return embedded.IsPythonCode(name) && embedded.PythonFinds(module, imports)
}

// namesIn returns the names in a folder.
func namesIn(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// scriptOf returns the script that a command gives to Python, and the words behind it. The name is "" if there is none.
func scriptOf(c *shellparse.Command) (name string, arguments []shellparse.Word) {
	if len(c.Argv) < 2 || !c.Argv[0].Known || !embedded.IsPython(filepath.Base(c.Argv[0].Value)) {
		return "", nil
	}
	for i, w := range c.Argv[1:] {
		switch {
		case !w.Known || !strings.HasPrefix(w.Value, "-") && !strings.HasSuffix(w.Value, ".py"):
			return "", nil
		case !strings.HasPrefix(w.Value, "-"):
			return w.Value, c.Argv[i+2:]
		case !slices.Contains(plainPython, w.Value):
			return "", nil
		}
	}
	return "", nil
}

// readScript returns the text of a regular file that is short enough.
func readScript(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	return string(text), err == nil && len(text) <= maxScript
}
