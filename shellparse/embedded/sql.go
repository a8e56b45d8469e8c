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
	r := sqlReader{toks: toks}
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

// sqlReader reads the grammar by recursive descent. A method returns false where the text leaves it.
type sqlReader struct {
	toks   []sqlToken
	i      int
	depth  int
	effect SQLEffect
	named  bool // an expression has named a column
}

func (r *sqlReader) at(n int) sqlToken {
	if r.i+n < len(r.toks) {
		return r.toks[r.i+n]
	}
	return sqlToken{}
}

func (r *sqlReader) is(n int, words ...string) bool {
	t := r.at(n)
	return t.kind == 'w' && slices.Contains(words, t.text)
}

func (r *sqlReader) isOp(n int, op string) bool {
	t := r.at(n)
	return t.kind == 'o' && t.text == op
}

// op passes an operator, word one of the words, words all of them in order.
func (r *sqlReader) op(op string) bool {
	if r.isOp(0, op) {
		r.i++
		return true
	}
	return false
}

func (r *sqlReader) word(words ...string) bool {
	if r.is(0, words...) {
		r.i++
		return true
	}
	return false
}

func (r *sqlReader) words(list ...string) bool {
	for n, w := range list {
		if !r.is(n, w) {
			return false
		}
	}
	r.i += len(list)
	return true
}

// list reads one or more of something, with commas between.
func (r *sqlReader) list(f func() bool) bool {
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
func (r *sqlReader) in(f func() bool) bool { return r.op("(") && f() && r.op(")") }

// name reads one part of a name that does not stand before a parenthesis.
func (r *sqlReader) name() bool {
	t := r.at(0)
	if t.kind == 'q' && t.text != "" || t.kind == 'w' && !sqlReserved[t.text] {
		r.i++
		return true
	}
	return false
}

// path reads a name with its schema.
func (r *sqlReader) path() bool {
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
func (r *sqlReader) table() bool {
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

func (r *sqlReader) statement() bool {
	switch t := r.at(0); {
	case r.isOp(0, "("), r.is(0, "select", "values", "with", "from"), r.is(0, "table") && r.i+2 >= len(r.toks):
		return r.query()
	case t.kind != 'w':
		return false
	case r.word("explain"):
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
	case r.word("describe", "desc"):
		if r.is(0, "select", "with", "from") {
			return r.query()
		}
		return r.table() && (r.ended() || r.name())
	case r.word("show"):
		for first := true; !r.ended(); first = false {
			// DuckDB takes a string for a file.
			if t := r.at(0); t.kind == 'o' && t.text != "." && t.text != "=" || first && t.kind != 'w' || t.kind == 'q' && !sqlPlain(t.text) {
				return false
			}
			r.i++
		}
		return true
	case r.word("use"):
		return r.name()
	case r.word("pragma"):
		return r.pragma()
	case r.word("insert", "replace"):
		return r.insert()
	case r.word("update"):
		return r.update()
	case r.word("delete"):
		return r.delete()
	case r.word("create"):
		return r.create()
	case r.word("alter"):
		return r.alter()
	case r.word("drop", "truncate", "purge"):
		r.effect |= SQLDestroys
		return r.names()
	case r.word("kill", "shutdown"):
		r.effect |= SQLDestroys
		return false
	case r.word("begin", "commit", "rollback", "end", "savepoint", "release", "start", "abort"):
		r.effect |= SQLWrites
		for t := r.at(0); t.kind == 'w' && !sqlReserved[t.text] || r.is(0, "savepoint"); t = r.at(0) {
			r.i++
		}
		return r.ended()
	case r.word("analyze", "reindex"), r.words("refresh", "materialized", "view"):
		r.effect |= SQLWrites
		return r.ended() || r.names()
	}
	return false
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

// query reads a query with all that may stand around it.
func (r *sqlReader) query() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	if r.word("with") {
		r.word("recursive")
		if !r.list(func() bool {
			if !r.name() {
				return false
			}
			if r.isOp(0, "(") && !r.in(func() bool { return r.list(r.name) }) {
				return false
			}
			if !r.word("as") {
				return false
			}
			r.word("not")
			r.word("materialized")
			return r.in(r.inner)
		}) {
			return false
		}
		if !r.is(0, "select", "values", "from") && !r.isOp(0, "(") {
			return r.is(0, "insert", "update", "delete", "replace") && r.statement()
		}
	}
	for {
		if !r.part() {
			return false
		}
		if !r.word("union", "except", "intersect", "minus") {
			break
		}
		r.word("all", "distinct")
	}
	return r.tail()
}

// inner is a query or, to some, a statement that returns rows.
func (r *sqlReader) inner() bool {
	if r.is(0, "insert", "update", "delete") {
		return r.statement()
	}
	return r.query()
}

// tail reads order, limit and offset.
func (r *sqlReader) tail() bool {
	for {
		switch {
		case r.word("order"):
			if !r.word("by") || !r.list(r.orderItem) {
				return false
			}
		case r.word("limit"):
			if !r.word("all") && !r.expr() || r.op(",") && !r.expr() {
				return false
			}
		case r.word("offset"):
			if !r.expr() {
				return false
			}
			r.word("row", "rows")
		case r.word("fetch"):
			if !r.word("first", "next") {
				return false
			}
			if r.at(0).kind == 'n' {
				r.i++
			}
			if !r.word("row", "rows") || !r.word("only") {
				return false
			}
		default:
			return true
		}
	}
}

func (r *sqlReader) orderItem() bool {
	if !r.expr() {
		return false
	}
	r.word("asc", "desc")
	return !r.word("nulls") || r.word("first", "last")
}

// part reads one operand of a union.
func (r *sqlReader) part() bool {
	switch {
	case r.isOp(0, "("):
		return r.in(r.query)
	case r.word("values"):
		return r.list(r.tuple)
	case r.word("table"):
		return r.table()
	case r.word("from"): // DuckDB
		if !r.tables() {
			return false
		}
		return !r.is(0, "select") || r.selected()
	}
	return r.selected()
}

func (r *sqlReader) tuple() bool {
	r.word("row")
	return r.in(func() bool { return r.list(r.value) })
}

// value is an expression or the default of a column.
func (r *sqlReader) value() bool { return r.word("default") || r.expr() }

// selected reads a select without union and order.
func (r *sqlReader) selected() bool {
	if !r.word("select") {
		return false
	}
	if !r.word("all") && r.word("distinct") && r.word("on") && !r.in(func() bool { return r.list(r.expr) }) {
		return false
	}
	if !r.list(r.column) {
		return false
	}
	if r.word("into") {
		r.effect |= SQLWrites
		r.word("temporary", "temp", "unlogged")
		r.word("table")
		if r.is(0, "outfile", "dumpfile") || !r.table() {
			return false
		}
	}
	if r.word("from") && !r.tables() {
		return false
	}
	if r.word("where") && !r.expr() {
		return false
	}
	if r.word("group") {
		if !r.word("by") || !r.word("all") && !r.list(r.expr) || r.word("with") && !r.word("rollup") {
			return false
		}
	}
	if r.word("having") && !r.expr() || r.word("qualify") && !r.expr() {
		return false
	}
	return !r.word("window") || r.list(func() bool { return r.name() && r.word("as") && r.window() })
}

// column reads one item of the list of a select.
func (r *sqlReader) column() bool {
	if r.op("*") {
		return true
	}
	if !r.expr() {
		return false
	}
	if r.word("as") {
		if t := r.at(0); t.kind == 's' || t.kind == 'w' {
			r.i++
			return true
		}
		return r.name()
	}
	r.name()
	return true
}

// tables reads what stands behind from.
func (r *sqlReader) tables() bool {
	return r.list(func() bool {
		if !r.source() {
			return false
		}
		for {
			start := r.i
			r.word("natural", "asof")
			r.word("left", "right", "full", "inner", "cross")
			r.word("outer", "semi", "anti")
			if !r.word("join") {
				return r.i == start
			}
			if !r.source() {
				return false
			}
			if r.word("on") && !r.expr() || r.word("using") && !r.in(func() bool { return r.list(r.name) }) {
				return false
			}
		}
	})
}

// source reads one table, function or query, with its alias.
func (r *sqlReader) source() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	r.word("lateral")
	switch {
	case r.isOp(0, "(") && (r.is(1, "select", "with", "values", "from") || r.isOp(1, "(")):
		start := r.i
		if !r.in(r.query) {
			r.i = start
			if !r.in(r.tables) {
				return false
			}
		}
	case r.isOp(0, "("):
		if !r.in(r.tables) {
			return false
		}
	case r.at(0).kind == 'w' && r.isOp(1, "("):
		if !r.function() {
			return false
		}
		r.words("with", "ordinality")
	default:
		if !r.table() {
			return false
		}
	}
	if r.isOp(0, "(") {
		return false // a function by a quoted name, or of a schema
	}
	if r.word("as") {
		if !r.name() {
			return false
		}
	} else if !r.name() {
		return true
	}
	return !r.isOp(0, "(") || r.in(func() bool { return r.list(r.name) })
}

// sqlInfix are the operators between two operands.
var sqlInfix = strings.Fields("+ - * / % = == <> != < > <= >= || | & && << >> -> ->> ^ ~ ~* !~ !~* @> <@")

// expr reads an expression. How its operators bind makes no difference here.
func (r *sqlReader) expr() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	for {
		for r.word("not") || r.op("-") || r.op("+") || r.op("~") || r.op("!") {
		}
		if !r.operand() {
			return false
		}
		for more := true; more; {
			switch {
			case r.op("::"):
				more = r.typeName()
			case r.word("collate"):
				more = r.name()
			case r.word("isnull", "notnull"):
			case r.is(0, "not") && r.is(1, "null"):
				r.i += 2
			case r.words("at", "time", "zone"):
				more = r.operand()
			case r.word("is"):
				r.word("not")
				if r.words("distinct", "from") {
					more = r.operand()
				} else if !r.word("null", "true", "false", "unknown", "json") {
					more = r.operand()
				}
			default:
				goto infix
			}
			if !more {
				return false
			}
		}
	infix:
		switch t := r.at(0); {
		case t.kind == 'o' && slices.Contains(sqlInfix, t.text):
			r.i++
			if r.is(0, "any", "some", "all") && r.isOp(1, "(") {
				r.i++
			}
		case r.word("and", "or", "xor", "div", "mod", "regexp", "rlike", "glob", "match", "escape", "between", "like", "ilike"):
		case r.words("similar", "to"):
		case r.is(0, "not") && r.is(1, "in", "like", "ilike", "between", "regexp", "rlike", "glob", "match", "similar"):
			r.i += 2
			if r.at(-1).text == "similar" && !r.word("to") {
				return false
			}
		case r.word("in"):
		default:
			return true
		}
	}
}

// operand reads a value.
func (r *sqlReader) operand() bool {
	t := r.at(0)
	switch {
	case t.kind == 'n' || t.kind == 's':
		r.i++
		return true
	case r.isOp(0, "("):
		return r.in(func() bool {
			if r.is(0, "select", "with", "values") {
				return r.query()
			}
			return r.isOp(0, ")") || r.list(r.expr)
		})
	case t.kind == 'q' && !r.isOp(1, "("), t.kind == 'w' && !r.isOp(1, "(") && !sqlReserved[t.text]:
		if t.kind == 'w' && r.at(1).kind == 's' { // x'00', date '2026-01-01', interval '1 day'
			r.i += 2
			if t.text == "interval" {
				r.word("year", "month", "week", "day", "hour", "minute", "second")
			}
			return true
		}
		if t.text == "interval" && t.kind == 'w' && r.at(1).kind == 'n' {
			r.i += 2
			return r.name()
		}
		r.named = r.named || t.kind == 'q' || !r.is(0, "true", "false", "null", "current_timestamp", "current_date", "current_time")
		r.i++
		for r.op(".") {
			if r.op("*") {
				return true
			}
			if !r.name() {
				return false
			}
		}
		return !r.isOp(0, "(")
	case r.word("case"):
		if !r.is(0, "when") && !r.expr() {
			return false
		}
		for r.word("when") {
			if !r.expr() || !r.word("then") || !r.expr() {
				return false
			}
		}
		if r.word("else") && !r.expr() {
			return false
		}
		return r.word("end")
	case t.kind == 'w' && r.isOp(1, "("):
		return r.function()
	case r.is(0, "default"):
		return false
	}
	return false
}

// function reads a call of a function that is known, with what may follow it.
func (r *sqlReader) function() bool {
	name := r.at(0).text
	if !sqlFunctions[name] {
		return false
	}
	r.i += 2
	switch {
	case r.op(")"):
	case r.op("*"):
		if !r.op(")") {
			return false
		}
	default:
		if !r.arguments(name) || !r.op(")") {
			return false
		}
	}
	if r.words("within", "group") && !r.in(r.tail) {
		return false
	}
	if r.is(0, "filter") && r.isOp(1, "(") {
		r.i++
		if !r.in(func() bool { return r.word("where") && r.expr() }) {
			return false
		}
	}
	if r.word("ignore", "respect") && !r.word("nulls") {
		return false
	}
	if r.word("over") {
		if r.isOp(0, "(") {
			return r.window()
		}
		return r.name()
	}
	return true
}

// arguments reads those of a function, with the words that SQL puts between some of them.
func (r *sqlReader) arguments(name string) bool {
	if r.is(0, "select", "with") {
		return r.query()
	}
	r.word("distinct", "all", "both", "leading", "trailing")
	if name == "extract" {
		r.i++
		return r.word("from") && r.expr()
	}
	for {
		if !r.word("from") && !r.expr() {
			return false
		}
		switch {
		case r.word("as"):
			return r.typeName()
		case name == "convert" && r.word("using"):
			return r.name()
		case r.op(","):
		case (name == "substring" || name == "trim" || name == "overlay") && r.word("from", "for", "placing"):
		case r.word("separator"):
		default:
			return r.tail()
		}
	}
}

// window reads the definition of a window.
func (r *sqlReader) window() bool {
	return r.in(func() bool {
		if r.words("partition", "by") && !r.list(r.expr) || !r.tail() {
			return false
		}
		if r.word("rows", "range", "groups") {
			for r.at(0).kind == 'n' || r.word("between", "unbounded", "preceding", "and", "current", "row", "following") {
				if r.at(0).kind == 'n' {
					r.i++
				}
			}
		}
		return true
	})
}

func (r *sqlReader) typeName() bool {
	n := 0
	for ; r.at(0).kind == 'w' && sqlTypes[r.at(0).text]; n++ {
		r.i++
		if r.isOp(0, "(") && !r.in(func() bool { return r.list(r.size) }) {
			return false
		}
	}
	return n > 0
}

func (r *sqlReader) size() bool {
	if r.at(0).kind == 'n' || r.is(0, "max") {
		r.i++
		return true
	}
	return false
}

func (r *sqlReader) insert() bool {
	r.effect |= SQLWrites
	if r.word("or") && !r.word("replace", "ignore", "abort", "fail", "rollback") {
		return false
	}
	r.word("ignore", "low_priority", "delayed")
	r.word("into")
	if !r.table() || r.word("as") && !r.name() {
		return false
	}
	if r.isOp(0, "(") && !r.is(1, "select", "with") && !r.in(func() bool { return r.list(r.name) }) {
		return false
	}
	switch {
	case r.words("default", "values"):
	case r.word("set"):
		if !r.list(r.assignment) {
			return false
		}
	case !r.query():
		return false
	}
	if r.words("on", "conflict") {
		if r.isOp(0, "(") && !r.in(func() bool { return r.list(r.expr) }) || r.words("on", "constraint") && !r.name() || r.word("where") && !r.expr() ||
			!r.word("do") {
			return false
		}
		if !r.word("nothing") && (!r.words("update", "set") || !r.list(r.assignment) || r.word("where") && !r.expr()) {
			return false
		}
	}
	if r.words("on", "duplicate", "key", "update") && !r.list(r.assignment) {
		return false
	}
	return r.returning()
}

func (r *sqlReader) returning() bool { return !r.word("returning") || r.list(r.column) }

func (r *sqlReader) assignment() bool {
	if r.isOp(0, "(") {
		if !r.in(func() bool { return r.list(r.path) }) {
			return false
		}
	} else if !r.path() {
		return false
	}
	return r.op("=") && r.value()
}

// where reads the condition of a statement that changes rows. One that names no column holds for every row.
func (r *sqlReader) where() bool {
	if !r.word("where") {
		r.effect |= SQLDestroys
		return true
	}
	named := r.named
	r.named = false
	ok := r.expr()
	if !r.named {
		r.effect |= SQLDestroys
	}
	r.named = named
	return ok
}

func (r *sqlReader) update() bool {
	r.effect |= SQLWrites
	if r.word("or") && !r.word("replace", "ignore", "abort", "fail", "rollback") {
		return false
	}
	r.word("only")
	if !r.tables() || !r.word("set") || !r.list(r.assignment) {
		return false
	}
	if r.word("from") && !r.tables() {
		return false
	}
	return r.where() && r.tail() && r.returning()
}

func (r *sqlReader) delete() bool {
	r.effect |= SQLWrites | SQLDeletes
	if !r.word("from") {
		return false
	}
	r.word("only")
	if !r.tables() || r.word("using") && !r.tables() {
		return false
	}
	return r.where() && r.tail() && r.returning()
}

func (r *sqlReader) create() bool {
	r.effect |= SQLWrites
	replaced := r.words("or", "replace")
	r.word("temp", "temporary", "unlogged")
	exists := func() { r.words("if", "not", "exists") }
	switch {
	case r.word("table"):
		if replaced {
			r.effect |= SQLDestroys
		}
		exists()
		if !r.table() {
			return false
		}
		if r.isOp(0, "(") {
			if !r.in(r.definitions) {
				return false
			}
			for t := r.at(0); t.kind == 'w' && sqlTableOptions[t.text] || r.isOp(0, "=") || t.kind == 's' || t.kind == 'n'; t = r.at(0) {
				r.i++
			}
		}
		return !r.word("as") || r.query()
	case r.is(0, "index") || r.is(0, "unique") && r.is(1, "index"):
		r.word("unique")
		r.i++
		r.word("concurrently")
		exists()
		if !r.is(0, "on") && !r.path() || !r.word("on") || !r.table() || r.word("using") && !r.name() {
			return false
		}
		return r.in(func() bool { return r.list(r.orderItem) }) && (!r.word("where") || r.expr())
	case r.word("view"):
		exists()
		if !r.table() || r.isOp(0, "(") && !r.in(func() bool { return r.list(r.name) }) {
			return false
		}
		return r.word("as") && r.query()
	case !replaced && r.word("schema", "database"):
		exists()
		return r.name()
	}
	return false
}

// definitions reads the columns and constraints of a table: names, types and expressions, in whatever order.
func (r *sqlReader) definitions() bool {
	for !r.isOp(0, ")") {
		t := r.at(0)
		switch {
		case t.kind == 0 || r.isOp(0, ";"):
			return false
		case r.word("check", "default", "as") && r.isOp(0, "("):
			if !r.in(r.expr) {
				return false
			}
		case r.word("references", "constraint", "key", "index", "unique") && !r.isOp(0, "("):
			if t := r.at(0); (t.kind == 'q' || t.kind == 'w' && !sqlReserved[t.text]) && r.isOp(1, "(") {
				r.i++
			}
		case r.isOp(0, "("):
			if !r.in(func() bool { return r.list(r.orderItem) }) {
				return false
			}
		case t.kind == 'w' && r.isOp(1, "("):
			if !sqlTypes[t.text] && !sqlFunctions[t.text] && t.text != "key" && t.text != "unique" && t.text != "enum" && t.text != "set" {
				return false
			}
			r.i++
		case t.kind == 'q' && r.isOp(1, "("), t.kind == 'w' && (t.text == "select" || t.text == "with"):
			return false
		default:
			r.i++
		}
	}
	return true
}

func (r *sqlReader) alter() bool {
	r.effect |= SQLWrites
	if !r.word("table") {
		return false
	}
	r.words("if", "exists")
	r.word("only")
	if !r.table() {
		return false
	}
	switch {
	case r.word("drop"):
		r.effect |= SQLDestroys
		return r.names()
	case r.word("rename"):
		return r.names()
	case r.word("add"):
		r.word("column")
		r.words("if", "not", "exists")
		for !r.ended() {
			if t := r.at(0); t.kind == 'o' && t.text != "(" && t.text != ")" && t.text != "," || t.kind == 'w' && r.isOp(1, "(") && !sqlTypes[t.text] ||
				r.is(0, "select", "drop") || t.kind == 'q' && r.isOp(1, "(") {
				return false
			}
			r.i++
		}
		return true
	}
	return false
}
