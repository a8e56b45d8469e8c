package embedded

import "strings"

// bind finds what the code binds. It reads the import statements, and replaces them by line ends. inside counts the
// texts around the tokens, which then hold no statements.
func (r *pyReader) bind(list []pyToken, inside int) bool {
	begin := 0 // of the statement
	for i := 0; i < len(list); i++ {
		switch t := list[i]; {
		case t.kind == 's':
			for _, hole := range t.holes {
				tokens, ok := pyTokens(hole)
				if !ok || inside > 2 || !r.bind(tokens, inside+1) {
					return false
				}
				list[i].inner = append(list[i].inner, tokens)
			}
		case t.kind == 'n', t.depth == 0 && (t.is(";") || t.is(":")):
			begin = i + 1
		case (t.is("import") || t.is("from")) && i == begin && inside == 0:
			end := i
			for list[end].kind != 'n' && !list[end].is(";") {
				end++
			}
			if !r.imports(list[i:end]) {
				return false
			}
			for ; i < end; i++ {
				list[i] = pyToken{kind: 'n'}
			}
			begin = i + 1
		default:
			r.binds(list, i, begin)
		}
	}
	return true
}

// binds records the names that the keyword or operator at i binds, in a statement that starts at begin.
func (r *pyReader) binds(list []pyToken, i, begin int) {
	switch t := list[i]; {
	case t.is("=") && t.depth == 0:
		r.targets(list[begin : i+1])
	case t.is("for"):
		end := i
		for list[end].kind != 'n' && !list[end].is("in") {
			end++
		}
		r.targets(list[i : end+1])
	case pyAssigns[t.text] && i > 0:
		r.bound[list[i-1].text]++
	case t.is("as"):
		r.bound[list[i+1].text]++
	case t.is("def"), t.is("lambda"):
		r.parameters(list[i:])
	}
}

// pyAssigns lists the operators, besides =, that assign to the name before them.
var pyAssigns = names("**= //= >>= <<= := += -= *= /= %= &= |= ^= @=")

// distinct reports whether no name that the code binds or imports means something else too.
func (r *pyReader) distinct() bool {
	seen := map[string]bool{}
	once := func(name string, builtin bool) bool {
		before := seen[name] || pyKeywords[name] || pyHidden[name] || pyException(name) || builtin && pyBuiltins[name]
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
		if !once(name, name == "print") { // math has a pow too
			return false
		}
	}
	return true
}

// parameters records the parameters of a function, and its name.
func (r *pyReader) parameters(list []pyToken) {
	for i := 1; list[i].kind != 'n' && !(list[i].is(":") && list[i].depth == list[0].depth); i++ {
		if before := list[i-1]; list[i].kind == 'a' && (i == 1 || before.is("(") || before.is(",") || before.kind == '*') {
			r.bound[list[i].text]++
		}
	}
}

// targets records the names that an assignment or a loop binds. The last token ends the targets.
func (r *pyReader) targets(list []pyToken) {
	for i, t := range list[:len(list)-1] {
		switch list[i+1].text {
		case ",", "=", "in", ")", "]":
			if t.kind == 'a' && !pyKeywords[t.text] && !(i > 0 && list[i-1].is(".")) {
				r.bound[t.text]++
			}
		}
	}
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

// imports reads an import statement.
func (r *pyReader) imports(list []pyToken) bool {
	p := pyImport{list: list}
	if p.take("from") {
		return r.importsNames(&p)
	}
	p.take("import")
	for {
		module := p.module()
		as, _, _ := strings.Cut(module, ".")
		if pyModules[module] == nil && !pyPackages[as] {
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

// importsNames reads an import statement behind "from".
func (r *pyReader) importsNames(p *pyImport) bool {
	module := p.module()
	first, _, _ := strings.Cut(module, ".")
	if !p.take("import") {
		return false
	}
	if p.i == len(p.list) {
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
		case pyPackages[first]:
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
