package embedded

import (
	"slices"
	"strings"
)

// sqlInfix are the operators between two operands.
var sqlInfix = strings.Fields("+ - * / % = == <> != < > <= >= || | & && << >> -> ->> ^ ~ ~* !~ !~* @> <@")

// expr reads an expression. How its operators bind makes no difference here.
func (r *sqlQuery) expr() bool {
	if r.depth++; r.depth > 60 {
		return false
	}
	defer func() { r.depth-- }()
	for {
		for r.word("not") || r.op("-") || r.op("+") || r.op("~") || r.op("!") {
		}
		if !r.operand() || !r.postfix() {
			return false
		}
		if more, ok := r.infix(); !more || !ok {
			return ok
		}
	}
}

// postfix reads the operators that stand behind an operand.
func (r *sqlQuery) postfix() bool {
	for {
		ok := true
		switch {
		case r.op("::"):
			ok = r.typeName()
		case r.word("collate"):
			ok = r.name()
		case r.word("isnull", "notnull"), r.words("not", "null"):
		case r.words("at", "time", "zone"):
			ok = r.operand()
		case r.word("is"):
			r.word("not")
			ok = !r.words("distinct", "from") && r.word("null", "true", "false", "unknown", "json") || r.operand()
		default:
			return true
		}
		if !ok {
			return false
		}
	}
}

// infix reads the operator between two operands. more says that there is one.
func (r *sqlQuery) infix() (more, ok bool) {
	switch t := r.at(0); {
	case t.kind == 'o' && slices.Contains(sqlInfix, t.text):
		r.i++
		if r.is(0, "any", "some", "all") && r.isOp(1, "(") {
			r.i++
		}
	case r.word("and", "or", "xor", "div", "mod", "regexp", "rlike", "glob", "match", "escape", "between", "like", "ilike", "in"):
	case r.words("similar", "to"):
	case r.is(0, "not") && r.is(1, "in", "like", "ilike", "between", "regexp", "rlike", "glob", "match", "similar"):
		r.i += 2
		return true, r.at(-1).text != "similar" || r.word("to")
	default:
		return false, true
	}
	return true, true
}

// operand reads a value.
func (r *sqlQuery) operand() bool {
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
		return r.reference()
	case r.word("case"):
		return r.cases()
	case t.kind == 'w' && r.isOp(1, "("):
		return r.function()
	}
	return false
}

// reference reads a column, a constant that has a name, or a value with its type: x'00', date '2026-01-01', interval '1
// day'.
func (r *sqlQuery) reference() bool {
	t := r.at(0)
	switch {
	case t.kind == 'w' && r.at(1).kind == 's':
		r.i += 2
		if t.text == "interval" {
			r.word("year", "month", "week", "day", "hour", "minute", "second")
		}
		return true
	case t.kind == 'w' && t.text == "interval" && r.at(1).kind == 'n':
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
}

func (r *sqlQuery) cases() bool {
	if !r.is(0, "when") && !r.expr() {
		return false
	}
	for r.word("when") {
		if !r.expr() || !r.word("then") || !r.expr() {
			return false
		}
	}
	return r.clause("else", r.expr) && r.word("end")
}

// function reads a call of a function that is known, with what may follow it.
func (r *sqlQuery) function() bool {
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
func (r *sqlQuery) arguments(name string) bool {
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
func (r *sqlQuery) window() bool {
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

func (r *sqlQuery) typeName() bool {
	n := 0
	for ; r.at(0).kind == 'w' && sqlTypes[r.at(0).text]; n++ {
		r.i++
		if r.isOp(0, "(") && !r.in(func() bool { return r.list(r.size) }) {
			return false
		}
	}
	return n > 0
}

func (r *sqlQuery) size() bool {
	if r.at(0).kind == 'n' || r.is(0, "max") {
		r.i++
		return true
	}
	return false
}
