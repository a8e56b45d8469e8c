package word

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/script"
)

// decoder builds the value of one word from its parts.
type decoder struct {
	a         *Reader
	sc        *Scope
	splitting bool // the shell splits unquoted expansions
	globbing  bool // the shell globs unquoted text

	buf     []byte
	done    []Word // completed fields
	some    bool   // the current field exists, though it may be empty
	unknown bool   // the current field has an unknown part
	other   bool   // one that is not known can be more than a number
	number  int    // where in buf the last number belongs
	head    string
	files   bool
	many    bool
	resplit bool // the shell splits a value in the current field
	loose   bool // the current field has a part that can become several words of any kind
	pipe    bool
	tracked bool     // the current field is a variable's value, a file that git tracks
	exists  bool     // the current field is a variable's value, the name of a file that existed
	globs   [][]byte // what an unknown field matches; none if it can be anything
}

func (d *decoder) lit(s string) {
	d.some = true
	d.add(s)
}

// vague adds a part of unknown value. class limits what it can be.
func (d *decoder) vague(class partClass) {
	d.some = true
	d.globs, d.tracked, d.exists = nil, false, false
	d.other, d.number = d.other || class != partNumber, len(d.buf)
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
	d.many = d.many || class == partMany || class == partGlob
	d.loose = d.loose || class == partMany
}

// partClass limits the possible values of an unknown part.
type partClass uint8

const (
	partValue  partClass = iota // one value of any kind
	partMany                    // several values of any kind
	partGlob                    // names of files
	partNumber                  // a number
	partName                    // the output of a command that prints no options
)

func (d *decoder) one(src string) Word {
	if !d.unknown && utf8.Valid(d.buf) {
		return Lit(string(d.buf))
	}
	w := Word{Text: src, Head: d.head, Files: d.files, Many: d.many, split: d.resplit, loose: d.loose, pipe: d.pipe, tracked: d.tracked, exists: d.exists}
	if d.unknown && !d.other && utf8.Valid(d.buf) {
		w.numbers = &[2]string{string(d.buf[:d.number]), string(d.buf[d.number:])}
	}
	for _, g := range d.globs {
		if !utf8.Valid(g) {
			w.Globs = nil
			break
		}
		w.Globs = append(w.Globs, string(g))
	}
	return w
}

func (d *decoder) fields(argv []Word, src string) []Word {
	if len(d.done) > 0 && d.unknown {
		return append(argv, Word{Text: src, Head: d.done[0].Text, Many: true, loose: true})
	}
	argv = append(argv, d.done...)
	if d.some {
		argv = append(argv, d.one(src))
	}
	return argv
}

// parts decodes word parts. In double quotes the shell splits and globs nothing.
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
			} else if d.a.Dialect == script.POSIX {
				d.vague(partValue) // dash keeps the dollar
			} else if s, ok := ansiC(p.Value); ok {
				d.lit(s)
			} else {
				d.vague(partValue)
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				d.vague(partValue) // a translation from a message catalogue
				continue
			}
			d.some = true
			d.parts(p.Parts, true)
		case *syntax.ParamExp:
			if d.a.Dialect == script.Zsh && p.Short && modifies(parts[i+1:]) {
				d.vague(partMany)
				continue
			}
			d.param(p, quoted)
		case *syntax.ArithmExp:
			d.glob(partNumber, digits, "-"+digits)
		case *syntax.CmdSubst:
			d.output(p, quoted)
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

// modifies reports whether the parts after a variable without braces begin with a modifier of zsh: $f:r.
func modifies(rest []syntax.WordPart) bool {
	if len(rest) == 0 {
		return false
	}
	l, ok := rest[0].(*syntax.Lit)
	return ok && strings.HasPrefix(l.Value, ":")
}

// digits is a pattern for a number, and printed are those for the output of a command that prints numbers: some pad
// them, and one that fails prints nothing.
const digits = "[0-9]*"

var printed = []string{digits, "-" + digits, "[ ]*", ""}

// output decodes the output of a command substitution.
func (d *decoder) output(p *syntax.CmdSubst, quoted bool) {
	switch {
	case substitution{d.a, p}.printsNumber():
		d.glob(partNumber, printed...)
	case substitution{d.a, p}.namesOnly():
		d.vague(partName)
		d.many = d.many || !quoted && d.splitting
	case quoted || !d.splitting:
		d.vague(partValue)
	default:
		d.vague(partMany)
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

// bareLit decodes unquoted literal text: backslashes, globs, and a tilde at the beginning of the word. rest holds the
// parts of the word after it.
func (d *decoder) bareLit(s string, first bool, rest []syntax.WordPart) {
	if s == "" {
		return // an empty part of {,a} makes no field
	}
	d.some = true
	s, first = d.assignedTilde(s, first)
	s = d.leadingTilde(s, first)
	if d.a.Dialect == script.Zsh && first && strings.HasPrefix(s, "=") && (len(s) > 1 || len(rest) > 0) {
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

// special decodes a backslash, glob or character class at the beginning of s and returns its length, or 0 if the
// character stands for itself.
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
		if d.a.Dialect == script.Zsh {
			d.vague(partGlob)
		}
	case '[':
		if d.globbing {
			return d.class(s, rest)
		}
	}
	return 0
}

// class decodes a character class at the beginning of s and returns its length, or 0 if none begins there.
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

// assignedTilde decodes the text before a tilde that follows the first = of a word that looks like an assignment, or a
// colon in it. It returns the rest.
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
	case user == "" && d.a.Home != "" && !d.a.Shell.Assigned["HOME"]:
		d.lit(d.a.Home)
	case user == "+" && d.a.Dialect != script.POSIX && d.workingDir() != "":
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

// workingDir returns the value of PWD, or "" if it is not certain.
func (d *decoder) workingDir() string {
	if dir := d.sc.Dir(); len(d.sc.Failed) == 0 && strings.HasPrefix(dir, "/") && !d.a.Shell.Assigned["PWD"] && d.a.Shell.Once[Anything] == 0 {
		return dir
	}
	return ""
}

// param decodes a parameter expansion. Its value is known if the script itself fixed it.
func (d *decoder) param(p *syntax.ParamExp, quoted bool) {
	if p.Param == nil {
		d.vague(partMany)
		return
	}
	name := p.Param.Value
	if p.Length || isNumberParam(p) {
		if name == "!" || name == "$" && p.Excl {
			d.vague(partNumber) // empty before the first job
		} else {
			d.glob(partNumber, digits)
		}
		return
	}
	if isSimple(p) && d.named(name, quoted) {
		return
	}
	if isSimple(p) && d.a.Shell.counted(name) {
		d.glob(partNumber, printed...)
		return
	}
	many := name == "@" || name == "*" || p.Index != nil || p.Names != 0
	if d.splitting && (!quoted || many) {
		d.vague(partMany)
	} else {
		d.vague(partValue)
	}
}

// named adds the value of the named variable. It returns false if the value is unknown.
func (d *decoder) named(name string, quoted bool) bool {
	if v, ok := d.a.Shell.Vars[name]; ok {
		d.variable(v, quoted)
		return true
	}
	v := d.place(name)
	if v == "" || !quoted && (!Plain(v) || strings.ContainsAny(v, " \t\n")) || !d.a.Found.Spend(len(v)) {
		return false
	}
	d.lit(v)
	return true
}

// isSimple reports whether an expansion is the value of a variable and nothing else.
func isSimple(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil && p.Index == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// place returns the value of HOME or PWD if it is known and the text does not assign it, or "".
func (d *decoder) place(name string) string {
	switch {
	case d.a.Shell.Assigned[name] || d.a.Shell.Once[Anything] > 0:
	case name == "HOME":
		return d.a.Home
	case name == "PWD":
		return d.workingDir()
	}
	return ""
}

// variable adds the value of a variable that the text itself fixed.
func (d *decoder) variable(v Word, quoted bool) {
	switch {
	case !d.a.Found.Spend(len(v.Text)):
		d.vague(partMany)
	case v.names:
		d.vague(partName)
		d.many = d.many || !quoted && d.splitting
		d.loose = d.loose || !quoted && d.splitting && d.a.Shell.Assigned["IFS"]
	case !v.Known:
		d.unknownValue(v, quoted)
	case quoted || !d.globbing:
		d.lit(v.Text)
	case d.a.Dialect == script.Zsh && !plainAnywhere.MatchString(v.Text), d.a.Shell.Assigned["IFS"],
		!Plain(v.Text) && strings.ContainsAny(v.Text, " \t\n\\{~"):
		d.vague(partMany)
	case !Plain(v.Text):
		d.globValue(v.Text)
	case !d.splitting:
		d.lit(v.Text)
	default:
		d.splitValue(v.Text)
	}
}

// plainAnywhere matches a value that zsh leaves as it is, whatever its options say of words and globs.
var plainAnywhere = lazyregexp.New(`^[A-Za-z0-9_./:@%+,-]*$`)

// unknownValue adds the value of a variable whose possible values the text fixed.
func (d *decoder) unknownValue(v Word, quoted bool) {
	first, other := !d.unknown && len(d.buf) == 0, d.other
	d.glob(partGlob, v.Globs...)
	d.other = other || !v.isCount()
	if first {
		d.head, d.tracked, d.exists = v.Head, v.tracked, v.exists
	}
	if first && d.head == "" && v.dashless && (quoted || !d.splitting) {
		d.head = "n"
	}
	d.resplit = d.resplit || v.split || !quoted && d.globbing
	d.loose = d.loose || !quoted && d.splitting && v.Head == "" && d.splits(v.Globs)
}

// splits reports whether the shell can split a match of one of the patterns.
func (d *decoder) splits(globs []string) bool {
	return len(globs) == 0 || d.a.Shell.Assigned["IFS"] || slices.ContainsFunc(globs, func(g string) bool { return strings.ContainsAny(g, " \t\n*?[\\") })
}

// splitValue adds an unquoted known value, split at blanks.
func (d *decoder) splitValue(s string) {
	for i, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }) {
		if i > 0 || Blank(s[0]) {
			d.flush()
		}
		d.lit(f)
	}
	if s != "" && Blank(s[len(s)-1]) {
		d.flush()
	}
}

func (d *decoder) flush() {
	if !d.some || d.unknown {
		return
	}
	d.done = append(d.done, Lit(string(d.buf)))
	d.buf, d.some = nil, false
}
