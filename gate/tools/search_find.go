package tools

import (
	"slices"
	"strings"
	"unicode"

	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// findValues are tests and options of find that take a value and only narrow what it finds.
var findValues = wordSet("-type -name -iname -path -ipath -wholename -size -mtime -mmin -ctime -cmin -atime -newer -user -group -perm -maxdepth -mindepth -regextype -regex -iregex")

// foundBy reads which files find leaves out of those that it hands over to the command. nil when it does not run the
// command, may hand over more than plain files, or has a word that is not understood.
func foundBy(all []shellparse.Command, at int) *search {
	c := &all[at]
	if len(c.Via) == 0 || len(c.Argv) == 0 || readsRecursively(c) {
		return nil
	}
	var words []string
	for i := range all {
		if f := &all[i]; len(f.Argv) > 0 && programs.Canonical(f.Argv[0].Value) == "find" {
			var line []string
			for _, w := range f.Argv {
				if !w.Known || strings.ContainsFunc(w.Value, unicode.IsSpace) { // it could be taken for several words
					return nil
				}
				if line = append(line, w.Value); strings.HasPrefix(w.Value, "-exec") && strings.Join(line, " ") == c.Via[len(c.Via)-1] {
					words = line[1:]
				}
			}
		}
	}
	words = words[min(len(words), max(0, slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w == "!" }))):]
	s := &search{cure: "-not -name '%s' leaves it out"}
	plain, not := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-not" || w == "!":
			not = !not
			continue
		case w == "-a" || w == "-and" || w == "-print":
		case w == "-exec" || w == "-execdir":
			if i != len(words)-1 { // another one before
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
				s.globs = append(s.globs, glob{words[i], false})
			}
		}
		not = false
	}
	if !plain {
		return nil
	}
	return s
}
