package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/embedded"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// The programs here take a text in their own language. A rule for their words covers the text if package embedded
// recognized all of it, and asks otherwise.

// inspectAwk checks the program given to awk.
func inspectAwk(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	if s.Unknown != "" {
		c.EffectOf("option "+s.Unknown, word.Hit{Name: s.Unknown})
	}
	files := s.Operands
	if _, file := s.Find("-f", "--file", "-E", "--exec", "-e", "--source"); !file && len(files) > 0 {
		code(c, files[0], embedded.Awk)
		files = files[1:]
	}
	for _, w := range files {
		if strings.HasPrefix(w.Text, "/inet") {
			c.EffectAt("network "+w.Text, w) // gawk opens a connection
		}
	}
}

// code records a text that a rule for the words does not cover, unless the text is harmless for each value of a loop.
func code(c *walk.Call, w word.Word, harmless func(string) bool) {
	texts := []string{w.Text}
	if !w.Known {
		texts = w.Choices()
	}
	if len(texts) == 0 || slices.ContainsFunc(texts, func(t string) bool { return !harmless(t) }) {
		c.EffectAt("code "+w.Text, w)
	}
}

// inspectSed checks the script given to sed. GNU sed takes options after operands and BSD sed does not, so they can
// find the script in different words. It is harmless only if it is harmless for both.
func inspectSed(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if s.Unknown != "" {
		c.EffectOf("option "+s.Unknown, word.Hit{Name: s.Unknown})
	}
	for _, st := range [2]programs.Style{programs.GNU, programs.POSIX} {
		r := (*word.Options)(a.Words.Tables.Row(c.Name).Options).Scan(c.Argv[1:], st)
		if _, file := r.Find("-f", "--file"); file {
			continue
		}
		list, files := r.Codes(), r.Operands
		if len(list) == 0 && len(files) > 0 {
			list, files = files[:1], files[1:]
		}
		script := word.JoinedLines(list)
		suffix, inPlace := r.Find("-i", "--in-place", "-I")
		if strings.ContainsAny(suffix.Text, "/*") || !suffix.Known && suffix.Text != "" {
			c.EffectAt("option -i "+suffix.Text, suffix) // the backup goes elsewhere
		} else if suffix.Text != "" {
			for _, w := range files {
				if w.Known {
					a.Writes(c, word.Lit(w.Text+suffix.Text))
				}
			}
		}
		// BSD's -i takes the next word, which then is not a script.
		if inPlace && len(list) == 1 && list[0].Known && (list[0].Text == "" || strings.HasPrefix(list[0].Text, ".")) && len(files) > 0 {
			script = files[0]
		}
		if !sedWithNumbers(script) {
			code(c, script, embedded.Sed)
		}
	}
}

// sedWithNumbers reports whether a script is harmless whatever the numbers in it are that are not known: they are lines, or
// belong to commands without a text.
func sedWithNumbers(w word.Word) bool {
	before, behind, ok := w.LastNumber()
	return ok && strings.Trim(before, "0123456789,+$~!;pdq= \n") == "" && embedded.Sed("1"+behind)
}

// jqOptions maps the options of jq and its relatives to the number of words they take.
var jqOptions = map[string]int{"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--argfile": 2, "--indent": 1, "--args": 0,
	"--jsonargs": 0, "--tab": 0, "--seq": 0, "--stream": 0, "--stream-errors": 0, "--exit-status": 0, "--null-input": 0, "--raw-input": 0,
	"--slurp": 0, "--compact-output": 0, "--raw-output": 0, "--raw-output0": 0, "--join-output": 0, "--ascii-output": 0, "--sort-keys": 0,
	"--color-output": 0, "--monochrome-output": 0, "--unbuffered": 0, "--version": 0, "--help": 0, "--build-configuration": 0,
	"--yaml-input": 0, "--yaml-output": 0}

// inspectJq checks the program of jq and records the files.
func inspectJq(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	program, texts := false, false // texts: later operands are no files
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		switch {
		case !w.Known && !w.Safe() && !program:
			c.EffectAt("code "+w.Text, w)
			return
		case w.Known && len(w.Text) > 1 && w.Text[0] == '-':
			n, listed := jqOptions[w.Text]
			if !listed && (w.Text[1] == '-' || strings.Trim(w.Text[1:], "rcnesSCMajRhV") != "") {
				c.EffectAt("option "+w.Text, w) // a library, a program in a file, an edit in place, or an unknown option
				return
			}
			if n == 2 && strings.HasSuffix(w.Text, "file") && i+2 < len(c.Argv) {
				a.Reads(c, c.Argv[i+2])
			}
			texts = texts || w.Text == "--args" || w.Text == "--jsonargs"
			i += n
		case !program:
			program = true
			code(c, w, embedded.Jq)
		case !texts:
			a.Reads(c, w)
		}
	}
}

// yqCommands lists the subcommands of one yq that take an expression.
var yqCommands = word.Set("e eval ea eval-all")

// dataFile matches the name of a file that, read as an expression, only looks up fields.
var dataFile = lazyregexp.New(`^[A-Za-z0-9_./-]*[A-Za-z0-9_]\.(?:json|ya?ml|xml|toml|csv)$`)

// inspectYq checks the expression of yq. There are two programs called yq; to one of them, a word can be the file
// instead.
func inspectYq(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if s.Unknown != "" {
		c.EffectOf("option "+s.Unknown, word.Hit{Name: s.Unknown})
	}
	list := s.Operands
	if len(list) > 0 && list[0].Known && yqCommands[list[0].Text] {
		list = list[1:]
	}
	for _, w := range s.Codes() {
		code(c, w, embedded.Yq)
	}
	if len(list) == 0 {
		return
	}
	if len(list) == 1 && list[0].Known && dataFile.MatchString(list[0].Text) {
		a.Reads(c, list[0])
		return
	}
	code(c, list[0], embedded.Yq)
	if _, null := s.Find("-n", "--null-input"); len(list) == 1 && !null {
		a.Reads(c, list[0])
		if c.Sc.Input.Kind == word.InputNone && list[0].Text != "." {
			c.EffectAt("word "+list[0].Text, list[0])
		}
	}
}

// sqlOperands maps a database client to the index of its first operand that is a statement.
var sqlOperands = map[string]int{"sqlite3": 1, "duckdb": 1}

// inspectSQL checks the statements given to a database client by its words or its standard input.
func inspectSQL(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if s.Unknown != "" {
		c.EffectOf("option "+s.Unknown, word.Hit{Name: s.Unknown})
	}
	from, local := sqlOperands[c.Name]
	writes := false
	for _, w := range statements(c, s, from) {
		if c.Name == "mysql" || c.Name == "mariadb" || c.Name == "mycli" {
			w.Text = strings.TrimSuffix(strings.TrimRight(w.Text, " ;\n"), `\G`) // \G only formats the answer
		}
		c.Statements = append(c.Statements, w)
		does := embedded.SQL(w.Text)
		changes := does&(embedded.SQLWrites|embedded.SQLDestroys|embedded.SQLDeletes) != 0
		if !w.Known || does&embedded.SQLUnknown != 0 || !local && (changes || embedded.SQLOpensAccounts(w.Text)) { // others use a server too
			c.EffectAt("code "+w.Text, w)
		}
		writes = writes || does&(embedded.SQLWrites|embedded.SQLDestroys) != 0
	}
	if local {
		databaseFile(a, c, s, writes)
		return
	}
	isMysql := func(w word.Word) bool { return strings.EqualFold(w.Text, "mysql") }
	if database, ok := s.Find("-D"); ok && isMysql(database) || slices.ContainsFunc(s.Operands, isMysql) {
		c.Effect("database mysql")
	}
}

// statements returns the texts that a database client runs: its code options and its operands from the index from on
// (unless that is 0), or else its standard input. It records an input that cannot be read.
func statements(c *walk.Call, s *word.Scanned, from int) []word.Word {
	list := s.Codes()
	if from > 0 && len(s.Operands) > from {
		list = append(list, s.Operands[from:]...)
	}
	if in := c.Sc.Input; len(list) == 0 && in.Kind != word.InputNone {
		if in.Text.Known {
			list = append(list, in.Text)
		} else {
			c.RunsInput()
		}
	}
	return list
}

// databaseFile records the database file that a local client opens.
func databaseFile(a *walk.Walker, c *walk.Call, s *word.Scanned, writes bool) {
	if len(s.Operands) == 0 {
		return
	}
	db := s.Operands[0]
	if db.Text == ":memory:" {
		return
	}
	if strings.Contains(db.Text, ":") {
		c.EffectAt("database "+db.Text, db) // an address with settings
	}
	a.Reads(c, db)
	if writes {
		a.Writes(c, db)
	}
}
