package word

import (
	"strings"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/script"
)

// holdsNumber says that the script itself gave a variable a number.
func (a *Shell) holdsNumber(name string) bool {
	v, ok := a.Vars[name]
	return ok && v.Known && IsNumber(v.Text)
}

// Defines says that the text defines a function of this name.
func (a *Shell) Defines(name string) bool {
	_, ok := a.bodies[name]
	return ok
}

// Counts says that a variable only ever holds numbers: each value that the text assigns is one.
func (a *Shell) Counts(name string) bool { return a.numbers[name] }

// Forget notes that a builtin assigns to the variable of this name, however the text wrote the builtin. What a
// loop or a function has run before it may run again with the new value.
func (a *Reader) Forget(name Word) {
	if a.Shell.Once == nil {
		return // a shell that has run no text knows nothing
	}
	if a.Shell.repeats && (!name.Known && len(a.Shell.Vars) > 0 || a.Shell.Once[name.Text] == 1) {
		a.Found.Problem("dynamic", "A variable changes where the text may run again: "+findings.Quote(name.Text)+".")
	}
	if name.Known {
		a.Shell.Once[name.Text] = 2
		delete(a.Shell.Vars, name.Text)
		return
	}
	a.Shell.Once[Anything]++
	clear(a.Shell.Vars)
}

// Gives notes a value that a variable is given, "@" for the positional parameters.
func (a *Shell) Gives(name string, v Word) {
	if !v.Known || v.Text == "" || len(a.Given[name]) == MaxCandidates {
		return
	}
	if a.Given == nil {
		a.Given = map[string][]string{}
	}
	a.Given[name] = append(a.Given[name], v.Text)
}

// Exports notes that programs get to see a variable from now on.
func (a *Shell) Exports(name string) {
	if a.Exported == nil {
		a.Exported = map[string]bool{}
	}
	a.Exported[name] = true
}

// Shell is what is known of the shell that runs a text.
type Shell struct {
	Vars     map[string]Word     // variables whose value is certain at this point of the text
	settled  []string            // the names in vars, in the order in which they came to be known
	Assigned map[string]bool     // variables that the text assigns anywhere
	Exported map[string]bool     // variables that the text has given to programs so far
	Once     map[string]int      // how often the text assigns each
	Funcs    map[string]bool     // functions that are certainly defined at this point
	numbers  map[string]bool     // variables that only ever hold numbers
	Keyed    map[string]bool     // arrays whose subscripts are text, which is not evaluated
	bodies   map[string]struct{} // functions the text defines anywhere
	secrets  map[string]bool     // variables that are given a credential
	Given    map[string][]string // the values that variables are given where they are known
	texts    map[string]bool     // variables that an assignment gives what is not certainly a number
	integers map[string]bool     // variables whose values the shell evaluates as arithmetic
	repeats  bool                // something of the text can run more than once
}

// integer notes that a declaration makes a variable an integer.
func (a *Shell) integer(name string) {
	if a.integers == nil {
		a.integers = map[string]bool{}
	}
	a.integers[name] = true
}

// Evaluates says that the shell evaluates what this variable is given as arithmetic, whose subscripts can run commands:
// the text declares it an integer somewhere, or the shell does.
func (a *Reader) Evaluates(name string) bool {
	return a.Shell.integers[name] || ownIntegers[name] || a.Dialect == script.Zsh && zshIntegers[name]
}

// The integers of the shells themselves.
var (
	ownIntegers = Set("RANDOM SRANDOM SECONDS OPTIND HISTCMD BASHPID LINENO EPOCHSECONDS")
	zshIntegers = Set("ARGC BAUD COLUMNS EGID EUID FUNCNEST GID HISTSIZE KEYTIMEOUT LINES LISTMAX LOGCHECK MAILCHECK PERIOD " +
		"REPORTTIME REPORTMEMORY SAVEHIST SHLVL TMOUT TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE UID USERNAME")
)

// MaxCandidates is how many values or words may be the program that runs where that is not certain.
const MaxCandidates = 32

// Settle notes a variable's value when nothing else in the text can change it.
func (a *Shell) Settle(name string, v Word) {
	if a.Once[name] == 1 && a.Once[Anything] == 0 && !special[name] {
		a.Vars[name] = v
		a.settled = append(a.settled, name)
	}
}

// Within runs f for a part of the text that runs perhaps, or in a shell of its own: what it assigns is certain as
// far as the part goes, and not behind it.
func (a *Shell) Within(f func()) {
	before := len(a.settled)
	f()
	for _, name := range a.settled[before:] {
		delete(a.Vars, name)
	}
	a.settled = a.settled[:before]
}

// special variables change by themselves, or mean something to the shell.
var special = map[string]bool{"RANDOM": true, "SECONDS": true, "LINENO": true, "BASHPID": true, "PWD": true, "OLDPWD": true,
	"EPOCHSECONDS": true, "EPOCHREALTIME": true, "SRANDOM": true, "DIRSTACK": true, "FUNCNAME": true, "GROUPS": true,
	"HISTCMD": true, "_": true, "PIPESTATUS": true, "OPTARG": true, "OPTIND": true, "REPLY": true, "BASH_COMMAND": true,
	"UID": true, "EUID": true, "PPID": true, "BASHOPTS": true, "SHELLOPTS": true, "IFS": true, "HOME": true}

// LoopVar notes what is known of a loop variable: that it holds names of files, or values that are not options.
func (a *Shell) LoopVar(name string, items []Word, choice bool) {
	if choice || a.Once[name] != 1 || a.Once["*"] != 0 {
		return
	}
	value, names := Word{Files: true, tracked: len(items) > 0, exists: len(items) > 0, dashless: len(items) > 0}, len(items) > 0
	for i := range items {
		w := &items[i]
		if !w.Files && !w.Safe() {
			return
		}
		value.split = value.split || w.split
		value.tracked, value.exists, value.dashless = value.tracked && w.tracked, value.exists && w.exists, value.dashless && w.Safe()
		names = names && w.Safe() && !w.Files && (!w.Known || !strings.ContainsAny(w.Text, " \t\n"))
	}
	if names && !a.Assigned["IFS"] {
		value.Head = "n" // no item can be an option, nor a part of one
	}
	if len(items) == 1 && items[0].Known {
		a.Vars[name] = items[0]
		return
	}
	value.Globs = globsOf(items)
	a.Vars[name] = value
}

// globsOf are patterns that match what the items can be; none where that is not known, or they are too many.
func globsOf(items []Word) (globs []string) {
	for i := range items {
		switch w := &items[i]; {
		case w.Known:
			globs = append(globs, literal(w.Text))
		case len(w.Globs) == 0:
			return nil
		default:
			globs = append(globs, w.Globs...)
		}
	}
	if len(globs) > maxGlobs {
		return nil
	}
	return globs
}

// Fresh runs f for a new shell, which shares no variables or functions that are not exported.
func (a *Reader) Fresh(f func()) {
	outer := a.Shell
	a.Shell = Shell{}
	f()
	a.Shell = outer
}
