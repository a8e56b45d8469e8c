package searches

import (
	"slices"
	"strings"
	"unicode"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// findValues are tests and options of find that take a value and only narrow what it finds.
var findValues = wording.Set("-type -name -iname -path -ipath -wholename -size -mtime -mmin -ctime -cmin -atime -newer -user -group -perm -maxdepth -mindepth -regextype -regex -iregex")

// FoundBy returns which files find leaves out of those that it hands over to the command at index at. It returns nil if
// find does not run that command, may hand over more than plain files, or has a word that is not understood.
func FoundBy(all []shellparse.Command, at int) *Search {
	c := &all[at]
	if len(c.Via) == 0 || len(c.Argv) == 0 || commands.ReadsRecursively(c) {
		return nil
	}
	words, ok := findWords(all, c.Via[len(c.Via)-1])
	if !ok {
		return nil
	}
	return findLeavesOut(words)
}

// findLeavesOut is FoundBy for the words of a find.
func findLeavesOut(words []string) *Search {
	s := &Search{Cure: "-not -name '%s' leaves it out"}
	plain, not := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-not" || w == "!":
			not = !not
			continue
		case w == "-a" || w == "-and" || w == "-print":
		case w == "-exec" || w == "-execdir":
			if i != len(words)-1 { // an earlier -exec
				return nil
			}
		case !findValues[w] || i+1 == len(words):
			return nil
		default:
			i++
			switch {
			case w == "-type":
				plain = plain || !not && words[i] == "f"
			case w == "-name" && not && !strings.ContainsAny(words[i], `/{\\`):
				s.globs = append(s.globs, Glob{words[i], false})
			}
		}
		not = false
	}
	if !plain {
		return nil
	}
	return s
}

// findWords returns the tests of the find in a text whose line up to -exec is given. ok is false if a word of a find
// could be taken for several.
func findWords(all []shellparse.Command, line string) (words []string, ok bool) {
	for i := range all {
		f := &all[i]
		if len(f.Argv) == 0 || !commands.Known(f.Argv[0].Value).Has(programs.FindExpression) {
			continue
		}
		var before []string
		for _, w := range f.Argv {
			if !w.Known || strings.ContainsFunc(w.Value, unicode.IsSpace) {
				return nil, false
			}
			if before = append(before, w.Value); strings.HasPrefix(w.Value, "-exec") && strings.Join(before, " ") == line {
				words = before[1:]
			}
		}
	}
	tests := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w == "!" })
	return words[max(0, tests):], true
}
