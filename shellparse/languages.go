package shellparse

import (
	"strings"

	"callgate/shellparse/embedded"
	"callgate/shellparse/programs"
)

// The programs here are given a text in a language of their own. A rule for their words covers the text when
// package embedded recognised the whole of it, and asks otherwise.

// inspectAwk looks at the program that awk is given.
func inspectAwk(_ *analysis, c *call, s *scanned) {
	if s.unknown != "" {
		c.effectOf("option "+s.unknown, hit{name: s.unknown})
	}
	files := s.operands
	if _, file := s.find("-f", "--file", "-E", "--exec", "-e", "--source"); !file && len(files) > 0 {
		c.code(files[0], embedded.Awk)
		files = files[1:]
	}
	for _, w := range files {
		if strings.HasPrefix(w.text, "/inet") {
			c.effectAt("network "+w.text, w) // gawk opens a connection
		}
	}
}

// code notes that a rule for the words does not cover a text, unless it is harmless.
func (c *call) code(w word, harmless func(string) bool) {
	if !w.known || !harmless(w.text) {
		c.effectAt("code "+w.text, w)
	}
}

// codes returns the arguments that are code.
func (s *scanned) codes() []word {
	var list []word
	for _, h := range s.hits {
		if h.opt.Does == 'c' && h.has {
			list = append(list, h.value)
		}
	}
	return list
}

// joinedLines is a script in several words, one line for each.
func joinedLines(list []word) word {
	script := word{known: true}
	for i, w := range list {
		if i > 0 {
			script.text += "\n"
		}
		script.text += w.text
		script.known = script.known && w.known
	}
	return script
}

// inspectSed looks at the script that sed is given. GNU's takes options behind operands and BSD's does not, so that
// they can find it in different words: it is harmless when it is for both.
func inspectSed(a *analysis, c *call, s *scanned) {
	if s.unknown != "" {
		c.effectOf("option "+s.unknown, hit{name: s.unknown})
	}
	for _, st := range [2]programs.Style{programs.GNU, programs.POSIX} {
		r := (*optset)(a.tables.row(c.name).Options).scan(c.argv[1:], st)
		if _, file := r.find("-f", "--file"); file {
			continue
		}
		list, files := r.codes(), r.operands
		if len(list) == 0 && len(files) > 0 {
			list, files = files[:1], files[1:]
		}
		script := joinedLines(list)
		suffix, inPlace := r.find("-i", "--in-place", "-I")
		if strings.ContainsAny(suffix.text, "/*") || !suffix.known && suffix.text != "" {
			c.effectAt("option -i "+suffix.text, suffix) // the copy goes elsewhere
		} else if suffix.text != "" {
			for _, w := range files {
				if w.known {
					a.writes(c, lit(w.text+suffix.text))
				}
			}
		}
		// BSD's -i takes the next word, which is no script then.
		if inPlace && len(list) == 1 && list[0].known && (list[0].text == "" || strings.HasPrefix(list[0].text, ".")) && len(files) > 0 {
			script = files[0]
		}
		c.code(script, embedded.Sed)
	}
}

// jqOptions are those of jq and its relatives, with how many words they take.
var jqOptions = map[string]int{"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--argfile": 2, "--indent": 1, "--args": 0,
	"--jsonargs": 0, "--tab": 0, "--seq": 0, "--stream": 0, "--stream-errors": 0, "--exit-status": 0, "--null-input": 0, "--raw-input": 0,
	"--slurp": 0, "--compact-output": 0, "--raw-output": 0, "--raw-output0": 0, "--join-output": 0, "--ascii-output": 0, "--sort-keys": 0,
	"--color-output": 0, "--monochrome-output": 0, "--unbuffered": 0, "--version": 0, "--help": 0, "--build-configuration": 0,
	"--yaml-input": 0, "--yaml-output": 0}

// inspectJq looks at the program and the files of jq.
func inspectJq(a *analysis, c *call, _ *scanned) {
	program, texts := false, false // texts: further operands are no files
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		switch {
		case !w.known && !w.safe() && !program:
			c.effectAt("code "+w.text, w)
			return
		case w.known && len(w.text) > 1 && w.text[0] == '-':
			n, listed := jqOptions[w.text]
			if !listed && (w.text[1] == '-' || strings.Trim(w.text[1:], "rcnesSCMajRhV") != "") {
				c.effectAt("option "+w.text, w) // a library, a program in a file, the file in place, and what is not known
				return
			}
			if n == 2 && strings.HasSuffix(w.text, "file") && i+2 < len(c.argv) {
				a.reads(c, c.argv[i+2])
			}
			texts = texts || w.text == "--args" || w.text == "--jsonargs"
			i += n
		case !program:
			program = true
			c.code(w, embedded.Jq)
		case !texts:
			a.reads(c, w)
		}
	}
}

// yqCommands are those of one yq that take an expression.
var yqCommands = set("e eval ea eval-all")

// inspectYq looks at the expression of yq. A word that names a file is the file to one of the two.
func inspectYq(a *analysis, c *call, s *scanned) {
	if s.unknown != "" {
		c.effectOf("option "+s.unknown, hit{name: s.unknown})
	}
	list := s.operands
	if len(list) > 0 && list[0].known && yqCommands[list[0].text] {
		list = list[1:]
	}
	for _, w := range s.codes() {
		c.code(w, embedded.Yq)
	}
	if len(list) == 0 {
		return
	}
	c.code(list[0], embedded.Yq)
	if _, null := s.find("-n", "--null-input"); len(list) == 1 && !null {
		a.reads(c, list[0])
		if c.sc.input.kind == inputNone && list[0].text != "." {
			c.effectAt("word "+list[0].text, list[0])
		}
	}
}

// sqlOperands say which operands of a database client are statements: those from that one on.
var sqlOperands = map[string]int{"sqlite3": 1, "duckdb": 1}

// inspectSQL looks at the statements that a database client is given, by its words or from its standard input.
func inspectSQL(a *analysis, c *call, s *scanned) {
	if s.unknown != "" {
		c.effectOf("option "+s.unknown, hit{name: s.unknown})
	}
	list := s.codes()
	from, local := sqlOperands[c.name]
	if local && len(s.operands) > from {
		list = append(list, s.operands[from:]...)
	}
	if in := c.sc.input; len(list) == 0 && in.kind != inputNone {
		if in.text.known {
			list = append(list, in.text)
		} else {
			c.runsInput()
		}
	}
	writes := false
	for _, w := range list {
		if c.name == "mysql" || c.name == "mariadb" || c.name == "mycli" {
			w.text = strings.TrimSuffix(strings.TrimRight(w.text, " ;\n"), `\G`) // how the answer is shown
		}
		c.statements = append(c.statements, w)
		does := embedded.SQL(w.text)
		if !w.known || does&embedded.SQLUnknown != 0 {
			c.effectAt("code "+w.text, w)
		}
		writes = writes || does&(embedded.SQLWrites|embedded.SQLDestroys) != 0
	}
	if local && len(s.operands) > 0 {
		db := s.operands[0]
		if strings.Contains(db.text, ":") && db.text != ":memory:" {
			c.effectAt("database "+db.text, db) // an address with settings
		}
		if db.text == ":memory:" {
			return
		}
		a.reads(c, db)
		if writes {
			a.writes(c, db)
		}
	}
}
