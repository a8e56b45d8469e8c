package commands

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// ShellQuote returns the shell text that means exactly this word.
func ShellQuote(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:,+@%", r))
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Operation returns how many bytes of a command's text name what it does: all of them if the parser does not tell.
func Operation(c *shellparse.Command) int {
	if c.Operation == 0 {
		return SpanOf(c, len(c.Argv))
	}
	return SpanOf(c, c.Operation)
}

// SpanOf returns how long the text of the first n words of a command is.
func SpanOf(c *shellparse.Command, n int) int {
	length := -1
	for _, w := range c.Argv[:min(n, len(c.Argv))] {
		length += 1 + len(w.Value)
	}
	return max(length, 0)
}

// MountsHost reports whether a container gets the root of the file system, so that nothing it does stays inside.
func MountsHost(c *shellparse.Command) bool {
	if len(c.Argv) == 0 || !Known(c.Argv[0].Value).Has(programs.RunsContainers) {
		return false
	}
	return slices.ContainsFunc(c.Argv, func(w shellparse.Word) bool {
		return strings.HasPrefix(w.Value, "/:") || strings.HasPrefix(w.Value, "-v/:") || strings.Contains(w.Value, "=/:") || strings.Contains(w.Value, "source=/,")
	})
}

// OtherForms returns the texts of a command, besides its own, on which a deny holds. roots are the workspace folders.
func OtherForms(c, plain *shellparse.Command, roots []string) (forms []permissions.Form) {
	texts := c.Forms()
	if plain == c {
		texts = texts[1:]
	}
	texts = append(texts, byProgram(c, roots)...)
	if len(texts) == 0 {
		return nil
	}
	forms = make([]permissions.Form, len(texts))
	for i := range texts {
		forms[i] = texts[i : i+1 : i+1]
	}
	return forms
}

// byProgram returns the texts of a command that names its program by a path, with the program's other paths: the
// absolute one, and those from the workspace folders.
func byProgram(c *shellparse.Command, roots []string) (texts []string) {
	if len(c.Argv) == 0 || !c.Argv[0].Known || c.Remote || !strings.Contains(c.Argv[0].Value, "/") {
		return nil
	}
	name := c.Argv[0].Value
	program := path.Clean(name)
	if !path.IsAbs(program) {
		if program = path.Join(c.Dir, name); !path.IsAbs(program) {
			return nil
		}
	}
	rest := c.Text()[len(name):]
	texts = append(texts, program+rest)
	for _, root := range roots {
		if below, ok := strings.CutPrefix(program, strings.TrimSuffix(root, "/")+"/"); ok {
			texts = append(texts, "./"+below+rest, below+rest)
		}
	}
	return texts
}

// WidensGlobs reports whether a shell text may make its globs match more than they do by default.
func WidensGlobs(text string) bool {
	for _, word := range []string{"shopt", "setopt", "GLOBIGNORE", "BASHOPTS", "dotglob", "nocaseglob", "globdots", "dot_glob"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// WordParts yields a word and everything in it that could be a file name: behind the letters of an option, and between
// the signs that separate names in addresses, lists and code.
func WordParts(word string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		spellings := func(part string) bool {
			if !yield(part) {
				return false
			}
			if len(part) > 2 && part[0] == '-' && part[1] != '-' {
				for i := 2; i < len(part) && i < 6; i++ {
					if !yield(part[i:]) {
						return false
					}
				}
			}
			if trimmed := strings.TrimLeft(part, "/"); trimmed != part && !yield(trimmed) {
				return false
			}
			if strings.IndexByte(part, '%') < 0 {
				return true
			}
			plain, err := url.PathUnescape(part)
			return err != nil || yield(plain) && yield(strings.TrimLeft(plain, "/"))
		}
		if !spellings(word) {
			return
		}
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`()[]{}<>,;:=@|&!?*$#", r) }) {
			if part != word && !spellings(part) {
				return
			}
		}
	}
}

// Recursive reports whether a program that removes also removes folders.
func Recursive(c *shellparse.Command) bool {
	switch Known(path.Base(c.Argv[0].Value)).Wipes {
	case "asked":
		return slices.ContainsFunc(c.Argv[1:], func(w shellparse.Word) bool {
			return IsBundle(w.Value) && strings.ContainsAny(w.Value, "rR") || strings.HasPrefix(w.Value, "--r")
		})
	case "files":
		return false
	}
	return true
}

// IsBundle reports whether a word is one or more options of one letter each.
func IsBundle(word string) bool { return len(word) > 1 && word[0] == '-' && word[1] != '-' }

// Cleans returns what the words of git clean say: the folders to clean, and whether it removes anything.
func Cleans(words []shellparse.Word) (named []shellparse.Word, force bool) {
	value := false
	for _, w := range words {
		switch {
		case value:
			value = false
		case w.Value == "-e" || w.Value == "--exclude":
			value = true
		case IsBundle(w.Value) && strings.Contains(w.Value, "n"), strings.HasPrefix(w.Value, "--dry"):
			return nil, false
		case IsBundle(w.Value):
			force = force || strings.Contains(w.Value, "f")
		case strings.HasPrefix(w.Value, "--f"):
			force = true
		case !strings.HasPrefix(w.Value, "-"):
			named = append(named, w)
		}
	}
	return named, force
}

// PicksAll reports whether the pattern after a test of find matches every name.
func PicksAll(words []shellparse.Word) bool {
	return len(words) > 0 && strings.Trim(words[0].Value, "*.?") == ""
}

// FindRoots splits the words of find into the places where it begins and its expression.
func FindRoots(words []shellparse.Word) (roots, expression []shellparse.Word) {
	for i, w := range words {
		if strings.HasPrefix(w.Value, "-") && !isBundleOf(w.Value, "HLP") || w.Value == "(" || w.Value == "!" {
			return roots, words[i:]
		}
		if !strings.HasPrefix(w.Value, "-") {
			roots = append(roots, w)
		}
	}
	return roots, nil
}

func isBundleOf(word, letters string) bool {
	return IsBundle(word) && strings.Trim(word[1:], letters) == ""
}

// Operands returns the words of a command that are not options.
func Operands(c *shellparse.Command) (words []shellparse.Word) {
	for _, w := range c.Argv[1:] {
		if !strings.HasPrefix(w.Value, "-") {
			words = append(words, w)
		}
	}
	return words
}

// WholeOf returns the folder whose whole content a pattern names, "/srv" for "/srv/*", and other patterns as they are.
func WholeOf(pattern string) string {
	for {
		last := path.Base(pattern)
		if pattern == last && strings.Trim(last, "*") == "" && last != "" {
			return "."
		}
		if strings.Trim(last, "*") != "" && !wholeName.MatchString(last) {
			return pattern
		}
		pattern = path.Dir(pattern)
		if pattern == "/" || pattern == "." {
			return pattern
		}
	}
}

// wholeName matches a segment of a pattern that matches every name, or every hidden one.
var wholeName = lazyregexp.New(`^\.?[*?]*\*[*?]*$|^\.\[[!^].*\]\*$|^\.\?\?\*$|^\{\*,\.\*\}$`)

// SpelledPlainly returns a word with its path spelled plainly: without "//", "/./" and "x/..". An option or an address
// before the path stays.
func SpelledPlainly(word string) string {
	if !strings.Contains(word, "//") && !strings.Contains(word, "/.") {
		return word
	}
	segments := strings.Split(word, "/")
	fixed := fixedSegments(segments)
	rooted := fixed > 0 && segments[0] != "." && segments[0] != "~"
	out := slices.Clone(segments[:fixed])
	head := "" // what stood before a first segment that ".." took away
	for i, s := range segments[fixed:] {
		last := fixed+i == len(segments)-1
		switch {
		case s == "" && last && len(out) > 0:
			out = append(out, "")
		case s == "" && len(out) > 0 || s == "." && fixed+i > 0:
		case s == ".." && rooted && len(out) == fixed: // nothing is above the root
		case s == ".." && len(out) > fixed && out[len(out)-1] != "..":
			head += prefixOf(out)
			out = out[:len(out)-1]
		default:
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = append(out, ".")
	}
	return head + strings.Join(out, "/")
}

// fixedSegments returns how many leading segments of a word no ".." can take away.
func fixedSegments(segments []string) int {
	first := segments[0]
	switch {
	case len(segments) > 2 && strings.HasSuffix(first, ":") && segments[1] == "":
		return 3 // scheme://host
	case first == "" || first == "." || first == "~" || strings.HasPrefix(first, "$"):
		return 1
	}
	return 0
}

// prefixOf returns what stands before the path in the last segment: "--file=" of "--file=a".
func prefixOf(segments []string) string {
	s := segments[len(segments)-1]
	if k := strings.LastIndexAny(s, "=:@"); k >= 0 {
		return s[:k+1]
	}
	if len(segments) == 1 && strings.HasPrefix(s, "-") && len(s) > 2 {
		return s[:2]
	}
	return ""
}
