package commands

import (
	"path"
	"slices"
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// runsBin are subcommands of package runners before the name of what they run.
var runsBin = wording.Set("run run-script exec dlx x tool")

// Destroys returns what a command does that cannot be undone, as the end of a sentence that begins with "It", or "" if
// nothing of that kind is known.
func Destroys(c *shellparse.Command) string {
	for name, args := range commandNames(c) {
		about := programs.Find(name)
		if about.Has(programs.ReadsCode) && c.Input.Known {
			args = append(slices.Clip(args), c.Input)
		}
		if why := actOf(name, args); why != "" {
			return why
		}
		if why := mutates(name, args); why != "" {
			return why
		}
		if about.Has(programs.TakesSQL) && (c.Input.Known && ClassifySQL(c.Input.Value) == permissions.Destructive || anySQL(args)) {
			return "deletes what the database holds"
		}
		if !about.Has(programs.PackageRunner) {
			continue
		}
		for len(args) > 0 && args[0].Known && (IsOption(args[0].Value) || runsBin[args[0].Value]) {
			args = args[1:]
		}
		if len(args) == 0 || !args[0].Known || isCustom(name, args[0].Value) {
			continue
		}
		name, args = PlainName(args[0].Value), args[1:]
		if why := actOf(name, args); why != "" && !programs.Find(name).Has(programs.PackageRunner) {
			return why
		}
	}
	return ""
}

// isCustom reports whether a package manager is given a script that builds or tests by convention: "npm run format"
// does not format a disk.
func isCustom(manager, script string) bool {
	return scriptNames[script] && programs.Find(manager, "run").Has(programs.RunsScripts)
}

// actOf returns why what a program does with these words cannot be undone, or "" if it can.
func actOf(program string, args []shellparse.Word) string {
	list := programs.Destructions(program)
	of := programs.Find(program)
	for i := range list {
		if actHolds(of, &list[i], args) {
			return list[i].Why
		}
	}
	return ""
}

// maxActWords bounds how many words Act tries.
const maxActWords = 32

// Act returns what a command that one word names destroys, and how many leading words say so: "kind delete". A rule for
// kind alone does not cover that. Act returns "" if the program alone destroys (mkfs), or if several words name it.
func Act(c *shellparse.Command) (why string, words int) {
	if c.DenyOnly || c.Operation > 1 || len(c.Argv) < 2 || !c.Argv[0].Known {
		return "", 0
	}
	name, args := PlainName(c.Argv[0].Value), c.Argv[1:]
	if why = actOf(name, args); why == "" || actOf(name, nil) != "" {
		return "", 0
	}
	for n := 1; n < min(len(args), maxActWords); n++ {
		if actOf(name, args[:n]) != "" {
			return why, n + 1
		}
	}
	return why, len(c.Argv)
}

// anySQL reports whether one of the words is a statement that destroys data.
func anySQL(args []shellparse.Word) bool {
	return slices.ContainsFunc(args, func(w shellparse.Word) bool {
		text := w.Value
		if IsOption(text) {
			_, text, _ = strings.Cut(text, "=")
		}
		return w.Known && strings.ContainsAny(text, " \t\n") && ClassifySQL(text) == permissions.Destructive
	})
}

// commandNames yields the program of a command by its plain name, with the words behind it. For an interpreter it also
// yields the script or module that it is given.
func commandNames(c *shellparse.Command) func(yield func(string, []shellparse.Word) bool) {
	return func(yield func(string, []shellparse.Word) bool) {
		if len(c.Argv) == 0 || !c.Argv[0].Known {
			return
		}
		name, args := PlainName(c.Argv[0].Value), c.Argv[1:]
		if !yield(name, args) || !programs.Find(name).Has(programs.Interpreter) && !programs.Find(programs.Find(name).Like).Has(programs.Interpreter) {
			return
		}
		for i, w := range args {
			if !w.Known || IsOption(w.Value) && w.Value != "-m" {
				continue
			}
			if w.Value == "-m" {
				continue
			}
			if yield(PlainName(w.Value), args[i+1:]) {
				if pkg := packageOf(w.Value); pkg != "" {
					yield(pkg, args[i+1:])
				}
			}
			return
		}
	}
}

// packageOf returns the package that a file below node_modules belongs to, or "" for other files.
func packageOf(file string) string {
	i := strings.LastIndex(file, "node_modules/")
	if i < 0 {
		return ""
	}
	parts := strings.SplitN(file[i+len("node_modules/"):], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// PlainName returns the name that a program is known by: without folders, the version of a package, and .exe.
func PlainName(program string) string {
	if i := strings.LastIndexByte(program, '@'); i > 0 && program[i-1] != '/' {
		program = program[:i]
	}
	return programs.Canonical(strings.TrimSuffix(path.Base(program), ".exe"))
}

func actHolds(of *programs.Command, a *programs.Act, args []shellparse.Word) bool {
	for _, w := range a.Without {
		for i := range args {
			if args[i].Known && matchesTerm(of, w, args, i) {
				return false
			}
		}
	}
	for _, alternatives := range a.Options {
		if !anyOption(of, alternatives, args) {
			return false
		}
	}
	next := 0
	for i := range args {
		if next == len(a.Operands) {
			break
		}
		if args[i].Known && !IsOption(args[i].Value) && anyAlternative(a.Operands[next], strings.ToLower(args[i].Value)) {
			next++
		}
	}
	return next == len(a.Operands)
}

func anyOption(of *programs.Command, alternatives string, args []shellparse.Word) bool {
	for want := range strings.SplitSeq(alternatives, "|") {
		for i := range args {
			if args[i].Known && matchesTerm(of, want, args, i) {
				return true
			}
		}
	}
	return false
}

func anyAlternative(alternatives, word string) bool {
	for want := range strings.SplitSeq(alternatives, "|") {
		if want == word || strings.Contains(want, "*") && Wildcard(want, word) {
			return true
		}
	}
	return false
}

// matchesTerm reports whether the word at i is the term: an option, one with a value, or a plain word.
func matchesTerm(of *programs.Command, want string, args []shellparse.Word, i int) bool {
	word := args[i].Value
	name, value, valued := strings.Cut(want, "=")
	if !IsOption(want) || !valued {
		switch {
		case strings.HasSuffix(want, "*"):
			return strings.HasPrefix(word, strings.TrimSuffix(want, "*"))
		case len(want) > 2 && want[1] != '-':
			return word == want || strings.HasPrefix(word, want+"=") || word == "-"+want
		}
		return matchesWord(of, want, word)
	}
	got, attached, has := strings.Cut(word, "=")
	switch {
	case has && got == name:
	case word == name && i+1 < len(args):
		attached = args[i+1].Value
	case len(name) == 2 && strings.HasPrefix(word, name):
		attached = word[2:]
	default:
		return false
	}
	return Wildcard(strings.ToLower(value), strings.ToLower(strings.TrimSpace(attached)))
}

// removals are words in the names of mutations that delete.
var removals = []string{"delete", "destroy", "drop", "remove", "purge", "wipe", "truncate", "terminate", "erase", "revoke", "archive", "transfer", "uninstall", "disable", "reset"}

// mutates returns what a GraphQL mutation among the words of a sending program does, if it deletes something, else "".
func mutates(program string, args []shellparse.Word) string {
	if !programs.Find(program).Has(programs.SendsQueries) {
		return ""
	}
	for _, w := range args {
		if len(w.Value) < len("mutation") {
			continue
		}
		text := strings.ToLower(w.Value)
		if !strings.Contains(text, "mutation") {
			continue
		}
		for _, r := range removals {
			if strings.Contains(text, r) {
				return "sends a mutation that deletes something"
			}
		}
	}
	return ""
}
