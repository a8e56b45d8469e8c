package embedded

// query reads a query with all that may stand around it.
func (r *sqlQuery) query() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	if r.word("with") {
		r.word("recursive")
		if !r.list(r.common) {
			return false
		}
		if !r.is(0, "select", "values", "from") && !r.isOp(0, "(") {
			return r.is(0, "insert", "update", "delete", "replace") && r.change()
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

// common reads one query that others name.
func (r *sqlQuery) common() bool {
	if !r.name() || !r.columns() || !r.word("as") {
		return false
	}
	r.word("not")
	r.word("materialized")
	return r.in(r.inner)
}

// columns reads the names of columns in parentheses, where there are any.
func (r *sqlQuery) columns() bool {
	return !r.isOp(0, "(") || r.in(func() bool { return r.list(r.name) })
}

// inner is a query or, to some, a statement that returns rows.
func (r *sqlQuery) inner() bool {
	if r.is(0, "insert", "update", "delete") {
		return r.change()
	}
	return r.query()
}

// tail reads order, limit and offset.
func (r *sqlQuery) tail() bool {
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
			if !r.fetch() {
				return false
			}
		default:
			return true
		}
	}
}

func (r *sqlQuery) fetch() bool {
	if !r.word("first", "next") {
		return false
	}
	if r.at(0).kind == 'n' {
		r.i++
	}
	return r.word("row", "rows") && r.word("only")
}

func (r *sqlQuery) orderItem() bool {
	if !r.expr() {
		return false
	}
	r.word("asc", "desc")
	return !r.word("nulls") || r.word("first", "last")
}

// part reads one operand of a union.
func (r *sqlQuery) part() bool {
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

func (r *sqlQuery) tuple() bool {
	r.word("row")
	return r.in(func() bool { return r.list(r.value) })
}

// value is an expression or the default of a column.
func (r *sqlQuery) value() bool { return r.word("default") || r.expr() }

// selected reads a select without union and order.
func (r *sqlQuery) selected() bool {
	if !r.word("select") {
		return false
	}
	if !r.word("all") && r.word("distinct") && r.word("on") && !r.in(func() bool { return r.list(r.expr) }) {
		return false
	}
	if !r.list(r.column) {
		return false
	}
	return r.into() && r.clause("from", r.tables) && r.clause("where", r.expr) && r.group() && r.clause("having", r.expr) &&
		r.clause("qualify", r.expr) && r.clause("window", func() bool {
		return r.list(func() bool { return r.name() && r.word("as") && r.window() })
	})
}

// clause reads what stands behind a word, where the word does.
func (r *sqlQuery) clause(word string, read func() bool) bool { return !r.word(word) || read() }

// into reads the table that a select makes.
func (r *sqlQuery) into() bool {
	if !r.word("into") {
		return true
	}
	r.effect |= SQLWrites
	r.word("temporary", "temp", "unlogged")
	r.word("table")
	return !r.is(0, "outfile", "dumpfile") && r.table()
}

func (r *sqlQuery) group() bool {
	if !r.word("group") {
		return true
	}
	return r.word("by") && (r.word("all") || r.list(r.expr)) && (!r.word("with") || r.word("rollup"))
}

// column reads one item of the list of a select.
func (r *sqlQuery) column() bool {
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
func (r *sqlQuery) tables() bool {
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
func (r *sqlQuery) source() bool {
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
	return r.columns()
}
