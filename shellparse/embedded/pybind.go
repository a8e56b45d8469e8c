package embedded

import "strings"

// pyPlace tells where in the code bind is.
type pyPlace struct {
	begin   int // of the statement, or -1 in what follows an annotated name
	lambdas int // how many outside brackets whose colon is still to come
}

// bind finds what the code binds. It reads the import statements, and replaces them by line ends. inside counts the
// texts around the tokens, which then hold no statements.
func (r *pyReader) bind(list []pyToken, inside int) bool {
	p := pyPlace{}
	for i := 0; i < len(list); i++ {
		ok := true
		switch t := list[i]; {
		case t.kind == 's':
			ok = r.bindHoles(&list[i], inside)
		case t.kind == 'n', t.depth == 0 && (t.is(";") || t.is(":")):
			ok = r.divides(list, i, &p)
		case t.is("case") && i == p.begin && !list[i+1].is("="): // its patterns bind names
			return false
		case (t.is("import") || t.is("from")) && i == p.begin && inside == 0:
			ok = r.imports(list[i:])
		case t.is("lambda") && t.depth == 0:
			p.lambdas++
			r.parameters(list[i:])
		default:
			ok = r.binds(list, i, p.begin)
		}
		if !ok {
			return false
		}
	}
	return true
}

// bindHoles finds what the expressions in a text bind.
func (r *pyReader) bindHoles(t *pyToken, inside int) bool {
	for _, hole := range t.holes {
		tokens, ok := pyTokens(hole)
		if !ok || inside > 2 || !r.bind(tokens, inside+1) {
			return false
		}
		t.inner = append(t.inner, tokens)
	}
	return true
}

// divides moves the place behind the line end, semicolon or colon at i, and records what is annotated before a colon.
func (r *pyReader) divides(list []pyToken, i int, p *pyPlace) bool {
	switch begin := p.begin; {
	case list[i].is(":") && p.lambdas > 0:
		p.lambdas--
	case list[i].is(":") && begin >= 0 && begin < i && !pyKeywords[list[begin].text]:
		p.begin = -1
		return r.assigns(list, i, begin)
	default:
		*p = pyPlace{begin: i + 1}
	}
	return true
}

// assigns records what the statement that starts at begin assigns to with the operator at i.
func (r *pyReader) assigns(list []pyToken, i, begin int) bool {
	if begin < 0 { // the annotated name is recorded
		return true
	}
	equals := i
	if list[i].is(":") && list[i+1].kind == 'a' { // p: str = 'a'
		equals += 2
	}
	if i == begin+1 && list[equals].is("=") {
		r.holds[list[begin].text] = r.held(list[equals+1:])
	}
	return r.targets(list[begin : i+1])
}

// held reads the value of an assignment, if it is a plain text or the Path of one.
func (r *pyReader) held(value []pyToken) []string {
	brackets := 0
	if t := value[0]; t.kind == 'a' && strings.HasSuffix(r.openers[t.text], "Path") {
		value, brackets = value[1:], 1
	} else if r.modules[t.text] == "pathlib" && value[1].is(".") && value[2].is("Path") {
		value, brackets = value[3:], 1
	}
	if len(value) < 2+2*brackets || brackets > 0 && !(value[0].is("(") && value[2].is(")")) {
		return nil
	}
	if text, end := value[brackets], value[1+2*brackets]; text.plain && (end.kind == 'n' || end.is(";")) {
		return []string{text.text}
	}
	return nil
}

// binds records the names that the keyword or operator at i binds, in a statement that starts at begin. It reports
// false if it cannot tell which.
func (r *pyReader) binds(list []pyToken, i, begin int) bool {
	switch t := list[i]; {
	case pyAssigns[t.text] && t.kind != 's' && t.depth == 0:
		return r.assigns(list, i, begin)
	case t.is(":=") && i > 0:
		r.bound[list[i-1].text]++
	case t.is("for"):
		return r.loops(list[i:])
	case t.is("as"):
		if list[i+1].kind != 'a' || list[i+2].is(".") || list[i+2].is("[") {
			return false
		}
		r.bound[list[i+1].text]++
	case t.is("def"), t.is("lambda"):
		r.parameters(list[i:])
	}
	return true
}

// loops records what a loop binds.
func (r *pyReader) loops(list []pyToken) bool {
	end := 0
	for list[end].kind != 'n' && !(list[end].is("in") && list[end].depth == list[0].depth) {
		end++
	}
	if through := list[end:]; end == 2 && list[1].kind == 'a' && through[0].is("in") {
		r.holds[list[1].text] = pyListOf(through[1:])
		r.given[list[1].text] = len(through) > 8 && isArguments(through[1:]) && through[6].is(":") && through[7].is("]") && endsLoop(through[8])
	}
	return r.targets(list[:end+1])
}

// isArguments reports whether the tokens are sys.argv and a bracket.
func isArguments(list []pyToken) bool {
	return list[0].is("sys") && list[1].is(".") && list[2].is("argv") && list[3].is("[")
}

// endsLoop reports whether a token ends what a loop goes through.
func endsLoop(t pyToken) bool { return t.is(":") || t.is("]") || t.is(")") }

// pyAssigns lists the operators that assign to what a statement begins with.
var pyAssigns = names("= **= //= >>= <<= += -= *= /= %= &= |= ^= @=")

// distinct reports whether no name that the code binds or imports means something else too.
func (r *pyReader) distinct() bool {
	seen := map[string]bool{}
	once := func(name string, builtin bool) bool {
		before := seen[name] || strings.HasPrefix(name, "__") || pyKeywords[name] || pyHidden[name] || pyException(name) || builtin && pyBuiltins[name]
		seen[name] = true
		return !before
	}
	for name := range r.openers {
		if !once(name, true) {
			return false
		}
	}
	for name := range r.modules {
		if !once(name, true) {
			return false
		}
	}
	for name := range r.unused {
		if !once(name, true) {
			return false
		}
	}
	for name := range r.bound {
		if !once(name, true) {
			return false
		}
	}
	for name := range r.values {
		if !pyException(name) && !once(name, pyChecked[name]) { // math has a pow too
			return false
		}
	}
	return true
}

// parameters records the parameters of a function, and its name.
func (r *pyReader) parameters(list []pyToken) {
	colons := 1 // of this function and of lambdas in its defaults
	for i := 1; list[i].kind != 'n' && colons > 0; i++ {
		switch before := list[i-1]; {
		case list[i].is("lambda") && list[i].depth == list[0].depth:
			colons++
		case list[i].is(":") && list[i].depth == list[0].depth:
			colons--
		case list[i].kind == 'a' && (i == 1 || before.is("(") || before.is(",") || before.kind == '*'):
			r.bound[list[i].text]++
		}
	}
}

// targets records the names that an assignment or a loop binds. The last token ends the targets. It reports false if
// they set an attribute that is not in pyStores.
func (r *pyReader) targets(list []pyToken) bool {
	for i := 0; i < len(list)-1; i++ {
		before, t := pyToken{}, list[i]
		if i > 0 {
			before = list[i-1]
		}
		switch {
		case (t.is("[") || t.is("(")) && endsValue(before): // an index or arguments: they bind nothing
			for i++; i < len(list)-1 && list[i].depth > t.depth; i++ {
			}
		case t.kind != 'a' || pyKeywords[t.text]:
		case t.is("argv"), before.is(".") && endsTarget(list[i+1]) && !pyStores[t.text]:
			return false
		case !before.is(".") && endsTarget(list[i+1]):
			r.bound[t.text]++
		}
	}
	return true
}

// endsValue reports whether a value can end with a token.
func endsValue(t pyToken) bool {
	return t.kind == 's' || t.kind == '0' || t.kind == 'a' && !pyKeywords[t.text] || t.kind == ')' || t.kind == ']' || t.kind == '}'
}

// endsTarget reports whether a token follows a target.
func endsTarget(t pyToken) bool {
	return pyAssigns[t.text] || t.is(",") || t.is("in") || t.is(")") || t.is("]") || t.is(":")
}

// pyImport is an import statement, and how far it has been read.
type pyImport struct {
	list []pyToken
	i    int
}

// take takes the next token if it is this one.
func (p *pyImport) take(text string) bool {
	if p.i == len(p.list) || !p.list[p.i].is(text) {
		return false
	}
	p.i++
	return true
}

// word takes a name, or returns "".
func (p *pyImport) word() string {
	if p.i == len(p.list) || p.list[p.i].kind != 'a' {
		return ""
	}
	p.i++
	return p.list[p.i-1].text
}

// module takes the name of a module.
func (p *pyImport) module() string {
	name := p.word()
	for p.take(".") {
		name += "." + p.word()
	}
	return name
}

// imports reads the import statement that the tokens begin with, and replaces it.
func (r *pyReader) imports(list []pyToken) bool {
	end := 0
	for list[end].kind != 'n' && !list[end].is(";") {
		end++
	}
	ok := r.importsModules(list[:end])
	for i := range end {
		list[i] = pyToken{kind: 'n'}
	}
	return ok
}

// importsModules reads an import statement.
func (r *pyReader) importsModules(list []pyToken) bool {
	p := pyImport{list: list}
	if p.take("from") {
		return r.importsNames(&p)
	}
	p.take("import")
	for {
		module := p.module()
		as, _, _ := strings.Cut(module, ".")
		r.imported[as] = true
		if pyModules[module] == nil && !pyPackages[as] || runsItself(module) {
			return false
		}
		if p.take("as") {
			as = p.word()
		} else {
			module = as
		}
		if other := r.modules[as]; as == "" || other != "" && other != module {
			return false
		}
		r.modules[as] = module
		if !p.take(",") {
			return p.i == len(list)
		}
	}
}

// runsItself reports whether importing a module runs a program.
func runsItself(module string) bool { return strings.Contains(module, "__main__") }

// importsNames reads an import statement behind "from".
func (r *pyReader) importsNames(p *pyImport) bool {
	module := p.module()
	first, _, _ := strings.Cut(module, ".")
	r.imported[first] = true
	if !p.take("import") || p.i == len(p.list) {
		return false
	}
	bracket := p.take("(")
	for what := p.word(); what != ""; what = p.word() {
		as, full := what, module+"."+what
		if p.take("as") {
			as = p.word()
		}
		switch {
		case pyModules[full] != nil && (r.modules[as] == "" || r.modules[as] == full):
			r.modules[as] = full
		case pyOpeners[full] && (r.openers[as] == "" || r.openers[as] == full):
			r.openers[as] = full
		case pyModules[module][what]:
			r.values[as] = true
			r.raises = r.raises || what == "PackageNotFoundError"
			r.leaks = r.leaks || full == "sys.argv"
		case pyPackages[first] && !runsItself(full):
			r.unused[as] = true
		default:
			return false
		}
		if !p.take(",") {
			break
		}
	}
	return (!bracket || p.take(")")) && p.i == len(p.list)
}
