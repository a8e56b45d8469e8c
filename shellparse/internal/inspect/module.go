package inspect

import (
	"slices"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// runGotestsum runs go test with the words after --.
func runGotestsum(a *walk.Walker, c *walk.Call) bool {
	i := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "--" })
	if i < 0 {
		return false
	}
	a.Emit(c)
	in := c.Child(append([]word.Word{word.Lit("go"), word.Lit("test")}, c.Argv[i+1:]...), word.JoinTexts(c.Argv[:i]))
	a.Run(in)
	return true
}

// jsonTool lists the options of json.tool before its operands.
var jsonTool = word.MustOptions("--indent= --sort-keys --no-ensure-ascii --json-lines --tab --no-indent --compact")

// runModule records the files of Python modules that show a file. json.tool also takes the name of a result.
func runModule(a *walk.Walker, c *walk.Call) bool {
	i := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "-m" })
	if i < 0 || i+1 >= len(c.Argv) || !c.Argv[i+1].Known {
		return false
	}
	args := c.Argv[i+2:]
	switch c.Argv[i+1].Text {
	case "json.tool":
		for n, w := range jsonTool.Scan(args, programs.GNU).Operands {
			if n == 0 {
				a.Reads(c, w)
			} else {
				a.Writes(c, w)
			}
		}
	case "tokenize", "dis":
		for _, w := range jsonTool.Scan(args, programs.GNU).Operands {
			a.Reads(c, w)
		}
	default:
		runTool(a, c, i+1)
	}
	return false
}

// runTool treats a module that is also a program, such as pytest, as that program: its options do the same, and deny
// rules for the program hold for the module.
func runTool(a *walk.Walker, c *walk.Call, at int) {
	if a.Words.Tables.Row(c.Argv[at].Text) == nil {
		return
	}
	inner := c.Child(c.Argv[at:], word.JoinTexts(c.Argv[:at]))
	inner.Sc.Effects, inner.Sc.DenyOnly = nil, true
	mark := len(a.Found.Script.Commands)
	a.Run(inner)
	for i := mark; i < len(a.Found.Script.Commands); i++ {
		for _, e := range a.Found.Script.Commands[i].Effects {
			findings.AddEffect(&c.Effects, findings.Behind(e, at, i == mark && len(a.Found.Script.Commands[i].Argv) == len(c.Argv)-at))
		}
		c.Writes = append(c.Writes, a.Found.Script.Commands[i].Writes...)
		a.Found.Script.Commands[i].Writes = nil
	}
}
