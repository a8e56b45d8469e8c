package shellparse

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Parse says what text would run, touch and hide. It never fails: what it cannot know is in Problems.
// It is safe for concurrent use, and the result shares no memory with later calls.
func Parse(text string, o Options) *Script {
	tables := o.Tables
	if tables == nil {
		tables = builtinTables()
	}
	a := &analysis{start: o.Dir, runs: runProgram, looks: inspect}
	a.reader = reader{findings: findings{script: &Script{Text: text}, texts: maxReparse, values: maxValues}, dialect: o.Dialect, home: o.Home, tables: tables}
	sc := &scope{src: text, sure: true, start: true, input: noInput}
	if o.Dir != "" {
		sc.dirs = []string{clean(o.Dir)}
	} else {
		sc.dirs = here
	}
	if p := guard(text); p != nil {
		a.script.Problems = append(a.script.Problems, *p)
		a.guess(text, sc)
		return a.script
	}
	a.parse(text, sc)
	handedOn(a, sc)
	a.spread()
	return a.script
}

// handedOn adds, for denials, the commands in what the text prints and hands on, when something of it runs a text that
// is not known: that may be it.
func handedOn(a *analysis, sc *scope) {
	startup := func(e Effect) bool { return e.Text == "env BASH_ENV" || e.Text == "env ENV" }
	if !slices.ContainsFunc(a.script.Problems, func(p Problem) bool { return p.Code == "dynamic" }) &&
		!slices.ContainsFunc(a.script.Commands, func(c Command) bool { return slices.ContainsFunc(c.Effects, startup) }) {
		return
	}
	for i, n := 0, len(a.script.Commands); i < n; i++ {
		c := &a.script.Commands[i]
		if c.DenyOnly || len(c.Argv) == 0 {
			continue
		}
		texts := []string{c.Input.Value}
		if name := c.Argv[0].Value; (name == "echo" || name == "printf") && len(c.Argv) > 1 {
			args := Command{Argv: c.Argv[1:]}
			texts = append(texts, args.Text())
		}
		for _, text := range texts {
			if text != "" && a.texts >= len(text) {
				a.texts -= len(text)
				a.guess(strings.NewReplacer(`\\n`, "\n", "%s", " ").Replace(text), sc)
			}
		}
	}
}

var here = []string{"."}

// Caps on what is made of one text.
const (
	maxReparse = 128 << 10 // bytes of strings that are parsed again
	maxValues  = 1 << 20   // bytes that variables, patterns and paths expand to in all
	maxPoisons = 64        // effects of a text on all of its commands
)

// findings are what is known of a text so far, and how much may still be taken from it.
type findings struct {
	script  *Script
	poisons []Effect // effects of assignments on every command that follows them, or runs beside them
	texts   int      // bytes of literal strings that may still be parsed
	values  int      // bytes of values that the text may still make of itself
}

// reader says what words are, as far as the text itself fixes it.
type reader struct {
	findings
	shell
	dialect Dialect
	home    string // what ~ means, "" when unknown
	tables  *Tables
}

// analysis is the state of one Parse: it walks the statements of a text.
type analysis struct {
	reader
	start  string // absolute working directory, "" when unknown
	frames frames
	runs   func(*analysis, *call) bool // runs what a program runs in its place, and says whether the command is recorded
	looks  func(*analysis, *call)      // notes what the words of a command do
}

// shell is what is known of the shell that runs a text.
type shell struct {
	vars     map[string]word     // variables whose value is certain at this point of the text
	settled  []string            // the names in vars, in the order in which they came to be known
	assigned map[string]bool     // variables that the text assigns anywhere
	once     map[string]int      // how often the text assigns each
	funcs    map[string]bool     // functions that are certainly defined at this point
	numbers  map[string]bool     // variables that only ever hold numbers
	keyed    map[string]bool     // arrays whose subscripts are text, which is not evaluated
	bodies   map[string]struct{} // functions the text defines anywhere
	secrets  map[string]bool     // variables that are given a credential
	given    map[string][]string // the values that variables are given where they are known
	repeats  bool                // something of the text can run more than once
}

// Caps on where a piece of text may run.
const (
	maxDirs    = 16   // directories that a command may run in, by which cd failed
	maxDirPath = 4096 // bytes of the path of one
)

// scope is where a piece of text runs.
type scope struct {
	src   string // the text that positions of the syntax refer to
	raw   string // source of the outermost simple command, "" outside of one
	via   []string
	env   []Assignment
	depth int

	effects   []Effect
	escalates bool
	denyOnly  bool
	remote    bool // on another machine, or in a container

	dirs   []string // where it may run; nil when unknown
	failed []string // where it runs if the cd before it failed
	lost   bool     // the directory is not known
	astray bool     // nor is it if the cd before it failed

	testing bool // inside of [[ ]]

	sure  bool   // it certainly runs, once, in the shell of the text
	start bool   // it is the text itself, not a string within it
	input *input // never nil
}

// input is what the standard input of a command is. Scopes share it: nobody changes one.
type input struct {
	kind    inputKind
	text    word // the text, for inputText
	certain bool // it is an inputPipe wherever the command runs
	list    word // the files whose names it lists, one or several a line
}

var noInput = new(input)

type inputKind uint8

const (
	inputNone inputKind = iota // the terminal, or what the text was given
	inputPipe
	inputFile
	inputText
)

func (a *findings) problem(code, text string) {
	for _, p := range a.script.Problems {
		if p.Code == code && p.Text == text {
			return
		}
	}
	a.script.Problems = append(a.script.Problems, Problem{code, text})
}

// text returns the source text of a node.
func (sc *scope) text(n syntax.Node) string {
	lo, hi := int(n.Pos().Offset()), int(n.End().Offset())
	if lo > hi || hi > len(sc.src) {
		return ""
	}
	return sc.src[lo:hi]
}

type parsers struct {
	bash, zsh *syntax.Parser
	printer   *syntax.Printer
	one, two  bytes.Buffer
}

var parserPool = sync.Pool{New: func() any {
	return &parsers{
		bash:    syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangBash)),
		zsh:     syntax.NewParser(syntax.KeepComments(true), syntax.Variant(syntax.LangZsh)),
		printer: syntax.NewPrinter(),
	}
}}

// parse analyses a whole text in a scope: the command line itself, or a string that a shell is given.
func (a *analysis) parse(text string, sc *scope) {
	f, problems := readText(text, a.dialect)
	for _, p := range problems {
		a.problem(p.Code, p.Text)
	}
	if f == nil {
		a.guess(text, sc)
		return
	}
	sc.src = text
	if sc.start {
		a.script.Plain = plainText(f)
	}
	a.collect(f, text)
	a.stmts(f.Stmts, sc)
}

// plainText says that a text is one simple command and nothing else.
func plainText(f *syntax.File) bool {
	if len(f.Stmts) != 1 || len(f.Last) > 0 {
		return false
	}
	st := f.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Background || st.Coprocess || st.Disown || st.Negated || st.Semicolon.IsValid() || len(st.Redirs)+len(st.Comments)+len(call.Assigns) > 0 {
		return false
	}
	plain := true
	for _, w := range call.Args {
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
				plain = false
			}
			return plain
		})
	}
	return plain
}

// parseString analyses a literal string that is run as a script in the scope of a command.
func (a *analysis) parseString(text string, sc *scope) {
	if sc.depth++; sc.depth > maxDepth {
		a.problem("too-deep", "The text nests too deeply.")
		return
	}
	if a.texts -= len(text); a.texts < 0 {
		a.problem("too-long", "The strings that the text runs are too long.")
		return
	}
	if p := guard(text); p != nil {
		a.problem(p.Code, p.Text)
		a.guess(text, sc)
		return
	}
	sc.start, sc.sure, sc.input = false, false, noInput
	a.within(func() { a.parse(text, sc) })
}

// readText parses text. What it returns may be read otherwise by a shell, which is a problem then: it is good for
// denials only. It returns no file, but a problem, for what does not parse.
func readText(text string, dialect Dialect) (f *syntax.File, problems []Problem) {
	if p := foreign(text); p != "" {
		problems = append(problems, Problem{"foreign", p})
	}
	ps := parserPool.Get().(*parsers)
	defer parserPool.Put(ps)
	parser := ps.bash
	if dialect == Zsh {
		parser = ps.zsh
	}
	f, err := parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, append(problems, Problem{"unparsable", "The text does not parse: " + err.Error() + "."})
	}
	if p := ps.disagreement(parser, f, text); p != nil {
		problems = append(problems, *p)
	}
	return f, problems
}

// disagreement says why a shell could read the text otherwise than the parser did; nil when there is no reason.
func (ps *parsers) disagreement(parser *syntax.Parser, f *syntax.File, text string) *Problem {
	if strings.Contains(text, "\\\n") {
		var comments []int
		spans := literals(f, &comments)
		if p := continuations(text, spans); p != nil {
			return p
		}
		// A comment ends with its line. The parser goes on with the next when a backslash stands there.
		for _, i := range comments {
			if line, _, _ := strings.Cut(text[i:], "\n"); strings.HasSuffix(line, "\\") {
				return &Problem{"disagreement", "A comment ends in a backslash: " + quote(line) + "."}
			}
		}
	}
	if !needsSecondLook(text) {
		return nil
	}
	if p := rewritten(f, text); p != nil {
		return p
	}
	// The printed form, parsed again, must print the same: else the parser did not mean what it read.
	ps.one.Reset()
	ps.two.Reset()
	if ps.printer.Print(&ps.one, f) != nil {
		return &Problem{"disagreement", "The text cannot be printed back."}
	}
	again, err := parser.Parse(bytes.NewReader(ps.one.Bytes()), "")
	if err != nil || ps.printer.Print(&ps.two, again) != nil || !bytes.Equal(ps.one.Bytes(), ps.two.Bytes()) && !ps.settles(parser) {
		return &Problem{"disagreement", "The text reads differently after it is printed back."}
	}
	return nil
}

// settles says that printing reaches a fixed point in one more step, which layout alone can need.
func (ps *parsers) settles(parser *syntax.Parser) bool {
	again, err := parser.Parse(bytes.NewReader(ps.two.Bytes()), "")
	if err != nil || ps.two.Len() == 0 {
		return false
	}
	ps.one.Reset()
	return ps.printer.Print(&ps.one, again) == nil && bytes.Equal(ps.one.Bytes(), ps.two.Bytes())
}

// needsSecondLook says that a text has a construct in which parsers are known to differ.
func needsSecondLook(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '`', '#', '\n':
			return true
		case '\\':
			if i+1 < len(s) && s[i+1] == '\n' {
				return true
			}
		case '$':
			if i+1 < len(s) && strings.IndexByte("([{'\"", s[i+1]) >= 0 {
				return true
			}
		case '(', '<':
			if i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '<') {
				return true
			}
		}
	}
	return false
}

// literals returns the spans in which a backslash is an ordinary character, sorted, and where comments begin.
func literals(f *syntax.File, comments *[]int) []span {
	var spans []span
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if !n.Dollar {
				spans = append(spans, span{int(n.Pos().Offset()), int(n.End().Offset())})
			}
		case *syntax.Comment:
			*comments = append(*comments, int(n.Hash.Offset()))
		case *syntax.Redirect:
			if n.Hdoc != nil && quotedDelimiter(n.Word) {
				spans = append(spans, span{int(n.Hdoc.Pos().Offset()), int(n.Hdoc.End().Offset())})
			}
		}
		return true
	})
	slices.SortFunc(spans, func(x, y span) int { return x.start - y.start })
	return spans
}

// holdsLine reports whether a text has a line, as it is written or after its lines are joined; tabs says that the tabs at
// the beginning of a line do not count.
func holdsLine(text, line string, tabs bool) bool {
	for _, s := range [...]string{text, strings.ReplaceAll(text, "\\\n", "")} {
		for l := range strings.SplitSeq(s, "\n") {
			if tabs {
				l = strings.TrimLeft(l, "\t")
			}
			if l == line {
				return true
			}
		}
	}
	return false
}

// rewritten reports what bash reads otherwise because it changes the text of a construct before it reads what is
// inside. It ends an unquoted here-document at the first line that is the delimiter, whatever is open there, joins
// its lines and, behind <<-, drops the tabs that they begin with, in quotes also. It joins lines in quotes inside
// backquotes too. The parser does none of this inside an expansion.
func rewritten(f *syntax.File, text string) (found *Problem) {
	report := func(n syntax.Node) {
		if found == nil {
			found = &Problem{"disagreement", "Shells and parsers read the text at " + quote(around(text, int(n.Pos().Offset()))) + " differently."}
		}
	}
	raw := func(n syntax.Node) string { return text[n.Pos().Offset():n.End().Offset()] }
	// joins looks for what keeps a backslash before a line end, where bash has none left.
	joins := func(in syntax.Node) {
		if !strings.Contains(raw(in), "\\\n") {
			return
		}
		syntax.Walk(in, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.SglQuoted:
				if strings.Contains(raw(n), "\\\n") {
					report(n)
				}
			case *syntax.Redirect:
				if n.Hdoc != nil && quotedDelimiter(n.Word) && strings.Contains(raw(n.Hdoc), "\\\n") {
					report(n)
				}
			}
			return found == nil
		})
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				joins(n)
			}
		case *syntax.Redirect:
			if n.Hdoc == nil || quotedDelimiter(n.Word) {
				break
			}
			body, dash := raw(n.Hdoc), n.Op == syntax.DashHdoc
			body = body[:max(0, strings.LastIndexByte(body, '\n'))] // without the delimiter
			if strings.HasSuffix(body, "\\") {
				report(n)
			}
			if holdsLine(body, n.Word.Lit(), dash) {
				report(n)
			}
			for _, p := range n.Hdoc.Parts {
				if _, plain := p.(*syntax.Lit); dash && !plain && strings.Contains(raw(p), "\n\t") {
					report(p)
				}
			}
			joins(n.Hdoc)
		}
		return found == nil
	})
	return found
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || strings.IndexByte(l.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

// spend takes from what the text may make of itself: a few doublings of a variable would fill the memory. It
// returns false after reporting a problem when nothing is left.
func (a *findings) spend(n int) bool {
	if a.values < n {
		a.values = 0
		a.problem("too-long", "The text expands to more than can be judged.")
		return false
	}
	a.values -= n
	return true
}

// maxCandidates is how many values or words may be the program that runs where that is not certain.
const maxCandidates = 32

// settle notes a variable's value when nothing else in the text can change it.
func (a *shell) settle(name string, v word) {
	if a.once[name] == 1 && a.once[anything] == 0 && !special[name] {
		a.vars[name] = v
		a.settled = append(a.settled, name)
	}
}

// within runs f for a part of the text that runs perhaps, or in a shell of its own: what it assigns is certain as
// far as the part goes, and not behind it.
func (a *shell) within(f func()) {
	before := len(a.settled)
	f()
	for _, name := range a.settled[before:] {
		delete(a.vars, name)
	}
	a.settled = a.settled[:before]
}

// special variables change by themselves, or mean something to the shell.
var special = map[string]bool{"RANDOM": true, "SECONDS": true, "LINENO": true, "BASHPID": true, "PWD": true, "OLDPWD": true,
	"EPOCHSECONDS": true, "EPOCHREALTIME": true, "SRANDOM": true, "DIRSTACK": true, "FUNCNAME": true, "GROUPS": true,
	"HISTCMD": true, "_": true, "PIPESTATUS": true, "OPTARG": true, "OPTIND": true, "REPLY": true, "BASH_COMMAND": true,
	"UID": true, "EUID": true, "PPID": true, "BASHOPTS": true, "SHELLOPTS": true, "IFS": true, "HOME": true}

// poison notes an effect on every command that follows, or runs beside it.
func (a *findings) poison(text string) { addEffect(&a.poisons, Effect{Text: text}) }

// spread adds what the text assigns for all of its commands: which of them come after is not certain in
// loops and functions, so that all of them carry it.
func (a *findings) spread() {
	if len(a.poisons) > maxPoisons {
		a.problem("too-long", "The text changes what its commands do in too many ways.")
		a.poisons = a.poisons[:maxPoisons]
	}
	for _, e := range a.poisons {
		for i := range a.script.Commands {
			addEffect(&a.script.Commands[i].Effects, Effect{Text: e.Text})
		}
	}
}

// addEffect notes an effect once. Of two that read the same the one that is harder to name counts.
func addEffect(list *[]Effect, e Effect) {
	for i := range *list {
		if old := &(*list)[i]; old.Text == e.Text {
			old.Named = harderToName(old.Named, e.Named)
			return
		}
	}
	*list = append(*list, e)
}

// harderToName returns the stricter of two values of Effect.Named.
func harderToName(a, b int) int {
	switch {
	case a == 0 || b == 0:
		return 0
	case a == b:
		return a
	case a < 0 || b < 0:
		return Whole
	}
	return max(a, b)
}

// behind returns the effect of a command as one has it that runs it behind n words of its own. Only the command of
// these very words is named by them.
func (e Effect) behind(n int, same bool) Effect {
	switch {
	case !same:
		return Effect{Text: e.Text}
	case e.Named > 0:
		e.Named += n
	}
	return e
}

// unnamed returns effects as a command with other words has them: no rule for its words names them.
func unnamed(list []Effect) []Effect {
	out := make([]Effect, len(list))
	for i, e := range list {
		out[i] = Effect{Text: e.Text}
	}
	return out
}
