package shellparse

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is a decoded word with what is known of an unknown one.
type word struct {
	text  string // the value, or the source text when not known
	head  string // what the value certainly begins with, when not known
	known bool
	// files says that an unknown value is names of files that exist: a glob, the items that xargs reads.
	// Such a name begins with a dash only where someone put it there.
	files bool
	// many says that an unknown word can become several words, or none.
	many bool
	// globs are patterns of path.Match, one of which matches the value of an unknown word; none when it can be
	// anything.
	globs   []string
	split   bool // the shell splits and globs what the patterns match
	tracked bool // it is one of the files that git tracks below the directory
	pipe    bool // the word is a process substitution
}

// safe says that the word cannot begin with a dash, so that no program takes it for an option.
func (w *word) safe() bool {
	if w.known {
		return !strings.HasPrefix(w.text, "-") || w.text == "-"
	}
	return w.head != "" && w.head[0] != '-'
}

func lit(s string) word { return word{text: s, known: true} }

// fields appends the words that w expands to.
func (a *reader) fields(argv []word, w *syntax.Word, sc *scope) []word {
	if len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && plain(l.Value) && a.dialect != Zsh {
			return append(argv, lit(l.Value))
		}
	}
	src := sc.text(w)
	if !hasBrace(w) || a.dialect == POSIX {
		if strayBrace(w) {
			return append(argv, word{text: src, many: true})
		}
		return a.split(argv, w, src, sc)
	}
	return a.braces(argv, &syntax.Word{Parts: slices.Clone(w.Parts)}, src, sc)
}

// braces is fields for a word with braces, which it changes.
func (a *reader) braces(argv []word, w *syntax.Word, src string, sc *scope) []word {
	if hasBrace(w) && a.dialect != POSIX && loneDollar(w) {
		return append(argv, word{text: src, many: true}) // braces come first: {$,x}y is $y, and xy
	}
	if hasBrace(w) && a.dialect != POSIX && syntax.SplitBraces(w) {
		n := braceCount(w)
		if n > maxBraces {
			return append(argv, word{text: src, many: true})
		}
		expanded := make([]*syntax.Word, 0, n)
		for one, err := range expand.BracesSeq(nil, w) {
			if err != nil || strayBrace(one) {
				return append(argv, word{text: src, many: true})
			}
			expanded = append(expanded, one)
		}
		for _, one := range expanded {
			argv = a.split(argv, one, src, sc)
		}
		return argv
	}
	if strayBrace(w) {
		return append(argv, word{text: src, many: true})
	}
	return a.split(argv, w, src, sc)
}

// plain says that an unquoted literal stands for itself.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '{', '~':
			return false
		}
	}
	return true
}

// split appends the fields of a word without braces: one, unless a known variable is split.
func (a *reader) split(argv []word, w *syntax.Word, src string, sc *scope) []word {
	if names := a.listedIn(w, sc); len(names.globs) > 0 {
		names.text = src
		return append(argv, names)
	}
	d := decoder{a: a, sc: sc, splitting: true, globbing: true}
	d.parts(w.Parts, false)
	return d.fields(argv, src)
}

// target decodes the target of a redirection, which a shell globs and expands but does not split.
func (a *reader) target(w *syntax.Word, sc *scope) word {
	if w == nil {
		return lit("")
	}
	if a.dialect != POSIX && strayBrace(w) {
		return word{text: sc.text(w)}
	}
	d := decoder{a: a, sc: sc, globbing: true}
	d.parts(w.Parts, false)
	return d.one(sc.text(w))
}

// value decodes a word where the shell does not split: assignments, case words.
func (a *reader) value(w *syntax.Word, sc *scope) word {
	if w == nil {
		return lit("")
	}
	d := decoder{a: a, sc: sc}
	d.parts(w.Parts, false)
	return d.one(sc.text(w))
}

// decoder builds the value of one word from its parts.
type decoder struct {
	a         *reader
	sc        *scope
	splitting bool // unquoted expansions are split
	globbing  bool // unquoted text is globbed

	buf     []byte
	done    []word // fields that are complete
	some    bool   // the current field exists, though it may be empty
	unknown bool   // the current field has a part that is not known
	head    string
	files   bool
	many    bool
	resplit bool // the current field has a value that the shell splits
	pipe    bool
	globs   [][]byte // what an unknown field matches, none when it can be anything
}

func (d *decoder) lit(s string) {
	d.some = true
	d.add(s)
}

// vague adds a part whose value can be anything. class tells what it can be.
func (d *decoder) vague(class partClass) {
	d.some = true
	d.globs = nil
	if !d.unknown {
		d.unknown = true
		if len(d.buf) > 0 {
			d.head = string(d.buf)
		}
		d.files = class == partGlob
		if d.head == "" && class == partNumber {
			d.head = "0"
		}
		if d.head == "" && class == partName {
			d.head = "n"
		}
	}
	if class == partMany || class == partGlob {
		d.many = true
	}
}

type partClass uint8

const (
	partValue  partClass = iota // one value, anything
	partMany                    // several values, anything
	partGlob                    // names of files
	partNumber                  // a number
	partName                    // the output of a command that prints no options
)

func (d *decoder) one(src string) word {
	if !d.unknown && utf8.Valid(d.buf) {
		return lit(string(d.buf))
	}
	w := word{text: src, head: d.head, files: d.files, many: d.many, split: d.resplit, pipe: d.pipe}
	for _, g := range d.globs {
		if !utf8.Valid(g) {
			w.globs = nil
			break
		}
		w.globs = append(w.globs, string(g))
	}
	return w
}

func (d *decoder) fields(argv []word, src string) []word {
	if len(d.done) > 0 && d.unknown {
		return append(argv, word{text: src, head: d.done[0].text, many: true})
	}
	argv = append(argv, d.done...)
	if d.some {
		argv = append(argv, d.one(src))
	}
	return argv
}

// parts decodes word parts. In double quotes nothing is split or globbed.
func (d *decoder) parts(parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if quoted {
				d.quotedLit(p.Value)
			} else {
				d.bareLit(p.Value, i == 0, parts[i+1:])
			}
		case *syntax.SglQuoted:
			if !p.Dollar {
				d.lit(p.Value)
			} else if d.a.dialect == POSIX {
				d.vague(partValue) // dash keeps the dollar
			} else if s, ok := ansiC(p.Value); ok {
				d.lit(s)
			} else {
				d.vague(partValue)
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				d.vague(partValue) // the text of a message catalogue
				continue
			}
			d.some = true
			d.parts(p.Parts, true)
		case *syntax.ParamExp:
			d.param(p, quoted)
		case *syntax.ArithmExp:
			d.glob(partNumber, "*")
		case *syntax.CmdSubst:
			switch {
			case d.a.namesOnly(p):
				d.vague(partName)
			case quoted || !d.splitting:
				d.vague(partValue)
			default:
				d.vague(partMany)
			}
		case *syntax.ProcSubst:
			d.pipe = len(parts) == 1
			d.lit("/dev/fd/")
			d.vague(partNumber)
		case *syntax.ExtGlob:
			d.extGlob(p)
		default:
			d.vague(partMany)
		}
	}
}

// quotedLit decodes literal text between double quotes.
func (d *decoder) quotedLit(s string) {
	d.some = true
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
			i++
		}
		d.add(s[i : i+1])
	}
}

// bareLit decodes unquoted literal text: backslashes, globs, and a tilde at the beginning of the word. rest is
// what follows it in the word.
func (d *decoder) bareLit(s string, first bool, rest []syntax.WordPart) {
	if s == "" {
		return // what is left of {,a}: no field
	}
	d.some = true
	s, first = d.assignedTilde(s, first)
	s = d.leadingTilde(s, first)
	if d.a.dialect == Zsh && first && strings.HasPrefix(s, "=") {
		d.vague(partGlob) // =program is the program's path
	}
	for s != "" {
		n := d.special(s, rest)
		if n == 0 {
			d.add(s[:1])
			n = 1
		}
		s = s[n:]
	}
}

// special decodes a backslash, glob or character class at the beginning of s and returns how long it is; 0 for a character
// that stands for itself.
func (d *decoder) special(s string, rest []syntax.WordPart) int {
	switch s[0] {
	case '\\':
		if len(s) == 1 {
			return 0
		}
		if s[1] != '\n' {
			d.add(s[1:2])
		}
		return 2
	case '*', '?':
		if d.globbing {
			d.glob(partGlob, s[:1])
			return 1
		}
	case '(', '^', '#':
		if d.a.dialect == Zsh {
			d.vague(partGlob)
		}
	case '[':
		if d.globbing {
			return d.class(s, rest)
		}
	}
	return 0
}

// class decodes a character class at the beginning of s and returns how long it is; 0 when none begins there.
func (d *decoder) class(s string, rest []syntax.WordPart) int {
	n, pattern := bracket(s)
	if n == 0 {
		if closes(rest) || strings.IndexByte(s, ']') >= 0 {
			d.vague(partGlob)
		}
		return 0
	}
	if set := s[1 : n-1]; !d.unknown && len(d.buf) == 0 && !strings.ContainsAny(set, "-!^[]\\") {
		d.head = set[:1]
	}
	if strings.IndexByte(s[:n], '/') >= 0 {
		d.vague(partGlob)
		return 0
	}
	d.glob(partGlob, pattern)
	return n
}

// assignedTilde decodes what stands before a tilde after the first = of a word that looks like an assignment, or after a
// colon in one, and returns the rest.
func (d *decoder) assignedTilde(s string, first bool) (string, bool) {
	if !first || !strings.Contains(s, "=~") && !strings.Contains(s, ":~") {
		return s, first
	}
	name, _, ok := strings.Cut(s, "=")
	if d.splitting && (!ok || !syntax.ValidName(strings.TrimSuffix(name, "+"))) {
		return s, first
	}
	i := strings.IndexByte(s, '~')
	d.add(s[:i])
	d.vague(partValue)
	return s[i:], false
}

// leadingTilde decodes a tilde at the beginning of the word and returns the rest.
func (d *decoder) leadingTilde(s string, first bool) string {
	user, below, slash := strings.Cut(strings.TrimPrefix(s, "~"), "/")
	quoted := strings.Contains(strings.ReplaceAll(user, "\\\n", ""), `\`)
	if !first || !strings.HasPrefix(s, "~") || quoted {
		return s
	}
	switch {
	case user == "" && d.a.home != "" && !d.a.assigned["HOME"]:
		d.lit(d.a.home)
	case user == "+" && d.a.dialect != POSIX && d.workingDir() != "":
		d.lit(d.workingDir())
	default:
		d.add("~")
		d.vague(partValue)
		d.lit(strings.ReplaceAll(user, "\\\n", ""))
	}
	if slash {
		d.lit("/")
	}
	return below
}

// workingDir is the value of PWD, "" when it is not certain.
func (d *decoder) workingDir() string {
	if dir := d.sc.dir(); len(d.sc.failed) == 0 && strings.HasPrefix(dir, "/") && !d.a.assigned["PWD"] && d.a.once[anything] == 0 {
		return dir
	}
	return ""
}

// param decodes a parameter expansion: the value where the script itself fixed it.
func (d *decoder) param(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil {
		d.vague(partMany)
		return
	}
	name := p.Param.Value
	if p.Length || name == "?" || name == "#" || name == "$" || name == "!" && !p.Excl {
		if name == "!" || name == "$" && p.Excl {
			d.vague(partNumber) // empty before the first job
		} else {
			d.glob(partNumber, "*")
		}
		return
	}
	simple := isSimple(p)
	if v, ok := d.a.vars[name]; ok && simple {
		d.variable(v, quoted)
		return
	}
	if v := d.place(name); simple && v != "" && (quoted || plain(v) && !strings.ContainsAny(v, " \t\n")) && d.a.spend(len(v)) {
		d.lit(v)
		return
	}
	many := name == "@" || name == "*" || p.Index != nil || p.Names != 0
	if d.splitting && (!quoted || many) {
		d.vague(partMany)
	} else {
		d.vague(partValue)
	}
}

// isSimple says that an expansion is the value of a variable and nothing else.
func isSimple(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil && p.Index == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// place is the value of a variable that the text does not assign and that names a directory which is known.
func (d *decoder) place(name string) string {
	switch {
	case d.a.assigned[name] || d.a.once[anything] > 0:
	case name == "HOME":
		return d.a.home
	case name == "PWD":
		return d.workingDir()
	}
	return ""
}

// variable adds the value of a variable that the text itself fixed.
func (d *decoder) variable(v word, quoted bool) {
	switch {
	case !d.a.spend(len(v.text)):
		d.vague(partMany)
	case !v.known:
		first := !d.unknown && len(d.buf) == 0
		if d.glob(partGlob, v.globs...); first {
			d.head = v.head
		}
		d.resplit = d.resplit || v.split || !quoted && d.globbing
	case quoted || !d.globbing:
		d.lit(v.text)
	case d.a.dialect == Zsh || d.a.assigned["IFS"] || !plain(v.text) && strings.ContainsAny(v.text, " \t\n\\{~"):
		d.vague(partMany)
	case !plain(v.text):
		d.globValue(v.text)
	case !d.splitting:
		d.lit(v.text)
	default:
		d.splitValue(v.text)
	}
}

// splitValue adds an unquoted known value, split at blanks.
func (d *decoder) splitValue(s string) {
	for i, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
		if i > 0 || blank(s[0]) {
			d.flush()
		}
		d.lit(f)
	}
	if s != "" && blank(s[len(s)-1]) {
		d.flush()
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func (d *decoder) flush() {
	if !d.some || d.unknown {
		return
	}
	d.done = append(d.done, lit(string(d.buf)))
	d.buf, d.some = nil, false
}

// isGlob says that a value holds characters that a rule or a shell would read as a pattern.
func isGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// quote renders text for a sentence.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return strconv.QuoteToASCII(s)
}

// clean is path.Clean that keeps an empty path empty.
func clean(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// envEffect names what setting a variable can execute, "" when nothing.
func (a *reader) envEffect(name string, v word) string {
	return a.tables.envEffect(name, Word{Value: v.text, Known: v.known})
}

// sets notes that a variable is set for all that follows.
func (a *reader) sets(name string, v word) {
	if e := a.envEffect(name, v); e != "" {
		a.poison(e)
	}
}
