package embedded

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
	if r.words("on", "conflict") && !r.conflict() || r.words("on", "duplicate", "key", "update") && !r.list(r.assignment) {
		return false
	}
	return r.returning()
}

// conflict reads what happens to a row that is there already.
func (r *sqlReader) conflict() bool {
	if r.isOp(0, "(") && !r.in(func() bool { return r.list(r.expr) }) || r.words("on", "constraint") && !r.name() {
		return false
	}
	if !r.clause("where", r.expr) || !r.word("do") {
		return false
	}
	return r.word("nothing") || r.words("update", "set") && r.list(r.assignment) && r.clause("where", r.expr)
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
	switch {
	case r.word("table"):
		if replaced {
			r.effect |= SQLDestroys
		}
		return r.createTable()
	case r.is(0, "index"), r.is(0, "unique") && r.is(1, "index"):
		r.word("unique")
		r.i++
		return r.createIndex()
	case r.word("view"):
		r.unless()
		return r.table() && r.columns() && r.word("as") && r.query()
	case !replaced && r.word("schema", "database"):
		r.unless()
		return r.name()
	}
	return false
}

// unless reads the words that make a statement do nothing where the thing is there.
func (r *sqlReader) unless() { r.words("if", "not", "exists") }

func (r *sqlReader) createTable() bool {
	r.unless()
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
	return r.clause("as", r.query)
}

func (r *sqlReader) createIndex() bool {
	r.word("concurrently")
	r.unless()
	if !r.is(0, "on") && !r.path() || !r.word("on") || !r.table() || !r.clause("using", r.name) {
		return false
	}
	return r.in(func() bool { return r.list(r.orderItem) }) && r.clause("where", r.expr)
}

// definitions reads the columns and constraints of a table: names, types and expressions, in whatever order.
func (r *sqlReader) definitions() bool {
	for !r.isOp(0, ")") {
		if !r.definition() {
			return false
		}
	}
	return true
}

// sqlWordsOfTables stand before a parenthesis in the definition of a table, and are neither type nor function.
var sqlWordsOfTables = map[string]bool{"key": true, "unique": true, "enum": true, "set": true}

// definition reads the next piece.
func (r *sqlReader) definition() bool {
	t := r.at(0)
	switch {
	case t.kind == 0 || r.isOp(0, ";"), t.kind == 'q' && r.isOp(1, "("), r.is(0, "select", "with"):
		return false
	case r.word("check", "default", "as") && r.isOp(0, "("):
		return r.in(r.expr)
	case r.word("references", "constraint", "key", "index", "unique") && !r.isOp(0, "("):
		if t := r.at(0); (t.kind == 'q' || t.kind == 'w' && !sqlReserved[t.text]) && r.isOp(1, "(") {
			r.i++
		}
		return true
	case r.isOp(0, "("):
		return r.in(func() bool { return r.list(r.orderItem) })
	case t.kind == 'w' && r.isOp(1, "(") && !sqlTypes[t.text] && !sqlFunctions[t.text] && !sqlWordsOfTables[t.text]:
		return false
	}
	r.i++
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
