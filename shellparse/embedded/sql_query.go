package embedded

// query reads a query with all its clauses.
func (r *sqlQuery) query() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	if r.cur.word("with") {
		r.cur.word("recursive")
		if !r.cur.list(r.common) {
			return false
		}
		if !r.cur.is(0, "select", "values", "from") && !r.cur.isOp(0, "(") {
			return r.cur.is(0, "insert", "update", "delete", "replace") && r.change()
		}
	}
	for {
		if !r.part() {
			return false
		}
		if !r.cur.word("union", "except", "intersect", "minus") {
			break
		}
		r.cur.word("all", "distinct")
	}
	return r.tail()
}

// common reads one common table expression, which other queries name.
func (r *sqlQuery) common() bool {
	if !r.cur.name() || !r.columns() || !r.cur.word("as") {
		return false
	}
	r.cur.word("not")
	r.cur.word("materialized")
	return r.cur.in(r.inner)
}

// columns reads the names of columns in parentheses, if there are any.
func (r *sqlQuery) columns() bool {
	return !r.cur.isOp(0, "(") || r.cur.in(func() bool { return r.cur.list(r.cur.name) })
}

// inner reads a query or, for some databases, a statement that returns rows.
func (r *sqlQuery) inner() bool {
	if r.cur.is(0, "insert", "update", "delete") {
		return r.change()
	}
	return r.query()
}

// tail reads order, limit and offset.
func (r *sqlQuery) tail() bool {
	for {
		switch {
		case r.cur.word("order"):
			if !r.cur.word("by") || !r.cur.list(r.orderItem) {
				return false
			}
		case r.cur.word("limit"):
			if !r.cur.word("all") && !r.expr() || r.cur.op(",") && !r.expr() {
				return false
			}
		case r.cur.word("offset"):
			if !r.expr() {
				return false
			}
			r.cur.word("row", "rows")
		case r.cur.word("fetch"):
			if !r.fetch() {
				return false
			}
		default:
			return true
		}
	}
}

func (r *sqlQuery) fetch() bool {
	if !r.cur.word("first", "next") {
		return false
	}
	if r.cur.at(0).kind == 'n' {
		r.cur.i++
	}
	return r.cur.word("row", "rows") && r.cur.word("only")
}

func (r *sqlQuery) orderItem() bool {
	if !r.expr() {
		return false
	}
	r.cur.word("asc", "desc")
	return !r.cur.word("nulls") || r.cur.word("first", "last")
}

// part reads one operand of a union.
func (r *sqlQuery) part() bool {
	switch {
	case r.cur.isOp(0, "("):
		return r.cur.in(r.query)
	case r.cur.word("values"):
		return r.cur.list(r.tuple)
	case r.cur.word("table"):
		return r.table()
	case r.cur.word("from"): // DuckDB
		if !r.tables() {
			return false
		}
		return !r.cur.is(0, "select") || r.selected()
	}
	return r.selected()
}

func (r *sqlQuery) tuple() bool {
	r.cur.word("row")
	return r.cur.in(func() bool { return r.cur.list(r.value) })
}

// value reads an expression or the default of a column.
func (r *sqlQuery) value() bool { return r.cur.word("default") || r.expr() }

// selected reads a select without union and order.
func (r *sqlQuery) selected() bool {
	if !r.cur.word("select") {
		return false
	}
	if !r.cur.word("all") && r.cur.word("distinct") && r.cur.word("on") && !r.cur.in(func() bool { return r.cur.list(r.expr) }) {
		return false
	}
	if !r.cur.list(r.column) {
		return false
	}
	return r.into() && r.clause("from", r.tables) && r.clause("where", r.expr) && r.group() && r.clause("having", r.expr) &&
		r.clause("qualify", r.expr) && r.clause("window", func() bool {
		return r.cur.list(func() bool { return r.cur.name() && r.cur.word("as") && r.window() })
	})
}

// clause reads a word and what follows it, if the word is next.
func (r *sqlQuery) clause(word string, read func() bool) bool { return !r.cur.word(word) || read() }

// into reads the table that a select creates, if there is one.
func (r *sqlQuery) into() bool {
	if !r.cur.word("into") {
		return true
	}
	r.effect |= SQLWrites
	r.cur.word("temporary", "temp", "unlogged")
	r.cur.word("table")
	return !r.cur.is(0, "outfile", "dumpfile") && r.table()
}

func (r *sqlQuery) group() bool {
	if !r.cur.word("group") {
		return true
	}
	return r.cur.word("by") && (r.cur.word("all") || r.cur.list(r.expr)) && (!r.cur.word("with") || r.cur.word("rollup"))
}

// column reads one item of a select list.
func (r *sqlQuery) column() bool {
	if r.cur.op("*") {
		return true
	}
	if !r.expr() {
		return false
	}
	if r.cur.word("as") {
		if t := r.cur.at(0); t.kind == 's' || t.kind == 'w' {
			r.cur.i++
			return true
		}
		return r.cur.name()
	}
	r.cur.name()
	return true
}

// tables reads what follows from.
func (r *sqlQuery) tables() bool {
	return r.cur.list(func() bool {
		if !r.source() {
			return false
		}
		for {
			start := r.cur.i
			r.cur.word("natural", "asof")
			r.cur.word("left", "right", "full", "inner", "cross")
			r.cur.word("outer", "semi", "anti")
			if !r.cur.word("join") {
				return r.cur.i == start
			}
			if !r.source() {
				return false
			}
			if r.cur.word("on") && !r.expr() || r.cur.word("using") && !r.cur.in(func() bool { return r.cur.list(r.cur.name) }) {
				return false
			}
		}
	})
}

// source reads one table, function or query, with its alias.
func (r *sqlQuery) source() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	r.cur.word("lateral")
	switch {
	case r.cur.isOp(0, "(") && (r.cur.is(1, "select", "with", "values", "from") || r.cur.isOp(1, "(")):
		start := r.cur.i
		if !r.cur.in(r.query) {
			r.cur.i = start
			if !r.cur.in(r.tables) {
				return false
			}
		}
	case r.cur.isOp(0, "("):
		if !r.cur.in(r.tables) {
			return false
		}
	case r.cur.at(0).kind == 'w' && r.cur.isOp(1, "("):
		if !r.function() {
			return false
		}
		r.cur.words("with", "ordinality")
	default:
		if !r.table() {
			return false
		}
	}
	if r.cur.isOp(0, "(") {
		return false // a function by a quoted name, or of a schema
	}
	if r.cur.word("as") {
		if !r.cur.name() {
			return false
		}
	} else if !r.cur.name() {
		return true
	}
	return r.columns()
}
