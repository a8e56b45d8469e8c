package shellparse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// findOperands are the tests of find that only narrow what it finds, with how many words they take.
var findOperands = map[string]int{"-type": 1, "-maxdepth": 1, "-mindepth": 1, "-mtime": 1, "-mmin": 1, "-size": 1, "-newer": 1,
	"-path": 1, "-wholename": 1, "-ipath": 1, "-regex": 1, "-iregex": 1, "-regextype": 1, "-perm": 1, "-user": 1, "-empty": 0,
	"-print": 0, "-print0": 0, "-prune": 0, "-a": 0, "-and": 0, "-xdev": 0, "-mount": 0, "-depth": 0, "-readable": 0,
	"-executable": 0, "-writable": 0, "-true": 0}

// found returns the patterns of the files that find hands to an action behind these words, which are what stands
// before it: what lies below its starting points, narrowed by names. printed says that the action is the output.
// It returns nil when that can be anything.
func found(words []word, printed bool) []string {
	var starts []string
	i := 0
	for ; i < len(words); i++ {
		w := words[i]
		if w.known && (strings.HasPrefix(w.text, "-") || w.text == "(" || w.text == "!" || w.text == ",") {
			break
		}
		switch {
		case w.known:
			starts = append(starts, literal(w.text))
		case len(w.globs) == 0:
			return nil
		default:
			starts = append(starts, w.globs...)
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
func foundNames(words []word, printed bool) ([]string, bool) {
	list := []alternative{{}}
	parens, negated := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.known {
			return nil, false
		}
		last := &list[len(list)-1]
		not := negated
		negated = false
		switch w.text {
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
			if i++; i >= len(words) || !words[i].known {
				return nil, false
			}
			if !not {
				last.names, last.named = append(last.names, namePattern(words[i].text)), true
			}
			continue
		}
		n, ok := findOperands[w.text]
		if !ok {
			return nil, false
		}
		last.prints = last.prints || w.text == "-print" || w.text == "-print0"
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

// listed returns what a statement prints when that is names of files: an unknown word with patterns.
func (a *reader) listed(st *syntax.Stmt, sc *scope) word {
	for _, r := range st.Redirs {
		if r.N == nil || r.N.Value != "2" {
			return word{}
		}
	}
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		if argv := a.plainCall(b.Y, sc); len(argv) > 0 && filters(argv) {
			return a.listed(b.X, sc)
		}
		return word{}
	}
	argv := a.plainCall(st, sc)
	if len(argv) == 0 {
		return word{}
	}
	w := word{files: true, many: true, split: true}
	switch argv[0].text {
	case "find", "gfind":
		w.globs = found(argv[1:], true)
		for _, o := range argv[1:] {
			w.split = w.split && !(o.known && o.text == "-print0")
		}
	case "git":
		w.globs, w.tracked = gitNames(argv[1:])
	}
	if len(w.globs) == 0 {
		return word{}
	}
	return w
}

// listedIn returns what a word becomes that is one substitution of a command that prints names of files, and nothing
// else: wc -l $(git ls-files). Names that zero bytes divide run together there, and nothing is known of them.
func (a *reader) listedIn(w *syntax.Word, sc *scope) word {
	if len(w.Parts) != 1 {
		return word{}
	}
	p, ok := w.Parts[0].(*syntax.CmdSubst)
	if !ok || p.TempFile || p.ReplyVar || len(p.Stmts) != 1 {
		return word{}
	}
	divided := true
	syntax.Walk(p.Stmts[0], func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ParamExp:
			divided = false
		case *syntax.Lit:
			divided = divided && n.Value != "-z" && n.Value != "-print0" && !strings.Contains(n.Value, `\`)
		case *syntax.SglQuoted:
			divided = divided && n.Value != "-z" && n.Value != "-print0"
		}
		return divided
	})
	if !divided {
		return word{}
	}
	return a.listed(p.Stmts[0], sc)
}

// gitNames returns the patterns of the files whose names a git command prints, and whether it prints those of tracked
// files alone. It returns no patterns for one that may print something else.
func gitNames(words []word) (globs []string, tracked bool) {
	if len(words) == 0 || !words[0].known {
		return nil, false
	}
	flags, names := trackedFlags[words[0].text], words[0].text == "ls-files"
	for _, w := range words[1:] {
		switch {
		case !w.known:
			return nil, false
		case w.text == "--":
		case flags[w.text]:
			names = names || w.text == "--name-only"
		case !strings.HasPrefix(w.text, "-") && words[0].text == "ls-files": // picks some of them
		case words[0].text == "diff" && (w.text == "--cached" || w.text == "--staged" || !strings.HasPrefix(w.text, "-")):
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

// trackedFlags are options of git commands that print names of tracked files.
var trackedFlags = map[string]map[string]bool{
	"ls-files": set("-z -c --cached -m --modified --full-name"),
	"diff":     set("-z --name-only --relative --no-renames --diff-filter=d --diff-filter=M --diff-filter=AM --diff-filter=ACM --diff-filter=ACMR"),
}

// plainCall returns the words of a statement that is a call of a program and no function, nil for others.
func (a *reader) plainCall(st *syntax.Stmt, sc *scope) []word {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || st.Negated || st.Background {
		return nil
	}
	name, known := unquoted(call.Args[0])
	if _, defined := a.bodies[name]; defined || !known {
		return nil
	}
	var argv []word
	for _, w := range call.Args {
		argv = a.fields(argv, w, sc)
	}
	return argv
}

// filters says that a command prints some of the lines that it reads, and nothing else.
func filters(argv []word) bool {
	operands := 0
	for _, w := range argv[1:] {
		switch {
		case !w.known:
			return false
		case !strings.HasPrefix(w.text, "-"):
			operands++
		case argv[0].text == "grep" && strings.Trim(w.text[1:], "vEFiwx") != "",
			argv[0].text != "grep" && strings.Trim(w.text[1:], "n0123456789urz") != "":
			return false
		}
	}
	switch argv[0].text {
	case "grep":
		return operands == 1
	case "head", "tail":
		return operands == 0 || operands == 1 && isNumber(argv[len(argv)-1].text) && argv[len(argv)-2].text == "-n"
	case "sort":
		return operands == 0
	}
	return false
}
