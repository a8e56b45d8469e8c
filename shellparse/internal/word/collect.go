package word

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
)

// collector finds all that a text assigns and defines: a variable counts as known only if nothing else can have changed
// it.
type collector struct {
	a          *Reader
	notNumbers map[string]bool
}

// Anything is the name under which changes of an unknown variable are counted.
const Anything = "*"

// Collect adds what a text assigns and defines to what is already known of the shell.
func (a *Reader) Collect(f *syntax.File, text string) {
	first := a.Shell.Assigned == nil
	if first {
		a.Shell.Assigned, a.Shell.Once, a.Shell.numbers = map[string]bool{}, map[string]int{}, map[string]bool{}
		a.Shell.bodies, a.Shell.Funcs, a.Shell.Vars, a.Shell.Keyed = map[string][]*syntax.Stmt{}, map[string]bool{}, map[string]Word{}, map[string]bool{}
	}
	if len(a.Shell.Once) == 0 && !maySet(text) {
		return
	}
	before, wandered := maps.Clone(a.Shell.Once), a.Shell.Wanders || first
	c := collector{a: a, notNumbers: map[string]bool{}}
	syntax.Walk(f, func(n syntax.Node) bool {
		c.node(n)
		return true
	})
	if a.Shell.Wanders && !wandered {
		a.Found.Problem("dynamic", "A text that is run sets a trap, which may also run between the commands before it.")
	}
	for name := range a.Shell.texts {
		if a.Evaluates(name) {
			a.Found.Problem("dynamic", "The shell evaluates what the integer variable "+findings.Quote(name)+" is given, which can run code.")
		}
	}
	for name := range a.Shell.Assigned {
		a.Shell.numbers[name] = !c.notNumbers[name] && a.Shell.Once[Anything] == 0
		if a.Shell.repeats && before[name] == 1 && (a.Shell.Once[name] > 1 || a.Shell.Once[Anything] > before[Anything]) {
			a.Found.Problem("dynamic", "A variable changes where the text may run again: "+findings.Quote(name)+".")
		}
	}
}

// maySet reports whether a text may assign or define anything.
func maySet(text string) bool {
	return strings.ContainsAny(text, "=({") || slices.ContainsFunc([]string{"for ", "select ", "read", " -", "do"}, func(part string) bool { return strings.Contains(text, part) })
}

// set records n assignments of a variable. More than one makes its value uncertain.
func (c *collector) set(name string, n int, number bool) {
	c.a.Shell.Assigned[name] = true
	c.a.Shell.Once[name] += n
	if c.a.Shell.Once[name] > 1 {
		delete(c.a.Shell.Vars, name)
	}
	if name == Anything {
		clear(c.a.Shell.Vars)
	}
	if !number {
		c.notNumbers[name] = true
	}
}

func (c *collector) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		c.command(n)
	case *syntax.DeclClause:
		c.declaration(n)
	case *syntax.WhileClause, *syntax.CStyleLoop:
		c.a.Shell.repeats = true
	case *syntax.WordIter:
		c.a.Shell.repeats = true
		number := len(n.Items) > 0
		for _, w := range n.Items {
			number = number && c.number(w)
		}
		c.set(n.Name.Value, 1, number)
		c.gives(n.Name.Value, number)
	case *syntax.ParamExp, *syntax.BinaryArithm, *syntax.UnaryArithm:
		c.expression(n)
	case *syntax.CoprocClause:
		if n.Name != nil {
			c.set(n.Name.Lit(), 2, false)
		}
	case *syntax.Redirect:
		if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
			c.set(strings.Trim(n.N.Value, "{}"), 2, true)
		}
	case *syntax.FuncDecl:
		c.a.Shell.repeats = true
		if n.Name != nil {
			c.a.Shell.bodies[n.Name.Value] = append(c.a.Shell.bodies[n.Name.Value], n.Body)
			c.a.Shell.Defined++
			c.set(n.Name.Value, 1, false)
		}
	}
}

// command records the assignments before a command, and what a builtin assigns.
func (c *collector) command(n *syntax.CallExpr) {
	for _, as := range n.Assigns {
		uses := 1
		if len(n.Args) > 0 || as.Append || as.Index != nil {
			uses = 2
		}
		c.assign(as, uses)
	}
	if len(n.Args) > 0 {
		c.builtin(n.Args)
	}
}

func (c *collector) declaration(n *syntax.DeclClause) {
	uses := 1
	if !keepsValues(n) {
		uses = 2
	}
	c.integers(n)
	c.a.Shell.Locks = c.a.Shell.Locks || n.Variant.Value == "readonly"
	for _, as := range n.Args {
		if as.Name == nil && as.Value != nil {
			c.a.Shell.Locks = c.a.Shell.Locks || !strings.HasPrefix(as.Value.Lit(), "-") || strings.Contains(as.Value.Lit(), "r")
		}
		if as.Name != nil {
			c.assign(as, uses)
		} else if as.Value == nil || !strings.HasPrefix(as.Value.Lit(), "-") {
			c.set(Anything, 1, false)
		}
	}
}

// expression records what an expansion or arithmetic assigns.
func (c *collector) expression(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ParamExp:
		if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			c.set(n.Param.Value, 2, c.number(n.Exp.Word))
			c.gives(n.Param.Value, c.number(n.Exp.Word))
		}
	case *syntax.BinaryArithm:
		if w, ok := n.X.(*syntax.Word); ok && (Assigns(n.Op) || n.Op >= syntax.AddAssgn && n.Op <= syntax.ShrAssgn) {
			c.set(w.Lit(), 2, true)
		}
	case *syntax.UnaryArithm:
		if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
			c.set(w.Lit(), 2, true)
		}
	}
}

// keepsValues reports whether a declaration gives each of its names the value that stands there: no option changes the
// value, no name stands alone, no shell splits the value, and no value depends on a variable, which some shells expand
// before they assign any.
func keepsValues(n *syntax.DeclClause) bool {
	for _, as := range n.Args {
		switch {
		case as.Name == nil:
			if as.Value == nil || !strings.HasPrefix(as.Value.Lit(), "-") || strings.Trim(as.Value.Lit(), "-xrg") != "" {
				return false
			}
		case as.Naked || as.Append || as.Index != nil || as.Array != nil || !plainValue(as.Value):
			return false
		}
	}
	return true
}

func plainValue(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !Plain(p.Value) {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if slices.ContainsFunc(p.Parts, func(q syntax.WordPart) bool { return !IsLit(q) }) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (c *collector) assign(as *syntax.Assign, uses int) {
	if as.Name == nil || as.Naked && uses <= 1 {
		return
	}
	number := as.Naked || c.number(as.Value)
	c.set(as.Name.Value, uses, as.Array == nil && as.Index == nil && number)
	if as.Array != nil {
		number = !slices.ContainsFunc(as.Array.Elems, func(e *syntax.ArrayElem) bool { return !c.number(e.Value) })
	}
	c.gives(as.Name.Value, number || as.Value == nil && as.Array == nil)
}

// gives records that a variable receives a value that is not certainly a number. It ignores numbers.
func (c *collector) gives(name string, number bool) {
	if number {
		return
	}
	if c.a.Shell.texts == nil {
		c.a.Shell.texts = map[string]bool{}
	}
	c.a.Shell.texts[name] = true
}

// integers records the variables that a declaration makes integers.
func (c *collector) integers(n *syntax.DeclClause) {
	made := false
	for _, as := range n.Args {
		switch {
		case as.Name != nil:
			if made {
				c.a.Shell.integer(as.Name.Value)
			}
		case as.Value != nil:
			made = c.operand(as.Value, made)
		}
	}
}

// operandsOf records the integers of a declaration that the parser took for a simple command.
func (c *collector) operandsOf(declares []*syntax.Word) {
	made := false
	for _, w := range declares {
		made = c.operand(w, made)
	}
}

// operand reads one word of a declaration. It reports whether an option so far makes the names integers.
func (c *collector) operand(w *syntax.Word, made bool) bool {
	word, _ := Unquoted(w)
	if made = made || strings.HasPrefix(word, "-") && strings.Contains(word, "i"); made {
		name, _, _ := strings.Cut(word, "=")
		c.a.Shell.integer(name)
	}
	return made
}

// builtin records what builtins assign to the variables that their words name.
func (c *collector) builtin(args []*syntax.Word) {
	name, known := Unquoted(args[0])
	if !known {
		return // Forget handles the builtin once it is known, and Collect the text that eval runs
	}
	operands := args[1:]
	first := ""
	if len(operands) > 0 {
		first, _ = Unquoted(operands[0])
	}
	switch name {
	case "source", ".":
		c.set(Anything, 1, false)
	case "trap":
		c.a.Shell.repeats = true
		signal, known := Unquoted(args[len(args)-1])
		c.a.Shell.Wanders = c.a.Shell.Wanders || len(operands) != 2 || !known || signal != "EXIT" && signal != "0"
	case "command", "builtin":
		c.named(operands)
	case "printf", "wait":
		if strings.HasPrefix(first, "-") {
			c.set(Anything, 1, false)
		}
	case "read", "mapfile", "readarray", "getopts", "unset", "let", "export", "declare", "typeset", "local", "readonly":
		if name == "declare" || name == "typeset" || name == "local" {
			c.operandsOf(operands)
		}
		for _, w := range operands {
			if operand, known := Unquoted(w); known {
				operand, _, _ = strings.Cut(operand, "=")
				c.set(operand, 2, false)
			}
		}
	}
}

// named records what the builtin assigns that the builtins command and builtin run.
func (c *collector) named(words []*syntax.Word) {
	for len(words) > 0 {
		switch first, _ := Unquoted(words[0]); {
		case first == "-p" || first == "--":
			words = words[1:]
			continue
		case first == "-v" || first == "-V":
		case strings.HasPrefix(first, "-"):
			c.set(Anything, 1, false)
		default:
			c.builtin(words)
		}
		return
	}
}

// number reports whether a word's value is certainly a number.
func (c *collector) number(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		v := strings.TrimPrefix(p.Value, "-")
		if IsNumber(v) {
			return true
		}
		lo, hi, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v, "{"), "}"), "..")
		return ok && IsNumber(lo) && IsNumber(hi)
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Param != nil && (p.Param.Value == "$" || p.Param.Value == "#" || p.Param.Value == "?") && p.Exp == nil && p.Repl == nil
	case *syntax.CmdSubst:
		return substitution{c.a, p}.printsNumber()
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && c.number(&syntax.Word{Parts: p.Parts})
	}
	return false
}
