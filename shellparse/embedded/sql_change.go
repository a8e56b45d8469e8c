package embedded

func (r *sqlReader) insert() bool {
	r.q.effect |= SQLWrites
	if r.cur.word("or") && !r.cur.word("replace", "ignore", "abort", "fail", "rollback") {
		return false
	}
	r.cur.word("ignore", "low_priority", "delayed")
	r.cur.word("into")
	if !r.q.table() || r.cur.word("as") && !r.cur.name() {
		return false
	}
	if r.cur.isOp(0, "(") && !r.cur.is(1, "select", "with") && !r.cur.in(func() bool { return r.cur.list(r.cur.name) }) {
		return false
	}
	switch {
	case r.cur.words("default", "values"):
	case r.cur.word("set"):
		if !r.cur.list(r.assignment) {
			return false
		}
	case !r.q.query():
		return false
	}
	if r.cur.words("on", "conflict") && !r.conflict() || r.cur.words("on", "duplicate", "key", "update") && !r.cur.list(r.assignment) {
		return false
	}
	return r.returning()
}

// conflict reads what happens to a row that already exists.
func (r *sqlReader) conflict() bool {
	if r.cur.isOp(0, "(") && !r.cur.in(func() bool { return r.cur.list(r.q.expr) }) || r.cur.words("on", "constraint") && !r.cur.name() {
		return false
	}
	if !r.q.clause("where", r.q.expr) || !r.cur.word("do") {
		return false
	}
	return r.cur.word("nothing") || r.cur.words("update", "set") && r.cur.list(r.assignment) && r.q.clause("where", r.q.expr)
}

func (r *sqlReader) returning() bool { return !r.cur.word("returning") || r.cur.list(r.q.column) }

func (r *sqlReader) assignment() bool {
	if r.cur.isOp(0, "(") {
		if !r.cur.in(func() bool { return r.cur.list(r.cur.path) }) {
			return false
		}
	} else if !r.cur.path() {
		return false
	}
	return r.cur.op("=") && r.q.value()
}

// where reads the condition of a statement that changes rows. A condition that names no column holds for every row.
func (r *sqlReader) where() bool {
	if !r.cur.word("where") {
		r.q.effect |= SQLDestroys
		return true
	}
	named := r.q.named
	r.q.named = false
	ok := r.q.expr()
	if !r.q.named {
		r.q.effect |= SQLDestroys
	}
	r.q.named = named
	return ok
}

func (r *sqlReader) update() bool {
	r.q.effect |= SQLWrites
	if r.cur.word("or") && !r.cur.word("replace", "ignore", "abort", "fail", "rollback") {
		return false
	}
	r.cur.word("only")
	if !r.q.tables() || !r.cur.word("set") || !r.cur.list(r.assignment) {
		return false
	}
	if r.cur.word("from") && !r.q.tables() {
		return false
	}
	return r.where() && r.q.tail() && r.returning()
}

func (r *sqlReader) delete() bool {
	r.q.effect |= SQLWrites | SQLDeletes
	if !r.cur.word("from") {
		return false
	}
	r.cur.word("only")
	if !r.q.tables() || r.cur.word("using") && !r.q.tables() {
		return false
	}
	return r.where() && r.q.tail() && r.returning()
}

func (r *sqlReader) create() bool {
	r.q.effect |= SQLWrites
	replaced := r.cur.words("or", "replace")
	r.cur.word("temp", "temporary", "unlogged")
	switch {
	case r.cur.word("table"):
		if replaced {
			r.q.effect |= SQLDestroys
		}
		return r.createTable()
	case r.cur.is(0, "index"), r.cur.is(0, "unique") && r.cur.is(1, "index"):
		r.cur.word("unique")
		r.cur.i++
		return r.createIndex()
	case r.cur.word("view"):
		r.unless()
		return r.q.table() && r.q.columns() && r.cur.word("as") && r.q.query()
	case !replaced && r.cur.word("schema", "database"):
		r.unless()
		return r.cur.name()
	}
	return false
}

// unless reads "if not exists", if it is there.
func (r *sqlReader) unless() { r.cur.words("if", "not", "exists") }

func (r *sqlReader) createTable() bool {
	r.unless()
	if !r.q.table() {
		return false
	}
	if r.cur.isOp(0, "(") {
		if !r.cur.in(r.definitions) {
			return false
		}
		for t := r.cur.at(0); t.kind == 'w' && sqlTableOptions[t.text] || r.cur.isOp(0, "=") || t.kind == 's' || t.kind == 'n'; t = r.cur.at(0) {
			r.cur.i++
		}
	}
	return r.q.clause("as", r.q.query)
}

func (r *sqlReader) createIndex() bool {
	r.cur.word("concurrently")
	r.unless()
	if !r.cur.is(0, "on") && !r.cur.path() || !r.cur.word("on") || !r.q.table() || !r.q.clause("using", r.cur.name) {
		return false
	}
	return r.cur.in(func() bool { return r.cur.list(r.q.orderItem) }) && r.q.clause("where", r.q.expr)
}

// definitions reads the columns and constraints of a table: names, types and expressions, in any order.
func (r *sqlReader) definitions() bool {
	for !r.cur.isOp(0, ")") {
		if !r.definition() {
			return false
		}
	}
	return true
}

// sqlWordsOfTables lists words before a parenthesis in a table definition that are neither type nor function.
var sqlWordsOfTables = map[string]bool{"key": true, "unique": true, "enum": true, "set": true}

// definition reads the next piece of a table definition.
func (r *sqlReader) definition() bool {
	t := r.cur.at(0)
	switch {
	case t.kind == 0 || r.cur.isOp(0, ";"), t.kind == 'q' && r.cur.isOp(1, "("), r.cur.is(0, "select", "with"):
		return false
	case r.cur.word("check", "default", "as") && r.cur.isOp(0, "("):
		return r.cur.in(r.q.expr)
	case r.cur.word("references", "constraint", "key", "index", "unique") && !r.cur.isOp(0, "("):
		if t := r.cur.at(0); (t.kind == 'q' || t.kind == 'w' && !sqlReserved[t.text]) && r.cur.isOp(1, "(") {
			r.cur.i++
		}
		return true
	case r.cur.isOp(0, "("):
		return r.cur.in(func() bool { return r.cur.list(r.q.orderItem) })
	case t.kind == 'w' && r.cur.isOp(1, "(") && !sqlTypes[t.text] && !sqlFunctions[t.text] && !sqlWordsOfTables[t.text]:
		return false
	}
	r.cur.i++
	return true
}

func (r *sqlReader) alter() bool {
	r.q.effect |= SQLWrites
	if !r.cur.word("table") {
		return false
	}
	r.cur.words("if", "exists")
	r.cur.word("only")
	if !r.q.table() {
		return false
	}
	switch {
	case r.cur.word("drop"):
		r.q.effect |= SQLDestroys
		return r.names()
	case r.cur.word("rename"):
		return r.names()
	case r.cur.word("add"):
		r.cur.word("column")
		r.cur.words("if", "not", "exists")
		for !r.ended() {
			if t := r.cur.at(0); t.kind == 'o' && t.text != "(" && t.text != ")" && t.text != "," || t.kind == 'w' && r.cur.isOp(1, "(") && !sqlTypes[t.text] ||
				r.cur.is(0, "select", "drop") || t.kind == 'q' && r.cur.isOp(1, "(") {
				return false
			}
			r.cur.i++
		}
		return true
	}
	return false
}
