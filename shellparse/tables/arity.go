package tables

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// Arity returns how many leading words of argv name the command. want is the number that the tables ask for. An option
// ends the name, except that python -m MODULE counts three words.
func Arity(argv []script.Word, want int) int {
	if len(argv) == 0 || !argv[0].Known {
		return min(len(argv), 1)
	}
	if len(argv) > 2 && argv[1].Known && argv[1].Value == "-m" && python(argv[0].Value) {
		return 3
	}
	n := 1
	for n < want && n < len(argv) && !strings.HasPrefix(argv[n].Value, "-") {
		n++
	}
	return n
}

// Operation returns how many leading words a rule has to spell out to name what the command does. All words count if an
// option stands before the last of these words, because no table knows what it does.
func Operation(argv []script.Word, want int, own map[string]int) int {
	for n := 1; n <= min(len(argv), 2) && argv[n-1].Known; n++ {
		if less := About(argv[:n]).Operation; less > 0 && (len(own) == 0 || own[joined(argv[:n])] == 0) {
			want = int(less)
		}
	}
	if n := Arity(argv, want); n >= want {
		return n
	}
	return len(argv)
}

// TableName returns the name under which the tables know a program: bin/rails is rails, ./gradlew has its own row.
func TableName(program string) string {
	return programs.Canonical(program[strings.LastIndexByte(program, '/')+1:])
}

// Wanted returns the arity that the tables ask for, even if argv is shorter. A user's row (own) wins over built-in
// ones.
func Wanted(argv []script.Word, own map[string]int) int {
	want := 1
	for n := 1; n <= min(len(argv), 3) && argv[n-1].Known; n++ {
		if len(own) > 0 {
			if mine := own[joined(argv[:n])]; mine > 0 {
				want = mine
				continue
			}
		}
		want = max(want, int(About(argv[:n]).Arity))
	}
	return want
}

// About returns the table's entry for the command that one to three words name.
func About(argv []script.Word) *programs.Command {
	name := TableName(argv[0].Value)
	switch len(argv) {
	case 1:
		return programs.Find(name)
	case 2:
		return programs.Find(name, argv[1].Value)
	}
	return programs.Find(name, argv[1].Value, argv[2].Value)
}

// joined returns the words in the form that names an added row.
func joined(argv []script.Word) string {
	c := script.Command{Argv: slices.Clone(argv)}
	c.Argv[0].Value = TableName(argv[0].Value)
	return c.Text()
}

// python reports whether a name is that of a Python interpreter.
func python(name string) bool {
	l := programs.LanguageOf(name)
	return l != nil && l.Python
}

// SystemTool reports whether a name is that of a known program that is not part of a project.
func (t *Tables) SystemTool(name string) bool {
	name = programs.Canonical(programs.NameOf(name))
	known := programs.Find(name)
	if known.Has(programs.ProjectTool) || programs.LanguageOf(name) != nil {
		return false
	}
	return t.Row(name) != nil || t.Wrapper(name) != nil || known.Handler != "" || known.Inspector != ""
}
