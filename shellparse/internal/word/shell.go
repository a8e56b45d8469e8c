package word

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/script"
)

// holdsNumber reports whether the script itself gave a variable a number.
func (a *Shell) holdsNumber(name string) bool {
	v, ok := a.Vars[name]
	return ok && v.Known && IsNumber(v.Text)
}

// Defines reports whether the text defines a function of this name.
func (a *Shell) Defines(name string) bool {
	return len(a.bodies[name]) > 0
}

// Bodies returns what the text gives the functions of this name to do.
func (a *Shell) Bodies(name string) []*syntax.Stmt { return a.bodies[name] }

// Counts reports whether a variable only ever holds numbers: each value that the text assigns is a number.
func (a *Shell) Counts(name string) bool { return a.numbers[name] }

// Forget records that a builtin assigns to the variable of this name, however the text wrote the builtin. What a loop
// or a function has run before may run again with the new value.
func (a *Reader) Forget(name Word) {
	if a.Shell.Once == nil {
		return // nothing is known of a shell that has run no text
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

// Gives records a value that a variable receives. "@" stands for the positional parameters.
func (a *Shell) Gives(name string, v Word) {
	if !v.Known || v.Text == "" || len(a.Given[name]) == MaxCandidates {
		return
	}
	if a.Given == nil {
		a.Given = map[string][]string{}
	}
	a.Given[name] = append(a.Given[name], v.Text)
}

// Exports records that programs see a variable from now on.
func (a *Shell) Exports(name string) {
	if a.Exported == nil {
		a.Exported = map[string]bool{}
	}
	a.Exported[name] = true
}

// Shell is what is known of the shell that runs a text.
type Shell struct {
	Vars     map[string]Word           // variables whose value is certain at this point of the text
	counts   map[string]bool           // variables that hold an unknown number at this point of the text
	settled  []string                  // the names in Vars, counts and Funcs, in the order in which they became known
	Assigned map[string]bool           // variables that the text assigns anywhere
	Exported map[string]bool           // variables that the text has exported so far
	Once     map[string]int            // how often the text assigns each variable
	Funcs    map[string]bool           // functions that are certainly defined at this point
	numbers  map[string]bool           // variables that only ever hold numbers
	Keyed    map[string]bool           // arrays whose subscripts are text, which the shell does not evaluate
	bodies   map[string][]*syntax.Stmt // functions that the text defines anywhere
	Defined  int                       // how many functions the text defines
	secrets  map[string]bool           // variables that receive a credential
	Given    map[string][]string       // known values that variables receive
	texts    map[string]bool           // variables that receive a value that is not certainly a number
	integers map[string]bool           // variables whose values the shell evaluates as arithmetic
	Jumps    bool                      // the text may leave a function or a loop before its end
	doubt    int                       // 1 + how many values were settled before a part that may end the line; 0 if there is none
	Locks    bool                      // the text may make variables read-only
	Breaks   bool                      // a function of the text may end the line that calls it
	Wanders  bool                      // a trap other than EXIT may run between any two commands
	repeats  bool                      // some part of the text can run more than once
}

// integer records that a declaration makes a variable an integer.
func (a *Shell) integer(name string) {
	if a.integers == nil {
		a.integers = map[string]bool{}
	}
	a.integers[name] = true
}

// Evaluates reports whether the shell evaluates this variable's values as arithmetic, whose subscripts can run
// commands: the text declares it an integer somewhere, or the shell itself does.
func (a *Reader) Evaluates(name string) bool {
	return a.Shell.integers[name] || ownIntegers[name] || a.Dialect == script.Zsh && zshIntegers[name]
}

// Variables that the shells themselves make integers.
var (
	ownIntegers = Set("RANDOM SRANDOM SECONDS OPTIND HISTCMD BASHPID LINENO EPOCHSECONDS")
	zshIntegers = Set("ARGC BAUD COLUMNS EGID EUID FUNCNEST GID HISTSIZE KEYTIMEOUT LINES LISTMAX LOGCHECK MAILCHECK PERIOD " +
		"REPORTTIME REPORTMEMORY SAVEHIST SHLVL TMOUT TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE UID USERNAME")
)

// MaxCandidates limits the values or words that are considered as the program, if the program is not certain.
const MaxCandidates = 32

// Settle records a variable's value, or what kind of value it is, if nothing else in the text can change it.
func (a *Shell) Settle(name string, v Word) {
	if a.Once[name] != 1 || a.Once[Anything] != 0 || special[name] {
		a.MayEnd() // it may be read-only
		return
	}
	switch {
	case v.Known, v.names:
		a.Vars[name] = v
	case !v.isCount():
		return
	case a.counts == nil:
		a.counts = map[string]bool{}
		fallthrough
	default:
		a.counts[name] = true
	}
	a.settled = append(a.settled, name)
}

// SettleFunc records that a function is certainly defined from this point on.
func (a *Shell) SettleFunc(name string) {
	a.Funcs[name] = true
	a.settled = append(a.settled, name)
}

// counted reports whether a variable certainly holds a number at this point of the text.
func (a *Shell) counted(name string) bool {
	return a.counts[name] && a.Once[name] == 1 && a.Once[Anything] == 0
}

// Within runs f for a part of the text that may not run, or that runs in its own shell: the values it assigns are
// certain within the part, but not after it.
func (a *Shell) Within(f func()) {
	before := len(a.settled)
	f()
	a.Unsettle(before)
}

// Settled returns how many values are settled.
func (a *Shell) Settled() int { return len(a.settled) }

// Unsettle forgets the values that were settled after the first n.
func (a *Shell) Unsettle(n int) {
	for _, name := range a.settled[n:] {
		delete(a.Vars, name)
		delete(a.counts, name)
		delete(a.Funcs, name)
	}
	a.settled, a.doubt = a.settled[:n], min(a.doubt, n+1)
}

// MayEnd records that the line may end here: after some errors in an expansion or an assignment, bash runs nothing more
// of the line, not even of a function or a loop that goes on, and continues with the next one.
func (a *Shell) MayEnd() {
	if a.doubt == 0 {
		a.doubt = len(a.settled) + 1
	}
}

// Ends reports whether the line may have ended before this point.
func (a *Shell) Ends() bool { return a.doubt > 0 }

// NextLine forgets what is not certain once the line may have ended. another means that a new line certainly begins.
func (a *Shell) NextLine(another bool) {
	if !a.Ends() {
		return
	}
	a.Unsettle(a.doubt - 1)
	if another {
		a.doubt = 0
	}
}

// EndsOf runs f and reports whether that may end the line, without an effect on the line that is walked now.
func (a *Shell) EndsOf(f func()) bool {
	outer := a.doubt
	a.doubt = 0
	f()
	ends := a.Ends()
	a.doubt = outer
	return ends
}

// special lists variables that change by themselves, or that mean something to the shell.
var special = map[string]bool{"RANDOM": true, "SECONDS": true, "LINENO": true, "BASHPID": true, "PWD": true, "OLDPWD": true,
	"EPOCHSECONDS": true, "EPOCHREALTIME": true, "SRANDOM": true, "DIRSTACK": true, "FUNCNAME": true, "GROUPS": true,
	"HISTCMD": true, "_": true, "PIPESTATUS": true, "OPTARG": true, "OPTIND": true, "REPLY": true, "BASH_COMMAND": true,
	"UID": true, "EUID": true, "PPID": true, "BASHOPTS": true, "SHELLOPTS": true, "BASH_VERSINFO": true, "IFS": true, "HOME": true}

// LoopVar records what is known of a loop variable: that it holds file names, or no options. choice is true for select.
func (a *Shell) LoopVar(name string, items []Word, choice bool) {
	if choice || a.Once[name] != 1 || a.Once["*"] != 0 {
		return
	}
	if slices.ContainsFunc(items, func(w Word) bool { return !w.Files && !w.Safe() }) {
		return
	}
	value, names := Word{Files: true, tracked: len(items) > 0, exists: len(items) > 0, dashless: len(items) > 0}, len(items) > 0
	for i := range items {
		w := &items[i]
		value.split = value.split || w.split
		value.tracked, value.exists, value.dashless = value.tracked && w.tracked, value.exists && w.exists, value.dashless && w.Safe()
		names = names && w.Safe() && !w.Files && (!w.Known || !strings.ContainsAny(w.Text, " \t\n"))
	}
	if names && !a.Assigned["IFS"] {
		value.Head = "n" // neither an item nor a part of it can be an option
	}
	if len(items) == 1 && items[0].Known {
		a.Vars[name] = items[0]
		return
	}
	if allNumbers(items) {
		value.numbers = &[2]string{}
	}
	value.Globs = globsOf(items)
	a.Vars[name] = value
}

// allNumbers reports whether there are items, and each is a number.
func allNumbers(items []Word) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(w Word) bool { return !w.isCount() && !(w.Known && IsNumber(w.Text)) })
}

// globsOf returns patterns that match the possible values of the items, or nil if they are unknown or too many.
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

// Fresh runs f with a new Shell, of which nothing is known: it shares no unexported variables or functions.
func (a *Reader) Fresh(f func()) {
	outer := a.Shell
	a.Shell = Shell{}
	f()
	a.Shell = outer
}

// FreshIn is Fresh for a shell that reads text in a dialect of its own.
func (a *Reader) FreshIn(d script.Dialect, f func()) {
	outer := a.Dialect
	a.Dialect = d
	a.Fresh(f)
	a.Dialect = outer
}
