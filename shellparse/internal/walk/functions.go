package walk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// functions holds the latest function of each name that the text has defined so far.
type functions map[string]*function

// define walks a body at its definition. Where and how often it runs is unknown.
func (fs *functions) define(a *Walker, cmd *syntax.FuncDecl, sc *word.Scope) {
	if cmd.Name == nil {
		a.Found.Problem("disagreement", "Shells read this function definition differently: "+findings.Quote(sc.Text(cmd))+".")
		return
	}
	child := *sc
	child.Sure = false
	child.Input = &word.Input{Kind: word.InputPipe} // its callers decide
	name := cmd.Name.Value
	if *fs == nil {
		*fs = functions{}
	}
	f := &function{body: cmd.Body, sc: child, earlier: (*fs)[name]}
	(*fs)[name] = f
	if (shellCalls(name) || a.traps.calls[name]) && a.Moves() {
		child.Lose()
	}
	if a.traps.calls[name] && f.mayMove(a) {
		sc.Stray()
		a.Shell.Wanders = true
	}
	if programs.Find(name).Has(programs.Special) {
		a.Found.Problem("disagreement", "The function "+name+" has the name of a builtin that shells may prefer.")
	}
	if sc.Sure && sc.Start {
		a.Shell.SettleFunc(name)
	}
	if a.Shell.EndsOf(func() { a.Shell.Within(func() { a.stmt(cmd.Body, &child) }) }) {
		a.Shell.Breaks = true
	}
	if multiplies(cmd) {
		a.Found.Problem("dynamic", "The function "+name+" starts itself without end.")
	}
}

// call walks the functions of a name that a command calls. If the call certainly runs one of them, it records what the
// function gets, and returns true.
func (fs functions) call(a *Walker, c *Call, name string) bool {
	if a.traps.walking {
		a.traps.calls[name] = true
	}
	sure := a.Shell.Funcs[name] && a.Shell.Once[name] == 1
	if fs[name] != nil && a.Shell.Breaks {
		a.Shell.MayEnd()
	}
	for f := fs[name]; f != nil; f = f.earlier {
		f.enter(a, c.Outer, sure)
	}
	if !sure {
		return false
	}
	for i := range c.Argv {
		if name := a.Shell.SecretIn(c.Argv[i].Text); name != "" && !c.Argv[i].Known {
			a.Found.Poison("gives the function " + c.Name + " the variable " + name)
		}
	}
	for _, e := range c.Sc.Effects {
		a.Found.Poison(e.Text) // the body runs under the assignments before its name
	}
	if len(c.Reads)+len(c.Writes)+len(c.connects) > 0 {
		a.Found.Script.Commands = append(a.Found.Script.Commands, c.Command(":"))
	}
	return true
}

// shellCalls reports whether shells call a function of this name by themselves, wherever they are.
func shellCalls(name string) bool {
	switch name {
	case "command_not_found_handle", "command_not_found_handler", "chpwd", "precmd", "preexec", "periodic", "zshaddhistory", "zshexit":
		return true
	}
	return strings.HasPrefix(name, "TRAP")
}

// function is one that the text has defined.
type function struct {
	body    *syntax.Stmt
	sc      word.Scope // at its definition
	earlier *function  // another definition of the same name; may be nil
	moves   bool       // it may change the directory of its caller
	among   int        // how many functions the text defined when moves was found
}

// mayMove reports whether the function may change the directory of its caller.
func (f *function) mayMove(a *Walker) bool {
	if n := a.Shell.Defined; !f.moves && f.among != n {
		f.moves, f.among = changesDir(a.Shell, []*syntax.Stmt{f.body}), n
	}
	return f.moves
}

// enter walks the function's body once more, for a call from another directory than that of its definition, or if the
// body changes the directory. sure says that the call runs the function.
func (f *function) enter(a *Walker, caller *word.Scope, sure bool) {
	if !f.mayMove(a) && caller.SamePlace(&f.sc) {
		return
	}
	child := f.sc
	child.Follow(caller)
	if child.Depth = caller.Depth + 1; child.Depth > maxDepth || !a.Found.Reparse(len(child.Text(f.body))) {
		a.Found.Problem("too-deep", "The text nests too deeply.")
		return
	}
	a.Shell.Within(func() { a.stmt(f.body, &child) })
	switch {
	case !f.moves:
	case sure:
		caller.Follow(&child)
	default:
		caller.Stray()
	}
}

// multiplies reports whether a function calls itself in a pipe or in the background (a fork bomb).
func multiplies(cmd *syntax.FuncDecl) bool {
	calls, forks := false, false
	syntax.Walk(cmd.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			calls = calls || len(n.Args) > 0 && n.Args[0].Lit() == cmd.Name.Value
		case *syntax.Stmt:
			forks = forks || n.Background
		case *syntax.BinaryCmd:
			forks = forks || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		}
		return true
	})
	return calls && forks
}
