package embedded

import (
	"maps"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
)

// PythonFiles are the files that code in Python uses.
type PythonFiles struct {
	Reads, Writes []string
	Arguments     bool     // it also reads files that its arguments name
	Imports       []string // the modules that it imports, without what is inside them
}

// IsPython reports whether a program of that name runs code as Python describes it.
func IsPython(program string) bool {
	return strings.HasPrefix(program, "py") && pythonPrograms.MatchString(program)
}

var pythonPrograms = lazyregexp.New(`^(?:python|pypy)[23]?(?:\.\d+)*$|^py$`)

// maxPython limits the code that is read, in bytes.
const maxPython = 64 << 10

// Python reads code that CPython or PyPy gets with -c, or in a file. It reports whether the code only computes, prints,
// and uses the files returned, whichever version runs it. The caller MUST see to it that no import finds code of somebody
// else in the folder of the file, or for -c in the current folder.
//
// The check goes by names. Every name in the code is a keyword, a built-in function, a name of a module or of a value
// from the lists, or bound by the code itself, and none of the lists leads from one value to another that does more.
// So it does not matter which value a variable holds. What opens a file has to be called at once, with a text.
func Python(code string) (f PythonFiles, ok bool) {
	if len(code) > maxPython || !printable(code) {
		return f, false
	}
	list, ok := pyTokens(code)
	if !ok {
		return f, false
	}
	r := newPyReader(list)
	if !r.bind(list, 0) || !r.distinct() {
		return f, false
	}
	r.files.Imports = slices.Sorted(maps.Keys(r.imported))
	return r.files, r.check(list) && !(r.files.Arguments && r.leaks) && !(r.raises && r.unpacks) && !r.writesModule()
}

type pyReader struct {
	list     []pyToken
	modules  map[string]string   // the names that imports give to modules
	openers  map[string]string   // the names of functions in pyOpeners
	values   map[string]bool     // the names of other things that are imported
	unused   map[string]bool     // names of packages' parts: importing them is a test, using them is not
	bound    map[string]int      // how often the code binds each other name
	holds    map[string][]string // the texts that a name can hold that is bound once
	files    PythonFiles
	given    map[string]bool // the names that hold an argument of the command, if they are bound once
	imported map[string]bool // the modules, without what is inside them
	leaks    bool            // the code could change the arguments
	raises   bool            // it could make an ImportError
	unpacks  bool            // it may give a function the argument name_from
}

func newPyReader(list []pyToken) *pyReader {
	return &pyReader{list: list, modules: map[string]string{}, openers: map[string]string{"open": "open"},
		values: map[string]bool{}, unused: map[string]bool{}, bound: map[string]int{}, holds: map[string][]string{}, given: map[string]bool{}, imported: map[string]bool{}}
}

// pyException reports whether a name is that of an exception.
func pyException(name string) bool {
	return name != "" && name[0] >= 'A' && name[0] <= 'Z' && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception") || strings.HasSuffix(name, "Warning"))
}

// check reports whether every token is in order.
func (r *pyReader) check(list []pyToken) bool {
	for i := range list {
		r.note(list, i)
	}
	for i := 0; i < len(list); i++ {
		switch t := list[i]; {
		case t.kind == 's':
			for _, inner := range t.inner {
				if !r.check(inner) {
					return false
				}
			}
		case t.kind != 'a', pyKeywords[t.text] && !t.is("import"):
		case i > 0 && list[i-1].is("."):
			if !r.attribute(list, i) {
				return false
			}
		case list[i+1].is("=") && t.depth > 0: // an argument's name
		case t.is("type"):
			if !asksType(list, i) {
				return false
			}
		default:
			n, ok := r.name(list[i:], callerOf(list, i))
			if !ok {
				return false
			}
			i += n
		}
	}
	return true
}

// note records what matters only together with something else: traces of an ImportError with the argument name_from
// import the module that its argument name tells.
func (r *pyReader) note(list []pyToken, i int) {
	before := pyToken{}
	if i > 0 {
		before = list[i-1]
	}
	switch t := list[i]; {
	case t.is("ImportError") || t.is("ModuleNotFoundError") || t.is("PackageNotFoundError"):
		r.raises = r.raises || !before.is("except")
	case t.is("name_from"), t.is("**") && (before.is("(") || before.is(",")):
		r.unpacks = true
	}
}

// asksType reports whether the call of type at i has one argument, and the code only shows or compares what it returns:
// a type could open files.
func asksType(list []pyToken, i int) bool {
	if !list[i+1].is("(") || list[i+2].kind == '*' {
		return false
	}
	end := i + 2
	for ; list[end].depth > list[i].depth; end++ {
		if list[end].is(",") && list[end].depth == list[i].depth+1 {
			return false
		}
	}
	after := list[end+1]
	switch {
	case after.is("."):
		return list[end+2].is("__name__")
	case pyCompares[after.text]:
		return true
	case i == 0:
		return after.kind == 'n'
	case pyCompares[list[i-1].text] && !list[i-1].is("in"):
		return !after.is("(") && !after.is("[")
	}
	return (after.is(",") || after.is(")")) && pyShows[callerOf(list, i)]
}

// callerOf returns the function one of whose arguments begins at i, or "". It returns "join" for that method of a text
// only, and "in" for what a loop goes through.
func callerOf(list []pyToken, i int) string {
	begin := i - 1
	if i > 0 && list[begin].is("in") {
		return "in"
	}
	if i < 2 || !list[begin].is("(") && !list[begin].is(",") {
		return ""
	}
	for begin > 0 && list[begin].depth >= list[i].depth {
		begin--
	}
	switch {
	case begin == 0 || !list[begin].is("(") || list[begin-1].kind != 'a' || pyKeywords[list[begin-1].text]:
		return ""
	case begin > 1 && list[begin-2].is(".") && !(begin > 2 && list[begin-3].kind == 's' && list[begin-1].is("join")):
		return ""
	}
	return list[begin-1].text
}

// pyCompares lists operators that return no operand.
var pyCompares = names("== != is in not")

// pyShows lists the functions that do not return what they get.
var pyShows = names("print str repr type id isinstance issubclass")

// pyChecked lists the built-in functions whose name tells what happens to an argument.
var pyChecked = names("print str repr type id isinstance issubclass len dir hasattr")

// pyLooks lists the functions that may get a module: they list its names, or look for one.
var pyLooks = names("dir hasattr")

// attribute reports whether the name at i may be used of the value before it.
func (r *pyReader) attribute(list []pyToken, i int) bool {
	switch name := list[i].text; name {
	case "format": // the text could name attributes
		return i > 1 && list[i-2].plain && (i == 2 || list[i-3].kind != 's') && pyPlaces(list[i-2].text)
	case "read_text", "read_bytes":
		files := r.pathBefore(list[:i-1])
		r.files.Reads = append(r.files.Reads, files...)
		return files != nil
	case "write_text", "write_bytes":
		files := r.pathBefore(list[:i-1])
		r.files.Writes = append(r.files.Writes, files...)
		return files != nil
	case "to_string": // with another argument, it writes a file
		call := list[i+1:]
		return call[0].is("(") && (call[1].is(")") || call[1].is("index") && call[2].is("=") && call[3].is("False") && call[4].is(")"))
	default:
		return (pyAttributes[name] || pyDataAttributes[name]) && !(pyPathMethods[name] && r.usesPaths() && !(name == "replace" && twoArguments(list[i+1:])))
	}
}

// twoArguments reports whether the call has two arguments or more, which Path.replace does not take.
func twoArguments(call []pyToken) bool {
	two := false
	for i := 1; call[0].is("(") && call[i].depth > call[0].depth; i++ {
		if call[i].kind == '*' && (call[i-1].is("(") || call[i-1].is(",")) {
			return false
		}
		two = two || call[i].is(",") && call[i].depth == call[0].depth+1 && !call[i+1].is(")")
	}
	return two
}

// pyPlaces reports whether str.format only fills in what it gets, without its attributes and items.
func pyPlaces(text string) bool {
	for {
		_, rest, ok := strings.Cut(text, "{")
		if !ok {
			return true
		}
		if strings.HasPrefix(rest, "{") {
			text = rest[1:]
			continue
		}
		place, after, ok := strings.Cut(rest, "}")
		field, _, _ := strings.Cut(place, ":")
		if !ok || strings.ContainsAny(field, `.[\`) || strings.Contains(place, "{") {
			return false
		}
		text = after
	}
}

// name reads a name that is no attribute, with what follows it if it stands for a module or opens files. caller is the
// function one of whose arguments it begins. n is how many tokens more it took.
func (r *pyReader) name(list []pyToken, caller string) (n int, ok bool) {
	name := list[0].text
	if opener := r.openers[name]; opener != "" {
		return r.opens(list, 0, opener)
	}
	module := r.modules[name]
	if module == "" {
		return 0, !r.unused[name] && (pyBuiltins[name] || r.values[name] || r.bound[name] > 0 || pyException(name))
	}
	for list[n+1].is(".") && list[n+2].kind == 'a' {
		what := list[n+2].text
		n += 2
		full := module + "." + what
		first, _, _ := strings.Cut(module, ".")
		switch {
		case pyOpeners[full]:
			return r.opens(list, n, full)
		case full == "sys.argv":
			r.leaks = r.leaks || caller != "len" && !(list[n+1].is("[") && list[n+2].kind == '0')
			return n, true
		case full == "sys.path":
			return n, showsPath(list[n+1], caller)
		case pyModules[full] != nil:
			module = full
		default:
			return n, pyModules[module][what] || (pyPackages[first] || pyModules[module] != nil) && pyTells[what]
		}
	}
	return n, pyLooks[caller]
}

// showsPath reports whether code cannot add to sys.path, which stands before this token and is an argument of the
// caller.
func showsPath(after pyToken, caller string) bool {
	switch caller {
	case "in":
		return endsLoop(after)
	case "print", "len", "join":
		return after.is(")") || after.is(",")
	}
	return false
}

// pyTells lists the names of modules that tell about them.
var pyTells = names("__version__ VERSION version_info __file__ __name__ __doc__")
