package source

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"callgate/shellparse/programs"
)

// TestTableIsCurrent checks that the compiled table matches the files.
func TestTableIsCurrent(t *testing.T) {
	table, err := Load(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	want, err := table.Write()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../table_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("table_gen.go is not what the YAML files say: run go generate ./shellparse/programs")
	}
	for i := range table.Commands {
		c := &table.Commands[i]
		if got := programs.Find(strings.Split(c.Name, " ")...); got.Name != c.Name {
			t.Errorf("%q is found as %q", c.Name, got.Name)
		}
	}
	for name, of := range table.Aliases {
		if programs.Canonical(name) != of || programs.Find(name).Name != "" {
			t.Errorf("%q is %q, want %q", name, programs.Canonical(name), of)
		}
	}
	for _, words := range [][]string{{"no-such-program"}, {"git", "no-such"}, {"gi", "t"}, {"git l", "og"}, {"git log"}, {"docker", "compose ps"}, {""}} {
		if c := programs.Find(words...); c.Name != "" {
			t.Errorf("%q is found as %q", words, c.Name)
		}
	}
}

// TestMistakes checks that the loader refuses mistakes and says where they are.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"- names: a\n  options: -x -y,-x": "a.yaml:2: option \"-x\" stands there twice",
		"- names: a\n  options: -x=Z":     "unknown letter",
		"- names: a\n  options: -x=!w":    "want one letter",
		"- names: a\n  options: --force!": "stands after a colon",
		"- names: a\n  options: '@none'":  "no shared list is called",
		"- names: a\n  risk: WRITE\n  worse:\n    - when: '@none'\n      to: ESCALATION": "no shared list is called",
		"- names: a\n  optoins: -x":                                          "optoins not found",
		"- names: a a":                                                       "a.yaml:2: \"a\" stands in a.yaml:2 too",
		"- names: a\n- names: a":                                             "a.yaml:3: \"a\" stands in a.yaml:2 too",
		"- names: a\n  aliases: b\n- names: b":                               "\"b\" stands in a.yaml:2 too",
		"- names: a\n  aliases: b\n- names: b2 c\n  aliases: d":              "only an entry of one program can have aliases",
		"- of: a\n  names: b":                                                "\"a b\" is a subcommand, and \"a\" has no entry",
		"- names: a\n  aliases: x\n- of: x\n  names: b":                      "begins with an alias of \"a\"",
		"- names: a\n  is: clever":                                           "unknown trait \"clever\"",
		"- names: a\n  style: unix\n  options: -x":                           "unknown style",
		"- names: a\n  style: go":                                            "a style without options",
		"- names: a\n  operands: rr":                                         "unknown operands",
		"- names: a\n  wrapper:\n    role: boss":                             "unknown role",
		"- names: a\n  arity: 5":                                             "more than 4",
		"- names: a\n  passes: nobody":                                       "has no entry",
		"- names: a\n  risk: BAD":                                            "unknown risk",
		"- names: a\n  risk: WRITE\n  worse:\n  - {when: -f, to: READ_ONLY}": "is not worse than",
		"- names: a\n  worse:\n  - {when: -f, to: WRITE}":                    "is not worse than",
		"- names: a\n  risk: WRITE\n  worse:\n  - {to: NETWORK}":             "nothing says when",
		"- names: a\n  destroys:\n    Deletes.: rm":                          "is not the end of a sentence",
		"- names: a\n  destroys:\n    deletes: rm;":                          "would always hold",
		"- names: a\n  destroys:\n    deletes: '@none'":                      "no shared acts are called",
		"- options: -x":                                                      "it has no names",
	} {
		_, err := Load(fstest.MapFS{"a.yaml": {Data: []byte("programs:\n" + text + "\n")}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n  %v\n  want %s", text, err, want)
		}
	}
	if _, err := Load(fstest.MapFS{"a.yaml": {Data: []byte("programs:\n- names: a\n  aliases: b\n  options: -x=w\n- of: a\n  names: c\n")}}); err != nil {
		t.Error(err)
	}
}
