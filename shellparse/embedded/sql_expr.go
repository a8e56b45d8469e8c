package embedded

import (
	"slices"
	"strings"
)

// sqlInfix lists the operators between two operands.
var sqlInfix = strings.Fields("+ - * / % = == <> != < > <= >= || | & && << >> -> ->> ^ ~ ~* !~ !~* @> <@")

// expr reads an expression. The precedence of its operators makes no difference here.
func (r *sqlQuery) expr() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	for {
		for r.cur.word("not") || r.cur.op("-") || r.cur.op("+") || r.cur.op("~") || r.cur.op("!") {
		}
		if !r.operand() || !r.postfix() {
			return false
		}
		if more, ok := r.infix(); !more || !ok {
			return ok
		}
	}
}

// postfix reads the operators after an operand.
func (r *sqlQuery) postfix() bool {
	for {
		ok := true
		switch {
		case r.cur.op("::"):
			ok = r.typeName()
		case r.cur.word("collate"):
			ok = r.cur.name()
		case r.cur.word("isnull", "notnull"), r.cur.words("not", "null"):
		case r.cur.words("at", "time", "zone"):
			ok = r.operand()
		case r.cur.word("is"):
			r.cur.word("not")
			ok = !r.cur.words("distinct", "from") && r.cur.word("null", "true", "false", "unknown", "json") || r.operand()
		default:
			return true
		}
		if !ok {
			return false
		}
	}
}

// infix reads the operator between two operands. more reports whether there is one.
func (r *sqlQuery) infix() (more, ok bool) {
	switch t := r.cur.at(0); {
	case t.kind == 'o' && slices.Contains(sqlInfix, t.text):
		r.cur.i++
		if r.cur.is(0, "any", "some", "all") && r.cur.isOp(1, "(") {
			r.cur.i++
		}
	case r.cur.word("and", "or", "xor", "div", "mod", "regexp", "rlike", "glob", "match", "escape", "between", "like", "ilike", "in"):
	case r.cur.words("similar", "to"):
	case r.cur.is(0, "not") && r.cur.is(1, "in", "like", "ilike", "between", "regexp", "rlike", "glob", "match", "similar"):
		r.cur.i += 2
		return true, r.cur.at(-1).text != "similar" || r.cur.word("to")
	default:
		return false, true
	}
	return true, true
}

// operand reads a value.
func (r *sqlQuery) operand() bool {
	t := r.cur.at(0)
	switch {
	case t.kind == 'n' || t.kind == 's':
		r.cur.i++
		return true
	case r.cur.isOp(0, "("):
		return r.cur.in(func() bool {
			if r.cur.is(0, "select", "with", "values") {
				return r.query()
			}
			return r.cur.isOp(0, ")") || r.cur.list(r.expr)
		})
	case t.kind == 'q' && !r.cur.isOp(1, "("), t.kind == 'w' && !r.cur.isOp(1, "(") && !sqlReserved[t.text]:
		return r.reference()
	case r.cur.word("case"):
		return r.cases()
	case t.kind == 'w' && r.cur.isOp(1, "("):
		return r.function()
	}
	return false
}

// reference reads a column, a named constant, or a value with its type: x'00', date '2026-01-01', interval '1 day'.
func (r *sqlQuery) reference() bool {
	t := r.cur.at(0)
	switch {
	case t.kind == 'w' && r.cur.at(1).kind == 's':
		r.cur.i += 2
		if t.text == "interval" {
			r.cur.word("year", "month", "week", "day", "hour", "minute", "second")
		}
		return true
	case t.kind == 'w' && t.text == "interval" && r.cur.at(1).kind == 'n':
		r.cur.i += 2
		return r.cur.name()
	}
	r.named = r.named || t.kind == 'q' || !r.cur.is(0, "true", "false", "null", "current_timestamp", "current_date", "current_time")
	r.cur.i++
	for r.cur.op(".") {
		if r.cur.op("*") {
			return true
		}
		if !r.cur.name() {
			return false
		}
	}
	return !r.cur.isOp(0, "(")
}

func (r *sqlQuery) cases() bool {
	if !r.cur.is(0, "when") && !r.expr() {
		return false
	}
	for r.cur.word("when") {
		if !r.expr() || !r.cur.word("then") || !r.expr() {
			return false
		}
	}
	return r.clause("else", r.expr) && r.cur.word("end")
}

// function reads a call of a known function, with what may follow it.
func (r *sqlQuery) function() bool {
	name := r.cur.at(0).text
	if !sqlFunctions[name] {
		return false
	}
	r.cur.i += 2
	if !r.cur.op(")") && !((r.cur.op("*") || r.arguments(name)) && r.cur.op(")")) {
		return false
	}
	if sqlParametric[name] && r.cur.op("(") && (!r.arguments(name) || !r.cur.op(")")) {
		return false
	}
	if r.cur.words("within", "group") && !r.cur.in(r.tail) {
		return false
	}
	if r.cur.is(0, "filter") && r.cur.isOp(1, "(") {
		r.cur.i++
		if !r.cur.in(func() bool { return r.cur.word("where") && r.expr() }) {
			return false
		}
	}
	if r.cur.word("ignore", "respect") && !r.cur.word("nulls") {
		return false
	}
	if r.cur.word("over") {
		if r.cur.isOp(0, "(") {
			return r.window()
		}
		return r.cur.name()
	}
	return true
}

// arguments reads the arguments of a function, and the words that SQL puts between some of them.
func (r *sqlQuery) arguments(name string) bool {
	if r.cur.is(0, "select", "with") {
		return r.query()
	}
	r.cur.word("distinct", "all", "both", "leading", "trailing")
	if name == "extract" {
		r.cur.i++
		return r.cur.word("from") && r.expr()
	}
	for {
		if !r.cur.word("from") && !r.expr() {
			return false
		}
		switch {
		case r.cur.word("as"):
			return r.typeName()
		case name == "convert" && r.cur.word("using"):
			return r.cur.name()
		case r.cur.op(","):
		case (name == "substring" || name == "trim" || name == "overlay") && r.cur.word("from", "for", "placing"):
		case r.cur.word("separator"):
		default:
			return r.tail()
		}
	}
}

// window reads the definition of a window.
func (r *sqlQuery) window() bool {
	return r.cur.in(func() bool {
		if r.cur.words("partition", "by") && !r.cur.list(r.expr) || !r.tail() {
			return false
		}
		if r.cur.word("rows", "range", "groups") {
			for r.cur.at(0).kind == 'n' || r.cur.word("between", "unbounded", "preceding", "and", "current", "row", "following") {
				if r.cur.at(0).kind == 'n' {
					r.cur.i++
				}
			}
		}
		return true
	})
}

func (r *sqlQuery) typeName() bool {
	n := 0
	for ; r.cur.at(0).kind == 'w' && sqlTypes[r.cur.at(0).text]; n++ {
		r.cur.i++
		if r.cur.isOp(0, "(") && !r.cur.in(func() bool { return r.cur.list(r.size) }) {
			return false
		}
	}
	return n > 0
}

func (r *sqlQuery) size() bool {
	if r.cur.at(0).kind == 'n' || r.cur.is(0, "max") {
		r.cur.i++
		return true
	}
	return false
}
