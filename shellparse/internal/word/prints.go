package word

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
)

// Assigns reports whether an arithmetic operator is plain assignment.
func Assigns(op syntax.BinAritOperator) bool { return op == syntax.Assgn }

// Numeric reports whether an arithmetic operand is certainly a number.
func (a *Reader) Numeric(w *syntax.Word) bool {
	if s := w.Lit(); s != "" {
		return s[0] >= '0' && s[0] <= '9' || s == "@" || s == "*" || s == "-1" || a.Shell.Counts(s) || a.Shell.holdsNumber(s)
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !IsNumber(p.Value) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.CmdSubst:
			if !(substitution{a, p}).printsNumber() {
				return false
			}
		case *syntax.ParamExp:
			if p.Param == nil {
				return false
			}
			name := p.Param.Value
			if !p.Length && !isNumberParam(p) && !a.Shell.Counts(name) && !a.Shell.holdsNumber(name) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isNumberParam reports whether a parameter always holds a number from the shell itself.
func isNumberParam(p *syntax.ParamExp) bool {
	switch p.Param.Value {
	case "#", "?", "$":
		return true
	case "!":
		return !p.Excl
	}
	return false
}

// NumericTest reports whether an operand of a numeric test or of an integer variable is certainly a number.
func (a *Reader) NumericTest(w *syntax.Word, sc *Scope) bool {
	if a.Numeric(w) {
		return true
	}
	if len(w.Parts) == 1 {
		if q, ok := w.Parts[0].(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
			return a.Numeric(&syntax.Word{Parts: q.Parts})
		}
	}
	v := a.Value(w, sc)
	return v.Known && IsNumber(strings.TrimPrefix(v.Text, "-"))
}

// substitution is a command substitution, for what is known of its output.
type substitution struct {
	a *Reader
	p *syntax.CmdSubst
}

// namesOnly reports whether it prints names, hashes or dates: nothing that begins with a dash.
func (s substitution) namesOnly() bool {
	words, ok := s.prints(programs.PrintsName)
	if !ok {
		return false
	}
	text := ""
	for _, w := range words {
		value, known := Unquoted(w)
		if !known {
			value = "-?"
		}
		text += strings.ReplaceAll(value, " ", "-") + " "
	}
	name, rest, _ := strings.Cut(text, " ")
	out, known := outputs[name]
	if !known {
		sub, behind, _ := strings.Cut(rest, " ")
		if out, known = outputs[name+" "+sub]; !known {
			return !programs.Find(name).Has(programs.VersionControl)
		}
		rest = behind
	}
	rest = " " + rest
	return out.words.MatchString(rest) && (out.needs == nil || out.needs.MatchString(rest))
}

// outputs holds the programs that print names alone only with some words: which words these may be, each with a blank
// before and behind it, and which there must be. What a log or a list of containers has besides can begin with a dash.
var outputs = map[string]struct{ words, needs *lazyregexp.Regexp }{
	"docker images": {lazyregexp.New(``), lazyregexp.New(` (?:-[a-z]*q[a-z]*|--quiet) `)},
	"docker ps":     {lazyregexp.New(``), lazyregexp.New(` (?:-[a-z]*q[a-z]*|--quiet) `)},
	"go env":        {lazyregexp.New(`^(?: [A-Z0-9]*(?:PATH|ROOT|BIN|OS|ARCH|CACHE|DIR|MOD|WORK|VERSION))+ $`), nil},
	"go list":       {lazyregexp.New(`^(?: (?:-deps|-m|-e|-test|-find|-mod=[a-z]+|[^- ]\S*))* $`), nil},
	"git branch": {lazyregexp.New(`^(?: (?:--show-current|-[arl]|--list|--(?:no-)?(?:merged|contains)(?:=\S+)?|--sort=\S+|` +
		`--format=%\(refname(?::short)?\)|[^- ]\S*))* $`), lazyregexp.New(` --(?:show-current|format=)`)},
	"git describe": {lazyregexp.New(`^(?: (?:--(?:tags|always|all|long|exact-match|first-parent|contains|dirty)|--(?:abbrev|candidates)=[0-9]+|` +
		`--(?:match|exclude)(?:=\S+)?|[^- ]\S*))* $`), nil},
	"git log":        {commits, lazyregexp.New(` --(?:format|pretty)=`)},
	"git merge-base": {lazyregexp.New(``), nil},
	"git rev-list":   {commits, nil},
	"git rev-parse": {lazyregexp.New(`^(?: (?:-q|--(?:short(?:=[0-9]+)?|verify|quiet|abbrev-ref|show-[a-z-]+|(?:absolute-)?git-[a-z-]+|is-[a-z-]+|` +
		`symbolic-full-name)|[^- ]\S*))* $`), nil},
	"git symbolic-ref": {lazyregexp.New(`^(?: (?:-q|--(?:short|quiet)|[^- ]\S*))* $`), nil},
}

// commits matches words with which git lists hashes alone.
var commits = lazyregexp.New(`^(?: (?:--(?:format|pretty)=(?:t?format:)?(?:%[HhTtPp]|%n|[,:_/])+|-[0-9]+|-n[0-9]*|--(?:max-count|skip|since|until|after|before|author|` +
	`committer|grep|max-parents|min-parents|diff-filter)=\S+|--(?:all|branches|tags|first-parent|no-merges|merges|reverse|no-walk|abbrev-commit|topo-order|date-order|count)|` +
	`-[SG]\S*|-i|--|[^- ]\S*))* $`)

// Names returns the value of a word that is the output of a command which prints no options: $(git merge-base a b). It
// returns the zero Word for other words.
func (a *Reader) Names(w *syntax.Word) Word {
	if w == nil || len(w.Parts) != 1 {
		return Word{}
	}
	switch p := w.Parts[0].(type) {
	case *syntax.DblQuoted:
		return a.Names(&syntax.Word{Parts: p.Parts})
	case *syntax.CmdSubst:
		if s := (substitution{a, p}); s.namesOnly() && !s.printsNumber() {
			return Word{Head: "n", names: true}
		}
	}
	return Word{}
}

// printsNumber reports whether it prints only numbers.
func (s substitution) printsNumber() bool {
	if s.printsLines() || s.countsLines() {
		return true
	}
	words, ok := s.prints(programs.PrintsNumber)
	if !ok {
		return false
	}
	name, _ := Unquoted(words[0])
	counts := !programs.Find(name).Has(programs.VersionControl)
	for i, w := range words[1:] {
		l, _ := Unquoted(w)
		counts = counts || l == "--count"
		if name == "wc" && !strings.HasPrefix(l, "-") {
			return false // it also prints the file's name
		}
		if name == "seq" && (i == 0 || l != "") && !IsNumber(strings.TrimPrefix(l, "-")) && !s.a.Numeric(w) {
			return false // -f and -s print their argument; behind a number nothing is an option
		}
	}
	return counts
}

// printsLines reports whether it prints the numbers of the lines that grep finds in a file, as in
// grep -n x FILE | head -1 | cut -d: -f1.
func (s substitution) printsLines() bool {
	if len(s.p.Stmts) != 1 {
		return false
	}
	cut := false
	for st := s.p.Stmts[0]; ; {
		b, piped := st.Cmd.(*syntax.BinaryCmd)
		if !piped {
			return cut && numbersLines(s.a.Shell.plainWords(st))
		}
		text := strings.Join(s.a.Shell.plainWords(b.Y), " ")
		cuts := text == "cut -d: -f1" || text == "cut -d : -f 1" || text == "cut -f1 -d:"
		if b.Op != syntax.Pipe || len(st.Redirs) > 0 || st.Negated || st.Background || !cuts && !shortens.MatchString(text) {
			return false
		}
		cut = cut || cuts
		st = b.X
	}
}

// countsLines reports whether it prints how many lines grep -c finds in one file or in its input.
func (s substitution) countsLines() bool {
	if len(s.p.Stmts) != 1 {
		return false
	}
	st, files := s.p.Stmts[0], 1
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && len(st.Redirs) == 0 && !st.Negated && !st.Background {
		st, files = b.Y, 0
	}
	words := s.a.Shell.plainWords(st)
	if len(words) == 0 || words[0] != "grep" {
		return false
	}
	counts, operands := false, 0
	for _, w := range words[1:] {
		switch {
		case !strings.HasPrefix(w, "-"):
			operands++
		case strings.Trim(w[1:], "EFGPciowx") != "":
			return false
		default:
			counts = counts || strings.Contains(w, "c")
		}
	}
	return counts && operands > 0 && operands <= 1+files
}

// shortens matches a command that passes on some of the lines that it gets.
var shortens = lazyregexp.New(`^(head|tail)( -(n ?)?[0-9]+)?$`)

// plainWords returns the words of a command, or nil if they are not literal or the command does more than run a program.
func (a *Shell) plainWords(st *syntax.Stmt) (words []string) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || st.Negated || st.Background {
		return nil
	}
	for _, r := range st.Redirs {
		if r.Op != syntax.RdrOut || r.N == nil || r.N.Value != "2" || r.Word.Lit() != "/dev/null" {
			return nil
		}
	}
	for _, w := range call.Args {
		text, known := Unquoted(w)
		if !known || !plainValue(w) {
			return nil
		}
		words = append(words, text)
	}
	if len(words) == 0 || a.Defines(words[0]) {
		return nil
	}
	return words
}

// ordinary matches the name of a file that can stand among numbers: grep names one that is no text.
var ordinary = lazyregexp.New(`^[A-Za-z0-9_./-]+$`)

// numbersLines reports whether the words are a grep that begins each line with its number and a colon: it shows no names of
// files, and no lines but those that match.
func numbersLines(words []string) bool {
	if len(words) == 0 || words[0] != "grep" {
		return false
	}
	numbers, operands := false, 0
	for _, w := range words[1:] {
		switch {
		case !strings.HasPrefix(w, "-"):
			if operands++; operands > 2 || operands == 2 && !ordinary.MatchString(w) {
				return false
			}
		case len(w) > 2 && w[:2] == "-m" && IsNumber(w[2:]):
		case strings.Trim(w[1:], "EFGPinowx") != "":
			return false
		default:
			numbers = numbers || strings.Contains(w, "n")
		}
	}
	return numbers
}

// prints returns the words of the plain command that it ends in; ok is false if there is none, or none with the trait.
func (s substitution) prints(what programs.Trait) (words []*syntax.Word, ok bool) {
	call := s.last()
	if call == nil {
		return nil, false
	}
	name, _ := Unquoted(call.Args[0])
	rest := call.Args[1:]
	sub := ""
	if len(rest) > 0 {
		sub, _ = Unquoted(rest[0])
	}
	if sub != "" && programs.Find(name, sub).Has(what) {
		rest = rest[1:]
	} else if !programs.Find(name).Has(what) {
		return nil, false
	}
	for _, w := range rest {
		// A command that formats or echoes its words could print anything.
		l, _ := Unquoted(w)
		if programs.Find(name).Has(programs.TakesFormats) && l == "" && !quotedPlain(w) && sub != "merge-base" {
			return nil, false
		}
		if l == "--all" || HasPrefix(l, "--format", "--pretty", "+-", "--sq", "--parseopt", "-f") {
			return call.Args, programs.Find(name).Has(programs.VersionControl) && (strings.Contains(l, "%H") || strings.Contains(l, "%h") || strings.Contains(l, "%(refname"))
		}
	}
	return call.Args, true
}

// last returns the call whose output it is: a plain command, perhaps behind a pipe. It returns nil if there is none, or
// if the call may run a function.
func (s substitution) last() *syntax.CallExpr {
	if len(s.p.Stmts) != 1 {
		return nil
	}
	st := s.p.Stmts[0]
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		st = b.Y
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return nil
	}
	if name, _ := Unquoted(call.Args[0]); s.a.Shell.Defines(name) {
		return nil
	}
	return call
}

func quotedPlain(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return !p.Dollar && !strings.HasPrefix(p.Value, "-") && !strings.HasPrefix(p.Value, "+")
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			if _, ok := q.(*syntax.Lit); !ok {
				return false
			}
		}
		return true
	}
	return false
}

// Unquoted returns the value of a word made only of literal text and quotes. known is false for other words.
func Unquoted(w *syntax.Word) (value string, known bool) {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.IndexByte(p.Value, '\\') < 0 {
				value += p.Value
				continue
			}
			for i := 0; i < len(p.Value); i++ {
				if p.Value[i] == '\\' {
					if i++; i == len(p.Value) || p.Value[i] == '\n' {
						continue
					}
				}
				value += p.Value[i : i+1]
			}
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				if text, known = ansiC(text); !known {
					return "", false
				}
			}
			value += text
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok || strings.IndexByte(l.Value, '\\') >= 0 {
					return "", false
				}
				value += l.Value
			}
		default:
			return "", false
		}
	}
	return value, true
}

// plainParts reports whether a word is made only of text and variables.
func plainParts(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ParamExp:
		default:
			return false
		}
	}
	return true
}

// Printed returns the text that a plain echo or printf statement writes. It is unknown for everything else.
func (a *Reader) Printed(st *syntax.Stmt, sc *Scope) Word {
	st = inner(st)
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(st.Redirs) > 0 || len(call.Assigns) > 0 {
		return Word{}
	}
	switch program := call.Args[0].Lit(); program {
	case "", "echo", "printf", "command", "env":
	default:
		if !strings.Contains(program, `\`) && a.Tables.Wrapper(program) == nil {
			return Word{}
		}
	}
	var argv []Word
	for _, w := range call.Args {
		if !plainParts(w) {
			return Word{}
		}
		argv = a.Fields(argv, w, sc)
	}
	if argv = bare(a.Tables, argv); len(argv) == 0 || !argv[0].Known {
		return Word{}
	}
	name := argv[0].Text
	if a.Shell.Defines(name) || name != "echo" && name != "printf" {
		return Word{}
	}
	if name == "printf" && len(argv) > 2 {
		return Word{}
	}
	return echoed(argv[1:])
}

// echoed returns the words as echo writes them. The text is unknown where versions of echo differ.
func echoed(words []Word) Word {
	var b strings.Builder
	for i, w := range words {
		if !w.Known || strings.ContainsAny(w.Text, `\%`) || i == 0 && strings.HasPrefix(w.Text, "-") {
			return Word{}
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return Lit(b.String())
}
