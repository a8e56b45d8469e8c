package shellparse

import (
	"net/url"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/tables"
)

// Arity returns how many leading words name the command: 1 for cat, 2 for git push, 3 for npm run build. The words are
// those of Command.Argv. An option ends the name.
func Arity(argv []Word) int { return tables.Arity(argv, tables.Wanted(argv, nil)) }

// Pattern is a rule that callgate can offer a person for a command.
type Pattern struct {
	Text    string // a glob in the syntax of permissions.jsonc, with literal characters escaped
	Default bool   // preselect this one if nothing is known of earlier questions
	// Bound reports whether the pattern may be preselected when it would have saved questions: it reaches no host,
	// remote, package or folder beyond the command's own, and no other subcommand of an unknown program.
	Bound bool
}

// Patterns returns the rules that callgate can offer for a command, from narrow to broad: the exact text, the name with
// its first operand, the name. It returns none for a command that no rule should cover: dynamic words, effects that no
// rule names, inline code, a gain of privileges. Callers MUST NOT offer any when the Script has Problems.
func Patterns(c *Command) []Pattern {
	if len(c.Argv) == 0 || !c.Argv[0].Known || c.Escalates || c.DenyOnly || neverOffered(c) {
		return nil
	}
	hidden, fetched, ok := unshown(c)
	if !ok {
		return nil
	}
	want := c.Wants
	if want == 0 {
		want = tables.Wanted(c.Argv, nil)
	}
	n := tables.Arity(c.Argv, want)
	whole, fixed := exact(c)
	named := !slices.ContainsFunc(c.Argv[:n], func(w Word) bool { return !isPlainName(w) })
	var list []Pattern
	if fixed {
		list = append(list, Pattern{whole, true, true})
	}
	if !named || n < min(want, 3) || strings.HasPrefix(c.Argv[0].Value, "/") {
		return list
	}
	if fetched > 0 && !hidden && c.Operation > 0 && len(c.Argv) > max(fetched, c.Operation) {
		// Only the person's yes names the package, so the ceiling is NETWORK or worse.
		return append(list, Pattern{words(c.Argv[:max(fetched, c.Operation)]) + " *", false, false})
	}
	if hidden || onlyExact(c.Argv, n) {
		return list
	}
	if connects(c.Argv, n) {
		return fetchPatterns(c, whole, fixed)
	}
	if p := middle(c, n); p != "" {
		list = append(list, Pattern{p, false, true})
	}
	return append(list, Pattern{words(c.Argv[:n]) + " *", false, opensNothing(c, n)})
}

// connects reports whether a command, named by its first n words, connects to an address among its other words. A rule
// that leaves those open would let it connect anywhere.
func connects(argv []Word, n int) bool {
	is := programs.Find(programs.Canonical(argv[0].Value))
	return n == 1 && is.Is&(programs.Fetches|programs.Connects) != 0 ||
		slices.ContainsFunc(argv[n:], func(w Word) bool {
			return word.HasPrefix(w.Value, "http://", "https://") || unknown(argv) && place.MatchString(w.Value)
		})
}

// unknown reports whether the tables know nothing of a program.
func unknown(argv []Word) bool {
	known := tables.About(argv[:1])
	return known.Arity == 0 && known.Row == nil
}

// place matches an address of any kind, or a host with a port.
var place = lazyregexp.New(`^[a-z]+://|^(?:localhost|[\w-]+(?:\.[\w-]+)+):\d+`)

// unshown reports whether the command does more than its words show, and how many words name the packages that it
// fetches (0 if it fetches none). ok is false if it has an effect that no rule can name.
func unshown(c *Command) (hidden bool, fetched int, ok bool) {
	for _, e := range c.Effects {
		switch {
		case strings.HasPrefix(e.Text, "directory "):
		case e.Named <= 0:
			return false, 0, false
		case strings.HasPrefix(e.Text, "package "):
			fetched = max(fetched, e.Named)
		default:
			hidden = true
		}
	}
	return hidden, fetched, true
}

// isPlainName reports whether a word is a name with a lasting meaning.
func isPlainName(w Word) bool {
	return w.Known && w.Value != "" && !strings.ContainsAny(w.Value, " \t\n") && !Volatile(w.Value)
}

// middle returns the rule between the exact command and its name with any words: the name with the first operand, or
// with the folder of the only operand. It returns "" if there is no such rule.
func middle(c *Command, n int) string {
	if len(c.Argv) > n+1 && isPlainName(c.Argv[n]) && !strings.HasPrefix(c.Argv[n].Value, "-") {
		return words(c.Argv[:n+1]) + " *"
	}
	last := c.Argv[len(c.Argv)-1]
	dir := last.Value[:max(strings.LastIndexByte(last.Value, '/'), 0)]
	if len(c.Argv) != n+1 || !last.Known || strings.Trim(dir, "./") == "" || strings.ContainsAny(last.Value, ": \t\n*") || last.Value[0] == '-' || Volatile(dir) {
		return ""
	}
	return words(append(slices.Clip(c.Argv[:n]), Word{Value: dir, Known: true})) + "/*"
}

// opensNothing reports whether a rule for the command's name, with any arguments, reaches nothing beyond what the
// command itself reaches.
func opensNothing(c *Command, n int) bool {
	return !unknown(c.Argv) && !slices.ContainsFunc(c.Argv[n:], func(w Word) bool {
		return strings.Contains(strings.TrimPrefix(strings.TrimSuffix(w.Value, "/..."), "./"), "/") || strings.Contains(w.Value, "://")
	})
}

// volatile matches names that are used only once: temporary files, hashes, ids.
var volatile = lazyregexp.New(`(?i)^(tmp|temp)[._-]?[a-z0-9_]*[0-9_][a-z0-9_]*$|^tmp\.[a-z0-9]{6,}$|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|^[0-9a-f]{7,64}$|/T/|\bT[A-Z0-9]{10,}\b|[._-][a-zA-Z0-9]*[0-9][a-zA-Z0-9]*[A-Z][a-zA-Z0-9]{3,}$`)

// Volatile reports whether a word holds a temporary name, a hash or an id: a rule for it would never match again.
func Volatile(word string) bool {
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune("/=:@~^,", r) }) {
		if !volatile.MatchString(part) {
			continue
		}
		if strings.IndexFunc(part, func(r rune) bool { return r >= '0' && r <= '9' }) >= 0 {
			return true
		}
	}
	return false
}

// onlyExact reports whether callgate offers only the exact text for a command named by its first n words.
func onlyExact(argv []Word, n int) bool {
	name := tables.TableName(argv[0].Value)
	if programs.Find(name).Is&(programs.Exact|programs.Shell) != 0 {
		return true
	}
	if (programs.LanguageOf(name) != nil || strings.HasPrefix(name, "jupyter-")) && n < 2 {
		return true // the name does not say what runs
	}
	for n := 2; n <= min(len(argv), 3); n++ {
		if tables.About(argv[:n]).Has(programs.Exact) {
			return true
		}
	}
	return slices.ContainsFunc(argv[1:n], func(w Word) bool { return destroys(w.Value) })
}

// destructive lists words in the names of tasks that no rule with wildcards should cover.
var destructive = word.Set("rm remove drop destroy purge delete wipe nuke reset prune truncate rollback uninstall deploy publish release " +
	"erase clobber teardown shell console eval exec tinker seed restore dump secrets secret credentials token")

// destroys reports whether the name of a subcommand or task suggests that it deletes things or sends them out.
func destroys(task string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToLower(task), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if destructive[part] {
			return true
		}
	}
	return false
}

// neverOffered reports whether the command runs code that its words or its input hold: shells, interpreters with code,
// containers, and wrappers of which nothing could be unwrapped.
func neverOffered(c *Command) bool {
	name := c.Argv[0].Value
	about := programs.Find(programs.Canonical(name))
	if about.Has(programs.Unoffered) || len(c.Argv) > 1 && programs.Find(about.Name, c.Argv[1].Value).Has(programs.Unoffered) {
		return true
	}
	if l := programs.LanguageOf(name); l != nil {
		if len(c.Argv) == 1 {
			return true
		}
		in := make([]word.Word, 0, len(c.Argv))
		for _, w := range c.Argv[1:] {
			in = append(in, word.Word{Text: w.Value, Known: w.Known})
		}
		s := (*word.Options)(l.Options).Scan(in, programs.POSIX)
		return len(s.Codes()) > 0
	}
	return programs.Find(name).Has(programs.Shell) && (len(c.Argv) == 1 || strings.HasPrefix(c.Argv[1].Value, "-"))
}

// exact returns the rule that matches only the command's text, and whether there is one. There is none if a word is
// volatile or depends on the run. A glob stands for itself.
func exact(c *Command) (string, bool) {
	if tables.About(c.Argv[:1]).Has(programs.TakesProcess) {
		return "", false
	}
	for _, w := range c.Argv {
		if Volatile(w.Value) || !w.Known && (strings.ContainsAny(w.Value, "$`~{") || !word.IsGlob(w.Value)) {
			return "", false
		}
	}
	return words(c.Argv), true
}

// words joins words into a rule and escapes the characters that a glob would interpret.
func words(argv []Word) string {
	var b strings.Builder
	for i, w := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		for k := 0; k < len(w.Value); k++ {
			if strings.IndexByte(`*?[]{}()|\`, w.Value[k]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(w.Value[k])
		}
	}
	return b.String()
}

// fetchPatterns returns the exact rule of a download and, if its URL allows, a rule that binds it to its host.
func fetchPatterns(c *Command, whole string, fixed bool) []Pattern {
	if !fixed {
		return nil
	}
	list := []Pattern{{whole, true, true}}
	last := len(c.Argv) - 1
	u, err := url.Parse(c.Argv[last].Value)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" ||
		!strings.HasPrefix(c.Argv[last].Value, u.Scheme+"://"+u.Host+"/") {
		return list
	}
	for _, w := range c.Argv[1:last] {
		if strings.Contains(w.Value, "://") || word.HasPrefix(w.Value, "-X", "--req", "-d", "--data", "--json") {
			return list
		}
	}
	return append(list, Pattern{words(append(c.Argv[:last:last], Word{Value: u.Scheme + "://" + u.Host + "/", Known: true})) + "*", false, true})
}
