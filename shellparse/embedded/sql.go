package embedded

import (
	"slices"
	"strings"
)

// SQLEffect says what statements do. The zero value is that they read what the database holds.
type SQLEffect uint8

const (
	SQLWrites   SQLEffect = 1 << iota // they add or change
	SQLDestroys                       // they drop, truncate, or delete or change every row
	SQLDeletes                        // they delete rows, some or all
	SQLUnknown                        // not all of it was recognised, or databases do not agree on what it means
)

// SQL says what the statements of a text do, for PostgreSQL, MySQL, SQLite and those that resemble them. It is the
// one place where SQL is read. A statement that is not known, a function that is not known, a command of a client
// are SQLUnknown.
func SQL(text string) SQLEffect {
	toks, ok := sqlTokens(text)
	if !ok {
		return SQLUnknown | sqlGuess(text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimLeft(line, " \t"); line != "" && strings.IndexByte("./!", line[0]) >= 0 && !strings.HasPrefix(line, "/*") {
			return SQLUnknown | sqlGuess(text) // a command of the client, wherever it thinks that a statement ends
		}
	}
	r := sqlReader{sqlQuery{sqlCursor: sqlCursor{toks: toks}}}
	r.change = r.statement
	found := false
	for r.i < len(r.toks) {
		if r.op(";") {
			continue
		}
		found = true
		if !r.statement() || r.i < len(r.toks) && !r.op(";") {
			return SQLUnknown | r.effect | sqlGuess(text)
		}
	}
	if !found {
		return SQLUnknown
	}
	return r.effect
}

// sqlGuess looks for the words of what destroys in a text that was not recognised.
func sqlGuess(text string) SQLEffect {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_') }) {
		switch w {
		case "drop", "truncate", "delete", "purge", "shutdown", "kill":
			return SQLDestroys
		}
	}
	return 0
}

// sqlCursor stands at a token. Its methods, and those of the readers on top of it, read the grammar by recursive
// descent: a method returns false where the text leaves it.
type sqlCursor struct {
	toks []sqlToken
	i    int
}

// sqlQuery reads queries and expressions, which hold each other.
type sqlQuery struct {
	sqlCursor
	depth  int
	effect SQLEffect
	named  bool        // an expression has named a column
	change func() bool // reads a statement that changes rows, which a query may hold
}

// sqlReader reads statements.
type sqlReader struct{ sqlQuery }

func (r *sqlCursor) at(n int) sqlToken {
	if r.i+n < len(r.toks) {
		return r.toks[r.i+n]
	}
	return sqlToken{}
}

func (r *sqlCursor) is(n int, words ...string) bool {
	t := r.at(n)
	return t.kind == 'w' && slices.Contains(words, t.text)
}

func (r *sqlCursor) isOp(n int, op string) bool {
	t := r.at(n)
	return t.kind == 'o' && t.text == op
}

// op passes an operator, word one of the words, words all of them in order.
func (r *sqlCursor) op(op string) bool {
	if r.isOp(0, op) {
		r.i++
		return true
	}
	return false
}

func (r *sqlCursor) word(words ...string) bool {
	if r.is(0, words...) {
		r.i++
		return true
	}
	return false
}

func (r *sqlCursor) words(list ...string) bool {
	for n, w := range list {
		if !r.is(n, w) {
			return false
		}
	}
	r.i += len(list)
	return true
}

// list reads one or more of something, with commas between.
func (r *sqlCursor) list(f func() bool) bool {
	for {
		if !f() {
			return false
		}
		if !r.op(",") {
			return true
		}
	}
}

// in reads something in parentheses.
func (r *sqlCursor) in(f func() bool) bool { return r.op("(") && f() && r.op(")") }

// name reads one part of a name that does not stand before a parenthesis.
func (r *sqlCursor) name() bool {
	t := r.at(0)
	if t.kind == 'q' && t.text != "" || t.kind == 'w' && !sqlReserved[t.text] {
		r.i++
		return true
	}
	return false
}

// path reads a name with its schema.
func (r *sqlCursor) path() bool {
	for {
		if !r.name() {
			return false
		}
		if !r.op(".") {
			return true
		}
	}
}

// table reads the name of a table: one that a database could take for a file is none.
func (r *sqlQuery) table() bool {
	start := r.i
	if !r.path() {
		return false
	}
	for _, t := range r.toks[start:r.i] {
		if t.kind == 'q' && strings.ContainsAny(t.text, "./\\:*?") || sqlTables[strings.ToLower(t.text)] {
			return false
		}
	}
	last := strings.ToLower(r.toks[r.i-1].text)
	for _, suffix := range []string{"csv", "tsv", "json", "jsonl", "ndjson", "parquet", "xlsx", "txt", "gz", "zst"} {
		if last == suffix && r.i-start > 1 {
			return false // DuckDB reads the file of that name
		}
	}
	return true
}

// sqlStatements are the statements that begin with a word of their own, which has been read.
var sqlStatements map[string]func(*sqlReader) bool

func init() {
	sqlStatements = map[string]func(*sqlReader) bool{
		"explain": (*sqlReader).explain, "describe": (*sqlReader).describe, "desc": (*sqlReader).describe, "show": (*sqlReader).show,
		"use": (*sqlReader).name, "pragma": (*sqlReader).pragma,
		"insert": (*sqlReader).insert, "replace": (*sqlReader).insert, "update": (*sqlReader).update, "delete": (*sqlReader).delete,
		"create": (*sqlReader).create, "alter": (*sqlReader).alter,
		"drop": (*sqlReader).drop, "truncate": (*sqlReader).drop, "purge": (*sqlReader).drop,
		"kill": (*sqlReader).ends, "shutdown": (*sqlReader).ends,
		"analyze": (*sqlReader).maintains, "reindex": (*sqlReader).maintains,
	}
	for _, word := range strings.Fields("begin commit rollback end savepoint release start abort") {
		sqlStatements[word] = (*sqlReader).transaction
	}
}

func (r *sqlReader) statement() bool {
	if r.isOp(0, "(") || r.is(0, "select", "values", "with", "from") || r.is(0, "table") && r.i+2 >= len(r.toks) {
		return r.query()
	}
	if r.words("refresh", "materialized", "view") {
		return r.maintains()
	}
	read := sqlStatements[r.at(0).text]
	if r.at(0).kind != 'w' || read == nil {
		return false
	}
	r.i++
	return read(r)
}

func (r *sqlReader) explain() bool {
	r.word("query")
	for r.word("plan", "analyze", "verbose", "for", "extended") {
	}
	if r.is(0, "format") && r.isOp(1, "=") {
		r.i += 3
	} else if r.op("(") {
		for !r.isOp(0, ")") {
			if t := r.at(0); t.kind != 'w' && !r.isOp(0, ",") {
				return false
			}
			r.i++
		}
		r.i++
	}
	return r.statement()
}

func (r *sqlReader) describe() bool {
	if r.is(0, "select", "with", "from") {
		return r.query()
	}
	return r.table() && (r.ended() || r.name())
}

// show reads words and names. DuckDB takes a string for a file.
func (r *sqlReader) show() bool {
	for first := true; !r.ended(); first = false {
		if t := r.at(0); t.kind == 'o' && t.text != "." && t.text != "=" || first && t.kind != 'w' || t.kind == 'q' && !sqlPlain(t.text) {
			return false
		}
		r.i++
	}
	return true
}

func (r *sqlReader) drop() bool {
	r.effect |= SQLDestroys
	return r.names()
}

// ends reads a statement that ends a connection or the database.
func (r *sqlReader) ends() bool {
	r.effect |= SQLDestroys
	return false
}

func (r *sqlReader) transaction() bool {
	r.effect |= SQLWrites
	for t := r.at(0); t.kind == 'w' && !sqlReserved[t.text] || r.is(0, "savepoint"); t = r.at(0) {
		r.i++
	}
	return r.ended()
}

// maintains reads a statement that brings something of the database up to date.
func (r *sqlReader) maintains() bool {
	r.effect |= SQLWrites
	return r.ended() || r.names()
}

// ended says that the statement ends here.
func (r *sqlReader) ended() bool { return r.i >= len(r.toks) || r.isOp(0, ";") }

// names reads to the end of a statement that holds nothing but words and names.
func (r *sqlReader) names() bool {
	for !r.ended() {
		if t := r.at(0); t.kind == 's' || t.kind == 'o' && t.text != "." && t.text != "," {
			return false
		}
		r.i++
	}
	return true
}

func (r *sqlReader) pragma() bool {
	name := r.at(0)
	if name.kind != 'w' {
		return false
	}
	r.i++
	if r.op(".") {
		if name = r.at(0); name.kind != 'w' {
			return false
		}
		r.i++
	}
	if !r.op("(") {
		return sqlPragmas[name.text]
	}
	t := r.at(0)
	r.i++
	return sqlPragmasOf[name.text] && (t.kind == 'w' || t.kind == 'q' || t.kind == 's') && r.op(")")
}
