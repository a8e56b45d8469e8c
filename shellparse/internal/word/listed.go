package word

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
)

// findOperands are the tests of find that only narrow what it finds, with how many words they take.
var findOperands = map[string]int{"-type": 1, "-maxdepth": 1, "-mindepth": 1, "-mtime": 1, "-mmin": 1, "-size": 1, "-newer": 1,
	"-path": 1, "-wholename": 1, "-ipath": 1, "-regex": 1, "-iregex": 1, "-regextype": 1, "-perm": 1, "-user": 1, "-empty": 0,
	"-print": 0, "-print0": 0, "-prune": 0, "-a": 0, "-and": 0, "-xdev": 0, "-mount": 0, "-depth": 0, "-readable": 0,
	"-executable": 0, "-writable": 0, "-true": 0}

// Found returns the patterns of the files that find hands to an action behind these words, which are what stands
// before it: what lies below its starting points, narrowed by names. printed says that the action is the output.
// It returns nil when that can be anything.
func Found(words []Word, printed bool) []string {
	var starts []string
	i := 0
	for ; i < len(words); i++ {
		w := words[i]
		if w.Known && (strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" || w.Text == ",") {
			break
		}
		switch {
		case w.Known:
			starts = append(starts, literal(w.Text))
		case len(w.Globs) == 0:
			return nil
		default:
			starts = append(starts, w.Globs...)
		}
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	if len(starts) > maxGlobs {
		return nil
	}
	names, ok := foundNames(words[i:], printed)
	if !ok {
		return nil
	}
	var list []string
	for _, s := range starts {
		if len(names) == 0 {
			list = append(list, s+"/**")
			continue
		}
		list = append(list, s)
		for _, n := range names {
			list = append(list, s+"/**/"+n)
		}
	}
	if len(list) > maxGlobs {
		return nil
	}
	return list
}

// foundNames returns the patterns of the names that an expression of find lets through, none for every name. It
// returns false for an expression that is not known to print the names of files only.
func foundNames(words []Word, printed bool) ([]string, bool) {
	list := []alternative{{}}
	parens, negated := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.Known {
			return nil, false
		}
		last := &list[len(list)-1]
		not := negated
		negated = false
		switch w.Text {
		case "(", ")":
			parens = true
			if not {
				return nil, true
			}
			continue
		case "!", "-not":
			negated = !not
			continue
		case "-o", "-or":
			list = append(list, alternative{})
			continue
		case "-name", "-iname":
			if i++; i >= len(words) || !words[i].Known {
				return nil, false
			}
			if !not {
				last.names, last.named = append(last.names, namePattern(words[i].Text)), true
			}
			continue
		}
		n, ok := findOperands[w.Text]
		if !ok {
			return nil, false
		}
		last.prints = last.prints || w.Text == "-print" || w.Text == "-print0"
		i += n
	}
	names, named := namesOf(list, parens, printed)
	if !named {
		return nil, true
	}
	return names, true
}

// alternative is a part of an expression of find: the patterns of its names, whether it has any, and whether it prints.
type alternative struct {
	names         []string
	named, prints bool
}

// namesOf returns the names that one of the alternatives lets through to the action. named is false when one lets all.
func namesOf(list []alternative, parens, printed bool) (names []string, named bool) {
	explicit := slices.ContainsFunc(list, func(alt alternative) bool { return alt.prints })
	if parens && slices.ContainsFunc(list, func(alt alternative) bool { return !alt.named }) {
		return nil, false
	}
	for i, alt := range list {
		switch {
		case parens:
		case !printed && i < len(list)-1, printed && explicit && !alt.prints:
			continue // what it lets through does not get to the action
		case !alt.named:
			return nil, true
		}
		names = append(names, alt.names...)
	}
	return names, true
}

// namePattern makes a pattern of path.Match of one of find.
func namePattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?':
			b.WriteByte(s[i])
			continue
		case '[':
			if n, pattern := bracket(s[i:]); n > 0 {
				b.WriteString(pattern)
				i += n - 1
				continue
			}
		case '\\':
			if i+1 < len(s) {
				i++
			}
		}
		b.WriteString(literal(s[i : i+1]))
	}
	return b.String()
}

// Listed returns what a statement prints when that is names of files: an unknown word with patterns.
func (a *Reader) Listed(st *syntax.Stmt, sc *Scope) Word {
	for _, r := range st.Redirs {
		if r.N == nil || r.N.Value != "2" {
			return Word{}
		}
	}
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		if argv := a.plainCall(b.Y, sc); len(argv) > 0 && filters(argv) {
			return a.Listed(b.X, sc)
		}
		return Word{}
	}
	argv := a.plainCall(st, sc)
	if len(argv) == 0 {
		return Word{}
	}
	w := Word{Files: true, Many: true, split: true}
	switch about := programs.Find(programs.Canonical(argv[0].Text)); {
	case about.Has(programs.FindExpression):
		w.Globs = Found(argv[1:], true)
		for _, o := range argv[1:] {
			w.split = w.split && !(o.Known && o.Text == "-print0")
		}
	case about.Has(programs.VersionControl):
		w.Globs, w.tracked = gitNames(argv[1:])
	default:
		var zeros bool
		w.Globs, zeros = Searched(argv)
		w.split = !zeros
	}
	if len(w.Globs) == 0 {
		return Word{}
	}
	return w
}

// listedIn returns what a word becomes that is one substitution of a command that prints names of files, and nothing
// else: wc -l $(git ls-files). Names that zero bytes divide run together there, and nothing is known of them.
func (a *Reader) listedIn(w *syntax.Word, sc *Scope) Word {
	if len(w.Parts) != 1 {
		return Word{}
	}
	p, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || p.TempFile || p.ReplyVar || len(p.Stmts) != 1 {
		return Word{}
	}
	divided := true
	syntax.Walk(p.Stmts[0], func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp:
			divided = false
		case *syntax.Lit:
			divided = divided && !byZero(n.Value) && !strings.Contains(n.Value, `\`)
		case *syntax.SglQuoted:
			divided = divided && !byZero(n.Value)
		}
		return divided
	})
	if !divided {
		return Word{}
	}
	return a.Listed(p.Stmts[0], sc)
}

// byZero says that a word may be an option with which a program puts zero bytes between names.
func byZero(text string) bool { return text != "-size" && zeroOption.MatchString(text) }

var zeroOption = lazyregexp.New(`^(?:-[a-zA-Z.]*[0zZ].*|-print0|--print0|--null)$`)

// gitNames returns the patterns of the files whose names a git command prints, and whether it prints those of tracked
// files alone. It returns no patterns for one that may print something else.
func gitNames(words []Word) (globs []string, tracked bool) {
	if len(words) == 0 || !words[0].Known {
		return nil, false
	}
	if words[0].Text == "grep" {
		return gitGrep(words[1:])
	}
	flags, names := trackedFlags[words[0].Text], words[0].Text == "ls-files"
	for _, w := range words[1:] {
		switch {
		case !w.Known:
			return nil, false
		case w.Text == "--":
		case flags[w.Text]:
			names = names || w.Text == "--name-only"
		case !strings.HasPrefix(w.Text, "-") && words[0].Text == "ls-files" && !upward(w.Text): // picks some of them
		case words[0].Text == "diff" && (w.Text == "--cached" || w.Text == "--staged" || !strings.HasPrefix(w.Text, "-")):
			globs = []string{"./**"} // a file of another commit need not be tracked now
		default:
			return nil, false
		}
	}
	if !names {
		return nil, false
	}
	return []string{"./**"}, globs == nil
}

// gitGrepLists are the options of git grep with which it searches tracked files and prints no more than their names.
var gitGrepLists = MustOptions("-l,--files-with-matches,--name-only -i,--ignore-case -w,--word-regexp -v,--invert-match -E -F -G -P -I -a,--text -z,--null -e=")

// gitGrep is gitNames for git grep. A second operand before the dashes can be a commit, which it prints as well.
func gitGrep(words []Word) (globs []string, tracked bool) {
	paths := len(words)
	if i := slices.IndexFunc(words, func(w Word) bool { return w.Known && w.Text == "--" }); i >= 0 {
		paths = i
	}
	if slices.ContainsFunc(words[paths:], func(w Word) bool { return !w.Known || upward(w.Text) }) {
		return nil, false
	}
	s := gitGrepLists.Scan(words[:paths], programs.GNU)
	_, lists := s.Find("-l", "--name-only")
	_, given := s.Find("-e")
	if !lists || given == (len(s.Operands) == 1) || len(s.Operands) > 1 || s.Unknown != "" || s.Vague != "" {
		return nil, false
	}
	return []string{"./**"}, true
}

// upward says that a word may stand for files that are not below the folder in which git runs.
func upward(text string) bool {
	return strings.HasPrefix(text, ":") || strings.HasPrefix(text, "/") || strings.Contains(text, "..")
}

// trackedFlags are options of git commands that print names of tracked files.
var trackedFlags = map[string]map[string]bool{
	"ls-files": Set("-z -c --cached -m --modified --full-name"),
	"diff":     Set("-z --name-only --relative --no-renames --diff-filter=d --diff-filter=M --diff-filter=AM --diff-filter=ACM --diff-filter=ACMR"),
}

// plainCall returns the words of a statement that is a call of a program and no function, nil for others.
func (a *Reader) plainCall(st *syntax.Stmt, sc *Scope) []Word {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || st.Negated || st.Background {
		return nil
	}
	name, known := Unquoted(call.Args[0])
	if _, defined := a.Shell.bodies[name]; defined || !known {
		return nil
	}
	var argv []Word
	for _, w := range call.Args {
		argv = a.Fields(argv, w, sc)
	}
	return argv
}

// filters says that a command prints some of the lines that it reads, and nothing else.
func filters(argv []Word) bool {
	operands := 0
	for _, w := range argv[1:] {
		switch {
		case !w.Known:
			return false
		case !strings.HasPrefix(w.Text, "-"):
			operands++
		case argv[0].Text == "grep" && strings.Trim(w.Text[1:], "vEFiwx") != "",
			argv[0].Text != "grep" && strings.Trim(w.Text[1:], "n0123456789urz") != "":
			return false
		}
	}
	switch argv[0].Text {
	case "grep":
		return operands == 1
	case "head", "tail":
		return operands == 0 || operands == 1 && IsNumber(argv[len(argv)-1].Text) && argv[len(argv)-2].Text == "-n"
	case "sort":
		return operands == 0
	}
	return false
}
