package commands

import (
	"slices"
	"strings"

	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// ReadsRecursively reports whether a command reads folders whole.
func ReadsRecursively(c *shellparse.Command) bool {
	of := Known(c.Argv[0].Value)
	if len(c.Argv) > 1 && of.Recursive == nil {
		of = programs.Find(of.Name, c.Argv[1].Value)
	}
	if slices.Equal(of.Recursive, programs.Any) {
		return true
	}
	return slices.ContainsFunc(c.Argv[1:], func(w shellparse.Word) bool {
		return slices.ContainsFunc(of.Recursive, func(option string) bool { return matchesWord(of, option, w.Value) })
	})
}

// ReadsBelow returns the words among which are the folders that a command reads whole; ok is false if it reads none.
func ReadsBelow(c *shellparse.Command) (words []shellparse.Word, ok bool) {
	if ReadsRecursively(c) {
		return c.Argv[1:], true
	}
	if len(c.Via) == 0 || !strings.HasPrefix(c.Via[len(c.Via)-1], "find ") {
		return nil, false
	}
	if slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.Pattern != "" }) {
		return nil, false // the files that find hands over are judged
	}
	if Known(c.Argv[0].Value).Has(programs.OnlyNames) || !slices.ContainsFunc(c.Argv, func(w shellparse.Word) bool { return !w.Known && strings.Contains(w.Value, "{}") }) {
		return nil, false // it hands over none, or the command opens none
	}
	// find hands over what lies below its own operands
	for w := range strings.FieldsSeq(strings.TrimPrefix(c.Via[len(c.Via)-1], "find ")) {
		words = append(words, shellparse.Word{Value: w, Known: true})
	}
	return words, true
}
