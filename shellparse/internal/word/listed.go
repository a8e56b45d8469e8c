package word

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
	"callgate/shellparse/tables"
)

// findOperands maps the tests of find that only narrow the result, and harmless actions, to the number of words they
// take.
var findOperands = map[string]int{"-type": 1, "-maxdepth": 1, "-mindepth": 1, "-mtime": 1, "-mmin": 1, "-size": 1, "-newer": 1,
	"-path": 1, "-wholename": 1, "-ipath": 1, "-regex": 1, "-iregex": 1, "-regextype": 1, "-perm": 1, "-user": 1, "-empty": 0,
	"-print": 0, "-print0": 0, "-prune": 0, "-a": 0, "-and": 0, "-xdev": 0, "-mount": 0, "-depth": 0, "-readable": 0,
	"-executable": 0, "-writable": 0, "-true": 0}

// Found returns the patterns of the files that find passes to an action: everything below its starting points, narrowed
// by names; nil if they can be any. words stand before the action. printed means that the action is the output.
func Found(words []Word, printed bool) []string {
	starts, tests := startsOf(words)
	names, ok := foundNames(tests, printed)
	if !ok {
		return nil
	}
	var list []string
	for _, s := range starts {
		if len(names) == 0 {
			list = append(list, s+"/**")
			continue
		}
		if slices.ContainsFunc(names, func(n string) bool { return mayBeNamed(s, n) }) {
			list = append(list, s)
		}
		for _, n := range names {
			list = append(list, s+"/**/"+n)
		}
	}
	if len(list) > maxGlobs {
		return nil
	}
	return list
}

// mayBeNamed reports whether find may see a name that matches the pattern in the starting point itself.
func mayBeNamed(start, pattern string) bool {
	if IsGlob(start) {
		return true
	}
	matched, err := path.Match(strings.ToLower(pattern), strings.ToLower(path.Base(start)))
	return matched || err != nil
}

// startsOf returns the patterns of find's starting points, or nil if it can start anywhere, and its expression.
func startsOf(words []Word) (starts []string, tests []Word) {
	i := 0
options: // options stand before the starting points
	for i < len(words) && words[i].Known {
		switch option := words[i].Text; {
		case option == "-P", strings.HasPrefix(option, "-O"):
			i++
		case option == "-D":
			i = min(i+2, len(words))
		case len(option) > 1 && strings.Trim(option, "-HLPEXdsxf") == "":
			return nil, words[i:] // it follows links, or is a BSD option
		default:
			break options
		}
	}
	for ; i < len(words); i++ {
		w := words[i]
		if w.Known && (strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" || w.Text == ",") {
			break
		}
		switch {
		case w.Known:
			starts = append(starts, literal(w.Text))
		case len(w.Globs) == 0:
			return nil, words[i:]
		default:
			starts = append(starts, w.Globs...)
		}
	}
	if len(starts) == 0 {
		starts = []string{"."}
	}
	if len(starts) > maxGlobs {
		return nil, words[i:]
	}
	return starts, words[i:]
}

// Folders returns the patterns of the folders in which find runs -execdir after these words, or nil if they can be any.
func Folders(words []Word) (list []string) {
	starts, tests := startsOf(words)
	if slices.ContainsFunc(tests, func(w Word) bool { return w.Text == "-follow" }) {
		return nil
	}
	for _, s := range starts {
		list = append(list, path.Dir(s), s+"/**")
	}
	return list
}

// FoundNames returns the patterns of the names that find passes to -execdir, or nil if they can be anything.
func FoundNames(words []Word) (list []string) {
	_, tests := startsOf(words)
	names, ok := foundNames(tests, false)
	switch {
	case !ok:
		return nil
	case len(names) == 0:
		return []string{"./*"}
	}
	for _, n := range names {
		list = append(list, "./"+n)
	}
	return list
}

// foundNames returns the patterns of the names that a find expression selects, or nil for every name. It returns false
// if the expression may print something other than file names.
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

// alternative is one operand of -o in a find expression: its name patterns, whether it has any, and whether it prints.
type alternative struct {
	names         []string
	named, prints bool
}

// namesOf returns the names that the alternatives pass to the action. named is false if one of them passes every name.
func namesOf(list []alternative, parens, printed bool) (names []string, named bool) {
	explicit := slices.ContainsFunc(list, func(alt alternative) bool { return alt.prints })
	if parens && slices.ContainsFunc(list, func(alt alternative) bool { return !alt.named }) {
		return nil, false
	}
	for i, alt := range list {
		switch {
		case parens:
		case !printed && i < len(list)-1, printed && explicit && !alt.prints:
			continue // its files do not reach the action
		case !alt.named:
			return nil, true
		}
		names = append(names, alt.names...)
	}
	return names, true
}

// namePattern translates a find pattern into a path.Match pattern.
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

// Listed returns the output of a statement that prints file names, as an unknown word with patterns. It returns the
// zero Word for other statements.
func (a *Reader) Listed(st *syntax.Stmt, sc *Scope) Word {
	st = inner(st)
	for _, r := range st.Redirs {
		if r.N == nil || r.N.Value != "2" {
			return Word{}
		}
	}
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		if argv := a.plainCall(b.Y, sc); len(argv) > 0 && filters(argv) {
			w := a.Listed(b.X, sc)
			w.Globs = ending(w, argv)
			return w
		}
		return Word{}
	}
	argv := a.plainCall(st, sc)
	if len(argv) == 0 {
		return Word{}
	}
	w := Word{Files: true, Many: true, split: true, exists: true}
	switch about := programs.Find(programs.Canonical(argv[0].Text)); {
	case about.Has(programs.FindExpression):
		w.Globs = Found(argv[1:], true)
		for _, o := range argv[1:] {
			w.split = w.split && !(o.Known && o.Text == "-print0")
		}
	case about.Has(programs.VersionControl):
		w.Globs, w.tracked = gitNames(argv[1:])
		w.exists = w.tracked // the index also has removed files
		for _, o := range argv[min(2, len(argv)):] {
			w.split = w.split && !(o.Text == "-z" && argv[1].Text != "grep")
		}
	case about.Has(programs.Folders):
		w.Globs = entries(argv[1:])
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

// ending returns the patterns of a list after grep has filtered it by how names end: grep -E '\.(c|h)$'.
func ending(list Word, argv []Word) []string {
	if argv[0].Text != "grep" || !list.split {
		return list.Globs
	}
	extended := len(argv) == 3 && argv[1].Text == "-E"
	m := suffixes.FindStringSubmatch(argv[len(argv)-1].Text)
	if m == nil || len(argv) != 2 && !extended || !extended && m[2]+m[3] != "" {
		return list.Globs
	}
	endings := strings.Split(m[1]+m[3], "|")
	if m[2] != "" { // the last character is optional
		endings = append(endings, m[1][:len(m[1])-1])
	}
	var globs []string
	for _, g := range list.Globs {
		if !strings.HasSuffix(g, "**") {
			globs = append(globs, g)
			continue
		}
		for _, e := range endings {
			globs = append(globs, g+"/*."+e)
		}
	}
	return globs
}

// suffixes matches a regular expression for the end of names: one suffix, one with an optional last letter, or several.
var suffixes = lazyregexp.New(`^\\\.(?:(\w+)(\??)|\((\w+(?:\|\w+)*)\))\$$`)

// ListedIn returns the file names in a word that is a command's input: <(git ls-files), or "$(git ls-files)" as text.
func (a *Reader) ListedIn(w *syntax.Word, sc *Scope) Word {
	if len(w.Parts) != 1 {
		return Word{}
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ProcSubst:
		if p.Op == syntax.CmdIn && len(p.Stmts) == 1 {
			return a.Listed(p.Stmts[0], sc)
		}
	case *syntax.DblQuoted:
		return a.listedIn(&syntax.Word{Parts: p.Parts}, sc)
	}
	return a.listedIn(w, sc)
}

// Line returns the variable into which a loop reads the lines of a list of files (while read -r f), and its value. The
// name is "" for other loops.
func (a *Reader) Line(cmd *syntax.WhileClause, sc *Scope) (name string, item Word) {
	item = sc.Input.List
	if cmd.Until || len(cmd.Cond) != 1 || len(item.Globs) == 0 {
		return "", Word{}
	}
	call := a.reads(cmd.Cond[0])
	if call == nil {
		return "", Word{}
	}
	var argv []Word
	for _, w := range call.Args[1:] {
		argv = append(argv, a.Value(w, sc))
	}
	s := readOptions.Scan(argv, programs.POSIX)
	if !AllKnown(argv) || s.Unknown != "" || len(s.Operands) != 1 || !a.hasPlainIFS(call.Assigns) {
		return "", Word{}
	}
	end, zeros := s.Find("-d")
	if name = s.Operands[0].Text; !syntax.ValidName(name) || special[name] || a.Shell.Once[name] != 2 || a.Shell.Once[Anything] > 0 ||
		zeros == item.split || zeros && end.Text != "" {
		return "", Word{}
	}
	item.Many = false
	return name, item
}

// reads returns the call of a statement that plainly calls read, or nil.
func (a *Reader) reads(st *syntax.Stmt) *syntax.CallExpr {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || len(st.Redirs) > 0 || len(call.Args) == 0 {
		return nil
	}
	if program, _ := Unquoted(call.Args[0]); program != "read" || a.Shell.Defines(program) {
		return nil
	}
	return call
}

// readOptions lists the options with which read takes a whole line, or a name ended by a zero byte.
var readOptions = MustOptions("-r -d=")

// hasPlainIFS reports whether IFS is the default for a read with these assignments, or set to empty by them.
func (a *Reader) hasPlainIFS(assigns []*syntax.Assign) bool {
	if len(assigns) == 0 {
		return !a.Shell.Assigned["IFS"]
	}
	as := assigns[0]
	empty := as.Value == nil
	if !empty {
		text, known := Unquoted(as.Value)
		empty = known && text == ""
	}
	return len(assigns) == 1 && as.Name != nil && as.Name.Value == "IFS" && !as.Append && as.Array == nil && as.Index == nil && empty && a.Shell.Once["IFS"] == 2
}

// listedIn returns the file names in a word that is one command substitution and nothing else: wc -l $(git ls-files).
// Nothing is known of names separated by zero bytes, because they run together there.
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

// byZero reports whether a word may be an option that separates names by zero bytes.
func byZero(text string) bool { return text != "-size" && zeroOption.MatchString(text) }

var zeroOption = lazyregexp.New(`^(?:-[a-zA-Z.]*[0zZ].*|-print0|--print0|--null)$`)

// folderLists lists the options with which ls prints only file names, without those that begin with a dot.
var folderLists = MustOptions("-1 -r,--reverse -t -S -U -v -X -c -u -q,--hide-control-chars --sort= --group-directories-first")

// entries returns the patterns of what ls prints for one folder: names in it, or the operand if that is a file.
func entries(words []Word) []string {
	s := folderLists.Scan(words, programs.GNU)
	if s.Unknown != "" || s.Vague != "" || len(s.Operands) > 1 || !AllKnown(words) {
		return nil
	}
	globs := []string{"*"}
	for _, w := range s.Operands {
		globs = append(globs, literal(w.Text))
	}
	return globs
}

// gitNames returns the patterns of the files whose names a git command prints, and whether all of them are tracked. It
// returns no patterns if the command may print something else.
func gitNames(words []Word) (globs []string, tracked bool) {
	if len(words) == 0 || !words[0].Known {
		return nil, false
	}
	if words[0].Text == "grep" {
		return gitGrep(words[1:])
	}
	flags, names := trackedFlags[words[0].Text], words[0].Text == "ls-files"
	paths := names // operands are paths
	var picked []string
	for _, w := range words[1:] {
		switch {
		case !w.Known:
			return nil, false
		case w.Text == "--":
			paths = true
		case flags[w.Text]:
			names = names || w.Text == "--name-only"
		case paths && !strings.HasPrefix(w.Text, "-") && !upward(w.Text): // selects some of the files
			picked = append(picked, picks(w.Text))
		case words[0].Text == "diff" && (w.Text == "--cached" || w.Text == "--staged" || !strings.HasPrefix(w.Text, "-")):
			globs = []string{"**"} // a file of another commit need not be tracked now
		default:
			return nil, false
		}
	}
	if !names {
		return nil, false
	}
	if tracked = globs == nil; len(picked) == 0 || slices.Contains(picked, "") {
		return []string{"**"}, tracked
	}
	return picked, tracked
}

// picks returns the pattern of the files that a git path selects by the end of their names (*.go, src/**/*.go), or ""
// if it may select others.
func picks(path string) string {
	end := strings.LastIndexByte(path, '*') + 1
	if name := path[strings.LastIndexByte(path, '/')+1:]; end > 0 && end < len(path) && !strings.ContainsAny(path, `?[\`) {
		return "**/*" + name[strings.LastIndexByte(name, '*')+1:]
	}
	return ""
}

// gitGrepLists lists the options with which git grep searches tracked files and prints only their names.
var gitGrepLists = MustOptions("-l,--files-with-matches,--name-only -i,--ignore-case -w,--word-regexp -v,--invert-match -E -F -G -P -I -a,--text -z,--null -e=")

// gitGrep is gitNames for git grep. A second operand before -- can be a commit, which git grep also prints.
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
	for _, w := range words[min(paths+1, len(words)):] {
		globs = append(globs, picks(w.Text))
	}
	if len(globs) == 0 || slices.Contains(globs, "") {
		globs = []string{"**"}
	}
	return globs, true
}

// upward reports whether a word may stand for files outside the folder in which git runs.
func upward(text string) bool {
	return strings.HasPrefix(text, ":") || strings.HasPrefix(text, "/") || strings.Contains(text, "..")
}

// trackedFlags lists, by git command, the options with which it prints names of tracked files.
var trackedFlags = map[string]map[string]bool{
	"ls-files": Set("-z -c --cached -m --modified --full-name"),
	"diff":     Set("-z --name-only --relative --no-renames --diff-filter=d --diff-filter=M --diff-filter=AM --diff-filter=ACM --diff-filter=ACMR"),
}

// inner returns the only statement of a subshell or a block. It returns other statements unchanged.
func inner(st *syntax.Stmt) *syntax.Stmt {
	for len(st.Redirs) == 0 && !st.Negated && !st.Background {
		var held []*syntax.Stmt
		switch cmd := st.Cmd.(type) {
		case *syntax.Subshell:
			held = cmd.Stmts
		case *syntax.Block:
			held = cmd.Stmts
		}
		if len(held) != 1 {
			break
		}
		st = held[0]
	}
	return st
}

// bare returns the words of a command without the programs in front that only run the rest: command nice -n 5 find.
func bare(t *tables.Tables, argv []Word) []Word {
	for len(argv) > 1 && argv[0].Known {
		rest := behindWrapper(t, programs.Canonical(argv[0].Text), argv[1:])
		if len(rest) == 0 || !rest[0].Known || strings.HasPrefix(rest[0].Text, "-") || strings.Contains(rest[0].Text, "=") {
			return argv
		}
		argv = rest
	}
	return argv
}

// behindWrapper returns the words that the named program runs as they are, or nil if it may do more.
func behindWrapper(t *tables.Tables, name string, rest []Word) []Word {
	w := t.Wrapper(name)
	switch {
	case name == "env":
		for len(rest) > 1 && rest[0].Known && locale.MatchString(rest[0].Text) {
			rest = rest[1:]
		}
		return rest
	case name == "command" || name == "exec":
		return rest
	case w == nil || w.Role != "" || w.Script || w.Assigns || w.Effect != "":
		return nil
	}
	s := (*Options)(w.Options).Scan(rest, w.Style)
	harms := func(h Hit) bool { return h.Opt.Does != 0 }
	if s.Unknown != "" || s.Vague != "" || slices.ContainsFunc(s.Hits, harms) || s.Rest+w.Skip >= len(rest) {
		return nil
	}
	return rest[s.Rest+w.Skip:]
}

// locale matches an assignment that changes how names are sorted and shown, but not which names.
var locale = lazyregexp.New(`^(?:LC_[A-Z]+|LANG)=`)

// plainCall returns the words of a statement that calls a program and not a function, or nil. It leaves out programs
// that only run another one.
func (a *Reader) plainCall(st *syntax.Stmt, sc *Scope) []Word {
	st = inner(st)
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || st.Negated || st.Background {
		return nil
	}
	for _, as := range call.Assigns {
		if as.Name == nil || as.Append || !locale.MatchString(as.Name.Value+"=") {
			return nil
		}
	}
	name, known := Unquoted(call.Args[0])
	if !known || a.Shell.Defines(name) {
		return nil
	}
	var argv []Word
	for _, w := range call.Args {
		argv = a.Fields(argv, w, sc)
	}
	if slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.DplOut }) {
		return argv // strace ls 2>&1 prints more than ls
	}
	if argv = bare(a.Tables, argv); len(argv) > 0 && a.Shell.Defines(argv[0].Text) {
		return nil // zsh calls functions behind noglob
	}
	return argv
}

// filters reports whether a command prints some of the lines that it reads, and nothing else.
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
