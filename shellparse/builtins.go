package shellparse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/programs"
)

// declaration is a use of export, declare, local, readonly or typeset.
type declaration struct {
	a     *analysis
	c     *call
	name  string // of the builtin
	flags string // the options so far
}

// declare analyses export, declare, local, readonly and typeset, which the parser takes for syntax. It is
// recorded as a command only where it does something that a rule has to cover.
func (a *analysis) declare(cmd *syntax.DeclClause, sc *scope) {
	argv := []word{lit(cmd.Variant.Value)}
	c := &call{sc: sc, raw: sc.raw}
	if c.raw == "" {
		c.raw = sc.text(cmd)
	}
	d := declaration{a: a, c: c, name: cmd.Variant.Value}
	for _, as := range cmd.Args {
		argv = append(argv, d.word(as))
	}
	flags := d.flags
	if strings.Contains(flags, "A") && sc.sure && sc.start {
		for _, as := range cmd.Args {
			if as.Name != nil {
				a.keyed[as.Name.Value] = true
			}
		}
	}
	if strings.Contains(flags, "f") && cmd.Variant.Value == "export" {
		a.poison("export -f")
		argv = append(argv[:1:1], lit("-f"))
		a.emit(&call{argv: argv, raw: c.raw, sc: sc})
		return
	}
	if strings.Contains(flags, "n") && !strings.Contains(flags, "+n") && cmd.Variant.Value != "export" {
		a.problem("dynamic", "A name reference can run code: "+quote(c.raw)+".")
	}
	if listing := len(cmd.Args) == 0 || strings.Contains(flags, "p"); listing {
		a.emit(&call{argv: argv, raw: c.raw, sc: sc})
	}
}

// word analyses one word of a declaration and returns it. An option is one of the flags for the words behind it.
func (d *declaration) word(as *syntax.Assign) word {
	a, sc := d.a, d.c.sc
	switch {
	case as.Naked && as.Name == nil:
		// An option, or a name that is not certain.
		a.nested(as.Value, sc)
		w := a.value(as.Value, sc)
		switch {
		case !w.known:
			a.problem("dynamic", "What "+d.name+" declares depends on "+quote(w.text)+".")
		case hasPrefix(w.text, "-", "+"):
			d.flags += w.text
		default:
			d.operand(w.text)
		}
		return w
	case as.Naked:
		name := as.Name.Value
		if e := a.envEffect(name, word{}); e != "" && (d.flags != "" || name != "PATH" && name != "HOME" && name != "SHELL") {
			a.poison(e)
		}
		return lit(name)
	}
	a.assign(as, d.c, false, sc)
	w := word{text: sc.text(as)}
	if as.Value == nil {
		return w
	}
	source := w.text
	if w = a.value(as.Value, sc); w.known {
		w.text = as.Name.Value + "=" + w.text
	} else {
		w.text = source
	}
	if strings.Contains(d.flags, "i") && !a.numericTest(as.Value, sc) {
		a.problem("dynamic", "An integer declaration evaluates its value, which can run code: "+quote(source)+".")
	}
	return w
}

// operand looks at a quoted operand, which is evaluated like an assignment.
func (d *declaration) operand(s string) {
	name, val, ok := strings.Cut(s, "=")
	if strings.ContainsAny(name, "[$`") || ok && strings.Contains(d.flags, "i") && !isNumber(val) {
		d.a.problem("dynamic", "An operand of "+d.name+" is evaluated, which can run code: "+quote(s)+".")
	}
	if e := d.a.envEffect(name, lit(val)); ok && e != "" {
		d.a.poison(e)
	}
}

// namesOnly says that a command substitution prints names, hashes or dates: nothing that begins with a dash.
func (a *reader) namesOnly(p *syntax.CmdSubst) bool { return a.prints(p, programs.PrintsName) }

// printsNumber says that a substitution prints one number.
func (a *reader) printsNumber(p *syntax.CmdSubst) bool {
	if !a.prints(p, programs.PrintsNumber) {
		return false
	}
	st := p.Stmts[0]
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok {
		st = b.Y
	}
	call := st.Cmd.(*syntax.CallExpr)
	name, _ := unquoted(call.Args[0])
	counts := name != "git"
	for _, w := range call.Args[1:] {
		l, _ := unquoted(w)
		counts = counts || l == "--count"
		if name == "wc" && !strings.HasPrefix(l, "-") {
			return false // it prints the file's name too
		}
		if name == "seq" && strings.HasPrefix(l, "-") && !isNumber(l[1:]) {
			return false // -f and -s print what they are given
		}
	}
	return counts
}

// prints says that a substitution is one plain command that prints this.
func (a *reader) prints(p *syntax.CmdSubst, what programs.Trait) bool {
	if len(p.Stmts) != 1 {
		return false
	}
	st := p.Stmts[0]
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		st = b.Y
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	name, _ := unquoted(call.Args[0])
	if _, defined := a.bodies[name]; defined {
		return false
	}
	rest := call.Args[1:]
	sub := ""
	if len(rest) > 0 {
		sub, _ = unquoted(rest[0])
	}
	if sub != "" && programs.Find(name, sub).Has(what) {
		rest = rest[1:]
	} else if !programs.Find(name).Has(what) {
		return false
	}
	for _, w := range rest {
		// What formats or echoes its words could print anything.
		l, _ := unquoted(w)
		if programs.Find(name).Has(programs.TakesFormats) && l == "" && !quotedPlain(w) {
			return false
		}
		if l == "--all" || hasPrefix(l, "--format", "--pretty", "+-", "--sq", "--parseopt", "-f") {
			return name == "git" && (strings.Contains(l, "%H") || strings.Contains(l, "%h"))
		}
	}
	return true
}

func quotedPlain(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return !p.Dollar && !strings.HasPrefix(p.Value, "-") && !strings.HasPrefix(p.Value, "+")
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			if _, ok := q.(*syntax.Lit); !ok {
				return false
			}
		}
		return true
	}
	return false
}

// evaluated says that a word is a variable name with a subscript, which a builtin evaluates as arithmetic: the
// subscript can run commands. A name that is not known can be one.
func evaluated(w word) bool {
	return !w.known || strings.IndexByte(w.text, '[') >= 0
}

// evaluates reports that a builtin evaluates a word.
func evaluates(a *analysis, c *call, w word) {
	a.problem("dynamic", c.name+" evaluates "+quote(w.text)+", which can run code.")
}

// inspectTest looks at test and [: -v and -R evaluate subscripts, and -eq and its kin evaluate nothing but
// numbers there.
func inspectTest(a *analysis, c *call, _ *scanned) {
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if w.known && (w.text == "-v" || w.text == "-R") && i+1 < len(c.argv) && evaluated(c.argv[i+1]) {
			evaluates(a, c, c.argv[i+1])
		}
		if !w.known && w.many && !w.files && i+1 < len(c.argv)-1 {
			if next := c.argv[i+1]; !next.known || strings.ContainsAny(next.text, "[$`") && next.text != "[" {
				evaluates(a, c, next)
			}
		}
	}
}

// namesOption looks at an option with a value of a builtin whose operands are variable names.
func (a *analysis) namesOption(c *call, option byte, value word) {
	if option == 'a' || option == 'p' {
		a.forget(value)
	}
	switch {
	case option == 'C':
		a.callback(c, value)
	case (option == 'a' || option == 'p' && c.name == "wait") && evaluated(value):
		evaluates(a, c, value)
	}
}

// inspectNames looks at builtins whose operands are variable names: read, unset, mapfile, getopts, wait -p.
func inspectNames(a *analysis, c *call, _ *scanned) {
	takes := map[string]string{"read": "adinNptu", "mapfile": "dnOsucC", "readarray": "dnOsucC", "unset": "", "getopts": "", "wait": "p"}[c.name]
	skip := 0
	if c.name == "getopts" {
		skip = 1
	}
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if w.known && len(w.text) > 1 && w.text[0] == '-' {
			k := 1 + strings.IndexAny(w.text[1:], takes)
			if k == 0 {
				continue
			}
			v := lit(w.text[k+1:])
			if v.text == "" && i+1 < len(c.argv) {
				i++
				v = c.argv[i]
			}
			a.namesOption(c, w.text[k], v)
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if c.name == "wait" {
			if !w.safe() { // it may be -p
				a.forget(word{})
			}
			continue
		}
		if c.name == "unset" {
			delete(a.funcs, w.text)
		} else if in := c.sc.input.text; !in.known {
			a.copies(w.text, in.text)
		}
		a.forget(w)
		if evaluated(w) {
			evaluates(a, c, w)
		} else {
			a.sets(w.text, word{})
		}
	}
}

// forget notes that a builtin assigns to the variable of this name, however the text wrote the builtin. What a
// loop or a function has run before it may run again with the new value.
func (a *reader) forget(name word) {
	if a.once == nil {
		return // a shell that has run no text knows nothing
	}
	if a.repeats && (!name.known && len(a.vars) > 0 || a.once[name.text] == 1) {
		a.problem("dynamic", "A variable changes where the text may run again: "+quote(name.text)+".")
	}
	if name.known {
		a.once[name.text] = 2
		delete(a.vars, name.text)
		return
	}
	a.once[anything]++
	clear(a.vars)
}

// callback runs the text that a builtin calls later.
func (a *analysis) callback(c *call, v word) {
	in := c.inner(c.argv, c.name+" -C")
	in.reads, in.writes = nil, nil
	a.scriptWords(in, []word{v})
	a.problem("dynamic", c.name+" calls "+quote(v.text)+" with words that are not known.")
}

// inspectPrintf looks at printf -v, which assigns.
func inspectPrintf(a *analysis, c *call, _ *scanned) {
	if len(c.argv) < 2 {
		return
	}
	w := c.argv[1]
	if !w.known {
		if strings.HasPrefix(w.head, "-v") {
			evaluates(a, c, w)
		}
		if !w.safe() && !w.files {
			c.effect("word " + w.text)
		}
		return
	}
	if !strings.HasPrefix(w.text, "-v") {
		return
	}
	v := lit(w.text[2:])
	if v.text == "" && len(c.argv) > 2 {
		v = c.argv[2]
	}
	a.forget(v)
	if evaluated(v) {
		evaluates(a, c, v)
	} else {
		a.sets(v.text, word{})
	}
}

// inspectLet looks at let, when it is reached as a command, and at the arithmetic that other builtins do.
func inspectLet(a *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if !w.known || strings.ContainsAny(w.text, "[$`") {
			evaluates(a, c, w)
		}
	}
}

// inspectSet notes the shell options that run or reveal something.
func inspectSet(a *analysis, c *call, _ *scanned) {
	if len(c.argv) == 1 {
		c.effect("prints the environment")
	}
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if !w.known && !w.safe() {
			c.effect("word " + w.text)
			return
		}
		if w.text == "--" || w.text == "-" || len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+' {
			for _, v := range c.argv[i:] {
				a.gives("@", v)
			}
			return
		}
		for k := 1; k < len(w.text); k++ {
			switch w.text[k] {
			case 'x', 'v':
				if a.assigned["PS4"] {
					a.problem("dynamic", "set -x expands PS4, which can run code.")
				}
			case 'o':
				if i++; i < len(c.argv) {
					c.setsOption(c.argv[i].text)
				}
			case 'a', 'k':
				c.effect("option -" + w.text[k:k+1])
			}
		}
	}
}

// setsOption notes an option that set -o names.
func (c *call) setsOption(name string) {
	if !harmlessSet[name] && name != "xtrace" && name != "verbose" {
		c.effect("option -o " + name)
	}
}

// inspectState notes builtins that change what later words mean, or store commands for later.
func inspectState(a *analysis, c *call, _ *scanned) {
	if len(c.argv) == 1 {
		return
	}
	poison := func(text string, poisons func(w word) bool) {
		if slices.ContainsFunc(c.argv[1:], poisons) {
			a.poison(text)
		}
	}
	switch c.name {
	case "alias":
		a.inspectAlias(c)
	case "hash":
		poison("hash", func(w word) bool { return !w.known || strings.HasPrefix(w.text, "-p") })
	case "enable":
		poison("enable", func(w word) bool { return !w.known || strings.HasPrefix(w.text, "-") })
	case "shopt":
		poison("shopt "+texts(c.argv[1:]), func(w word) bool { return !w.known || !strings.HasPrefix(w.text, "-") && !harmlessSet[w.text] })
	case "jobs":
		if c.argv[1].text == "-x" && len(c.argv) > 2 {
			in := c.inner(c.argv[2:], "jobs -x")
			in.reads, in.writes = nil, nil
			a.run(in)
		}
	case "history":
		a.inspectHistory(c)
	default:
		a.inspectStored(c)
	}
}

// inspectAlias analyses what aliases run.
func (a *analysis) inspectAlias(c *call) {
	for _, w := range c.argv[1:] {
		name, val, ok := strings.Cut(w.text, "=")
		if !ok && w.known {
			continue
		}
		a.poison("alias " + name)
		if w.known {
			in := c.inner(c.argv, "alias "+name)
			in.reads, in.writes = nil, nil
			a.fresh(func() { a.script1(in, val) })
		}
	}
}

func (a *analysis) inspectHistory(c *call) {
	for _, w := range c.argv[1:] {
		if !w.known || strings.Trim(w.text, "-wanrsp") == "" {
			c.effect("option " + w.text)
		}
	}
	if !c.argv[1].known {
		c.effect("builtin " + c.name)
	}
}

// inspectStored analyses builtins that store a command, such as complete -C.
func (a *analysis) inspectStored(c *call) {
	for i, w := range c.argv[1:] {
		if !w.known || strings.HasPrefix(w.text, "-") {
			c.effect("option " + w.text)
		}
		if c.name != "complete" && c.name != "compgen" || !w.known || w.text != "-C" && w.text != "-W" || i+2 >= len(c.argv) {
			continue
		}
		if v := c.argv[i+2]; v.known && w.text == "-C" {
			a.callback(c, v)
		} else if !v.known || strings.ContainsAny(v.text, "$`") {
			evaluates(a, c, v)
		}
	}
	c.effect("builtin " + c.name)
}
