package embedded

import (
	"slices"
	"strings"
	"unicode"

	"callgate/internal/lazyregexp"
)

// SQLEffect says what statements do. The zero value means that they only read from the database.
type SQLEffect uint8

const (
	SQLWrites   SQLEffect = 1 << iota // they add or change data
	SQLDestroys                       // they drop, truncate, or delete or change every row
	SQLDeletes                        // they delete rows, some or all
	SQLUnknown                        // not all of it was recognized, or databases disagree on its meaning
)

// listsTables reports whether a text is a command of sqlite3 that shows only names of tables and how they were created.
func listsTables(text string) bool {
	name, pattern, _ := strings.Cut(text, " ")
	word := func(r rune) bool {
		return r == '_' || r == '%' || r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	return slices.Contains([]string{".tables", ".schema", ".indexes", ".indices"}, name) && strings.TrimFunc(pattern, word) == ""
}

// SQL returns what the statements of a text do, for PostgreSQL, MySQL, SQLite and similar databases. All SQL is read
// here. Unknown statements and functions, and client commands other than those that list tables, are SQLUnknown.
func SQL(text string) SQLEffect {
	if listsTables(text) {
		return 0
	}
	toks, ok := sqlTokens(text)
	if !ok {
		return SQLUnknown | sqlGuess(text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimLeft(line, " \t"); line != "" && strings.IndexByte("./!", line[0]) >= 0 && !strings.HasPrefix(line, "/*") {
			return SQLUnknown | sqlGuess(text) // a client command, wherever the client thinks that a statement ends
		}
	}
	cur := &sqlCursor{toks: toks}
	r := sqlReader{cur: cur, q: sqlQuery{cur: cur}}
	r.q.change = r.statement
	found := false
	for r.cur.i < len(r.cur.toks) {
		if r.cur.op(";") {
			continue
		}
		found = true
		if !r.statement() || r.cur.i < len(r.cur.toks) && !r.cur.op(";") {
			return SQLUnknown | r.q.effect | sqlGuess(text)
		}
	}
	if !found {
		return SQLUnknown
	}
	return r.q.effect
}

// SQLOpensAccounts reports whether a text names a server's data on users and other servers, such as passwords and
// hashes.
func SQLOpensAccounts(text string) bool { return accounts.MatchString(text) }

var accounts = lazyregexp.New(`(?is)\bmysql\b|pg_shadow|pg_authid|pg_user_mapping|pg_subscription|pg_foreign_server|pg_settings|` +
	`pg_file_settings|pg_db_role_setting|conninfo|authentication_string|global_priv|slave_master_info|decrypted_secret|` +
	`user_mapping|\bshow\b.*\b(?:grants|user|all)\b|\bperformance_schema\b|\bidentified\b|\bsql_logins\b|\bsyslogins\b|` +
	`\bvault\W{0,3}secrets\b|\brolpassword\b|\bencrypted_password\b|\bpassword_hash\b`)

// sqlGuess looks for words that destroy in a text that was not recognized.
func sqlGuess(text string) SQLEffect {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_') }) {
		switch w {
		case "drop", "truncate", "delete", "purge", "shutdown", "kill":
			return SQLDestroys
		}
	}
	return 0
}

// sqlCursor is a position in a list of tokens. Its methods, and those of the readers on top of it, read the grammar by
// recursive descent: a method returns false if the text does not fit the grammar.
type sqlCursor struct {
	toks []sqlToken
	i    int
}

// sqlQuery reads queries and expressions, which can contain each other.
type sqlQuery struct {
	cur    *sqlCursor
	depth  int
	effect SQLEffect
	named  bool        // an expression has named a column
	change func() bool // reads a statement that changes rows, which a query may contain
}

// sqlReader reads statements.
type sqlReader struct {
	cur *sqlCursor
	q   sqlQuery // reads the queries in statements
}

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

// op consumes an operator.
func (r *sqlCursor) op(op string) bool {
	if r.isOp(0, op) {
		r.i++
		return true
	}
	return false
}

// word consumes one of the words.
func (r *sqlCursor) word(words ...string) bool {
	if r.is(0, words...) {
		r.i++
		return true
	}
	return false
}

// words consumes all of the words, in order.
func (r *sqlCursor) words(list ...string) bool {
	for n, w := range list {
		if !r.is(n, w) {
			return false
		}
	}
	r.i += len(list)
	return true
}

// list reads one or more items separated by commas.
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

// name reads one part of a name, which must not be a reserved word.
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

// table reads the name of a table. It refuses a name that a database could take for a file.
func (r *sqlQuery) table() bool {
	start := r.cur.i
	if !r.cur.path() {
		return false
	}
	for _, t := range r.cur.toks[start:r.cur.i] {
		if t.kind == 'q' && strings.ContainsAny(t.text, "./\\:*?") || sqlTables[strings.ToLower(t.text)] {
			return false
		}
	}
	last := strings.ToLower(r.cur.toks[r.cur.i-1].text)
	for _, suffix := range []string{"csv", "tsv", "json", "jsonl", "ndjson", "parquet", "xlsx", "txt", "gz", "zst"} {
		if last == suffix && r.cur.i-start > 1 {
			return false // DuckDB reads the file of that name
		}
	}
	return true
}

// sqlStatements maps the first word of a statement, which has already been read, to the reader of the rest.
var sqlStatements map[string]func(*sqlReader) bool

func init() {
	sqlStatements = map[string]func(*sqlReader) bool{
		"explain": (*sqlReader).explain, "describe": (*sqlReader).describe, "desc": (*sqlReader).describe, "show": (*sqlReader).show,
		"use": func(r *sqlReader) bool { return r.cur.name() }, "pragma": (*sqlReader).pragma,
		"insert": (*sqlReader).insert, "replace": (*sqlReader).insert, "update": (*sqlReader).update, "delete": (*sqlReader).delete,
		"create": (*sqlReader).create, "alter": (*sqlReader).alter,
		"drop": (*sqlReader).drop, "truncate": (*sqlReader).drop, "purge": (*sqlReader).drop,
		"kill": (*sqlReader).ends, "shutdown": (*sqlReader).ends,
		"analyze": (*sqlReader).maintains, "reindex": (*sqlReader).maintains,
	}
	for word := range strings.FieldsSeq("begin commit rollback end savepoint release start abort") {
		sqlStatements[word] = (*sqlReader).transaction
	}
}

func (r *sqlReader) statement() bool {
	if r.cur.isOp(0, "(") || r.cur.is(0, "select", "values", "with", "from") || r.cur.is(0, "table") && r.cur.i+2 >= len(r.cur.toks) {
		return r.q.query()
	}
	if r.cur.words("refresh", "materialized", "view") {
		return r.maintains()
	}
	read := sqlStatements[r.cur.at(0).text]
	if r.cur.at(0).kind != 'w' || read == nil {
		return false
	}
	r.cur.i++
	return read(r)
}

func (r *sqlReader) explain() bool {
	r.cur.word("query")
	for r.cur.word("plan", "analyze", "verbose", "for", "extended") {
	}
	if r.cur.is(0, "format") && r.cur.isOp(1, "=") {
		r.cur.i += 3
	} else if r.cur.op("(") {
		for !r.cur.isOp(0, ")") {
			if t := r.cur.at(0); t.kind != 'w' && !r.cur.isOp(0, ",") {
				return false
			}
			r.cur.i++
		}
		r.cur.i++
	}
	return r.statement()
}

func (r *sqlReader) describe() bool {
	if r.cur.is(0, "select", "with", "from") {
		return r.q.query()
	}
	return r.q.table() && (r.ended() || r.cur.name())
}

// show reads words and names. It refuses strings that DuckDB would take for a file.
func (r *sqlReader) show() bool {
	for first := true; !r.ended(); first = false {
		if t := r.cur.at(0); t.kind == 'o' && t.text != "." && t.text != "=" || first && t.kind != 'w' || t.kind == 'q' && !sqlPlain(t.text) {
			return false
		}
		r.cur.i++
	}
	return true
}

func (r *sqlReader) drop() bool {
	r.q.effect |= SQLDestroys
	return r.names()
}

// ends handles a statement that ends a connection or the database.
func (r *sqlReader) ends() bool {
	r.q.effect |= SQLDestroys
	return false
}

func (r *sqlReader) transaction() bool {
	r.q.effect |= SQLWrites
	for t := r.cur.at(0); t.kind == 'w' && !sqlReserved[t.text] || r.cur.is(0, "savepoint"); t = r.cur.at(0) {
		r.cur.i++
	}
	return r.ended()
}

// maintains reads a statement that updates derived data, such as an index or a view.
func (r *sqlReader) maintains() bool {
	r.q.effect |= SQLWrites
	return r.ended() || r.names()
}

// ended reports whether the statement ends here.
func (r *sqlReader) ended() bool { return r.cur.i >= len(r.cur.toks) || r.cur.isOp(0, ";") }

// names reads the rest of a statement that contains only words and names.
func (r *sqlReader) names() bool {
	for !r.ended() {
		if t := r.cur.at(0); t.kind == 's' || t.kind == 'o' && t.text != "." && t.text != "," {
			return false
		}
		r.cur.i++
	}
	return true
}

func (r *sqlReader) pragma() bool {
	name := r.cur.at(0)
	if name.kind != 'w' {
		return false
	}
	r.cur.i++
	if r.cur.op(".") {
		if name = r.cur.at(0); name.kind != 'w' {
			return false
		}
		r.cur.i++
	}
	if !r.cur.op("(") {
		return sqlPragmas[name.text]
	}
	t := r.cur.at(0)
	r.cur.i++
	return sqlPragmasOf[name.text] && (t.kind == 'w' || t.kind == 'q' || t.kind == 's') && r.cur.op(")")
}
