package embedded

import (
	"path"
	"slices"
	"strings"
)

// opens reads the call of a function in pyOpeners, whose name ends at token n, and records its file.
func (r *pyReader) opens(list []pyToken, n int, opener string) (int, bool) {
	call := list[n+1:]
	if !call[0].is("(") {
		return n, false
	}
	end := 1
	for call[end].depth > call[0].depth {
		end++
	}
	args := call[1:end]
	files := r.texts(args)
	switch {
	case opener == "pathlib.Path": // its methods use the file
		return n, true
	case opener == "ast.parse":
		return n, r.parses(args)
	case opener == "importlib.util.find_spec": // it imports what a dot follows
		return n, files != nil && len(args) == 1 && !strings.Contains(strings.Join(files, ""), ".")
	case strings.HasPrefix(opener, "pandas."): // it opens addresses too, and files in the home folder
		r.files.Reads = append(r.files.Reads, files...)
		return n, files != nil && !strings.ContainsAny(strings.Join(files, ""), ":~")
	case opener == "xml.etree.ElementTree.parse" && !(call[end+1].is(".") && call[end+2].is("getroot")):
		// A tree can write files, its root cannot.
		return n, false
	}
	return n, r.opensPlain(args, files, opener)
}

// opensPlain reads the arguments of a function that opens the first one, which is one of the files or an argument of
// the command.
func (r *pyReader) opensPlain(args []pyToken, files []string, opener string) bool {
	rest, given := r.argument(args)
	if !given && files == nil {
		return false
	}
	if !given {
		rest = args[1:]
	}
	mode, ok := pyMode(rest)
	reads, writes := strings.ContainsAny(mode, "rU+"), strings.ContainsAny(mode, "wax+")
	if !ok || writes && given || opener == "zipfile.ZipFile" && mode != "r" { // its method write reads files
		return false
	}
	r.files.Arguments = r.files.Arguments || given
	if reads {
		r.files.Reads = append(r.files.Reads, files...)
	}
	if writes {
		r.files.Writes = append(r.files.Writes, files...)
	}
	return true
}

// argument reports whether the first of the arguments is an argument of the command, and returns what follows it.
func (r *pyReader) argument(args []pyToken) (rest []pyToken, ok bool) {
	switch {
	case len(args) > 0 && args[0].kind == 'a' && r.bound[args[0].text] == 1 && r.given[args[0].text]:
		rest = args[1:]
	case len(args) > 5 && isArguments(args) && args[4].kind == '0' && args[5].is("]"):
		rest = args[6:]
	default:
		return nil, false
	}
	return rest, r.modules["sys"] == "sys" && (len(rest) == 0 || rest[0].is(","))
}

// parses reads the arguments of ast.parse: a text, and the file that it is from, of which an error shows a line.
func (r *pyReader) parses(args []pyToken) bool {
	comma := slices.IndexFunc(args, func(t pyToken) bool { return t.is(",") && t.depth == args[0].depth })
	if len(args) == 0 || args[0].kind == '*' {
		return false
	}
	if comma < 0 {
		return true
	}
	name := args[comma+1:]
	if len(name) > 2 && name[0].is("filename") && name[1].is("=") {
		name = name[2:]
	}
	files := r.texts(name)
	r.files.Reads = append(r.files.Reads, files...)
	return files != nil && len(name) == 1
}

// pyMode returns the mode in the arguments of open behind the file.
func pyMode(args []pyToken) (mode string, ok bool) {
	mode = "r"
	for i := 0; i < len(args); i++ {
		option := i+2 < len(args) && args[i+1].is("=")
		switch {
		case args[i].is(","):
		case args[i].plain && i == 1:
			mode = args[i].text
		case option && args[i].is("mode") && args[i+2].plain:
			mode, i = args[i+2].text, i+2
		case option && pyOpenOptions[args[i].text] && (args[i+2].kind == 's' || args[i+2].is("None")):
			i += 2
		default:
			return "", false
		}
	}
	return mode, strings.Trim(mode, "rbtUwax+") == ""
}

// pyOpenOptions lists the options of open that only change how it reads and writes text.
var pyOpenOptions = names("encoding errors newline")

// texts returns the values that the first argument can have, if it is a text or a variable for texts.
func (r *pyReader) texts(args []pyToken) []string {
	switch {
	case len(args) == 0 || len(args) > 1 && !args[1].is(","):
		return nil
	case args[0].plain:
		return []string{args[0].text}
	case args[0].kind == 'a' && r.bound[args[0].text] == 1:
		return r.holds[args[0].text]
	}
	return nil
}

// pyListOf reads a list or tuple of plain texts, and what must follow it in a loop.
func pyListOf(list []pyToken) (texts []string) {
	square := list[0].is("[")
	if !square && !list[0].is("(") {
		return nil
	}
	for i := 1; i+2 < len(list) && list[i].plain; i += 2 {
		texts = append(texts, list[i].text)
		switch end, after := list[i+1], list[i+2]; {
		case end.is(","):
		case (end.is("]") || end.is(")") && len(texts) > 1 && !square) && (after.is(":") || after.is("]") || after.is(")")):
			return texts
		default:
			return nil
		}
	}
	return nil
}

// pathBefore returns the files that Path names, if the tokens end with a call of it or with a variable for one.
func (r *pyReader) pathBefore(list []pyToken) []string {
	last := len(list) - 1
	if last < 0 || !list[last].is(")") {
		if last > 0 && list[last-1].is(".") {
			return nil
		}
		return r.texts(list[max(0, last):])
	}
	begin := last - 1
	for begin > 0 && !(list[begin].is("(") && list[begin].depth == list[last].depth) {
		begin--
	}
	if begin == 0 || list[begin-1].kind != 'a' {
		return nil
	}
	name, module := list[begin-1].text, ""
	if begin > 2 && list[begin-2].is(".") {
		name, module = "", r.modules[list[begin-3].text]+"."+name
	}
	if !strings.HasSuffix(r.openers[name], "Path") && !(module == "pathlib.Path" && (begin == 3 || !list[begin-4].is("."))) {
		return nil
	}
	if begin+2 < last { // Path joins its arguments
		return nil
	}
	return r.texts(list[begin+1 : last])
}

// writesModule reports whether the code may write a module in the current folder that it or a library imports.
func (r *pyReader) writesModule() bool {
	return slices.ContainsFunc(r.files.Writes, func(file string) bool {
		file = path.Clean(file)
		first, _, _ := strings.Cut(file, "/")
		if first == "" || first == ".." {
			first = path.Base(file)
		}
		module, _, _ := strings.Cut(first, ".")
		return IsPythonCode(file) && PythonFinds(module, r.files.Imports)
	})
}

// IsPythonCode reports whether an import can run a file of that name.
func IsPythonCode(file string) bool { return pyCode[path.Ext(file)] }

// PythonFinds reports whether these imports, or the libraries that code loads in any case, look for a module of that name.
func PythonFinds(module string, imports []string) bool {
	return slices.Contains(imports, module) || pyLoads[module] || pyModules[module] != nil && !pyPackages[module]
}

// pyCode lists the endings of files that an import runs.
var pyCode = names(".py .pyc .pyd .pyw .so")

// usesPaths reports whether the code may have values of the type Path.
func (r *pyReader) usesPaths() bool {
	for _, full := range r.openers {
		if strings.HasSuffix(full, "Path") {
			return true
		}
	}
	for _, module := range r.modules {
		if module == "pathlib" {
			return true
		}
	}
	return false
}
