package inspect

import (
	"strings"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/script"
)

// runCommand unwraps the builtin command. With -v or -V it only looks a name up.
func runCommand(a *walk.Walker, c *walk.Call) bool {
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		switch {
		case !w.Known && !w.Safe():
			a.Uncertain(c, 1)
			return true
		case w.Known && w.Text == "--":
			i++
		case w.Known && strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text[1:], "pvV") == "":
			if strings.ContainsAny(w.Text, "vV") {
				return false // a lookup runs nothing
			}
			continue
		}
		if i >= len(c.Argv) {
			return false
		}
		inner := c.Inner(c.Argv[i:], word.JoinTexts(c.Argv[:i]))
		inner.Outer = c.Outer
		a.Run(inner)
		return true
	}
	return false
}

// runExec unwraps exec. If exec runs nothing, it records the new input of the shell.
func runExec(a *walk.Walker, c *walk.Call) bool {
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		if w.Known && strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 {
			switch {
			case w.Text == "--":
				continue
			case w.Text == "-a":
				i++
				continue
			case strings.Trim(w.Text[1:], "cl") == "":
				continue
			}
			a.Uncertain(c, 1)
			return true
		}
		if !w.Known && !w.Safe() {
			a.Uncertain(c, 1)
			return true
		}
		inner := c.Inner(c.Argv[i:], word.JoinTexts(c.Argv[:i]))
		inner.Outer = nil
		a.Run(inner)
		return true
	}
	if c.Outer != nil && c.Sc.Input.Kind != word.InputNone {
		c.Outer.Input = c.Sc.Input // exec <file: later commands read the file
	}
	return false
}

// runEval parses the joined words of eval as text of the same shell.
func runEval(a *walk.Walker, c *walk.Call) bool {
	words := c.Argv[1:]
	if len(words) > 0 && words[0].Known && words[0].Text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	after := a.RunWords(c.Inner(c.Argv, "eval"), words)
	switch {
	case c.Outer == nil:
	case after == nil:
		c.Outer.Stray()
	default:
		c.Outer.Follow(after)
	}
	return true
}

// runTrap parses the text that trap stores for later.
func runTrap(a *walk.Walker, c *walk.Call) bool {
	words := c.Argv[1:]
	if len(words) > 0 && words[0].Known && words[0].Text == "--" {
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	switch w := words[0]; {
	case w.Known && (w.Text == "" || w.Text == "-" || w.Text == "-p" || w.Text == "-l"):
		return false
	case !w.Known:
		a.Found.Problem("dynamic", "The text that trap runs depends on "+findings.Quote(w.Text)+".")
		a.Emit(c)
	default:
		inner := c.Inner(c.Argv, "trap")
		moves := a.RunTrap(inner, w.Text)
		// zsh runs the text of EXIT also at the end of a function.
		atEnd := len(words) == 2 && words[1].Known && words[1].Text == "EXIT" && a.Words.Dialect != script.Zsh
		if moves && c.Outer != nil && !atEnd {
			c.Outer.Stray()
			a.Shell.Wanders = true
		}
		if moves || a.Moves() { // the text runs later, or again, in a directory that is not known
			inner.Sc.Stray()
			a.RunText(inner, w.Text)
		}
	}
	return true
}

// runSource records a file that the shell reads as commands. What the file changes is unknown.
func runSource(a *walk.Walker, c *walk.Call) bool {
	if len(c.Argv) < 2 {
		return false
	}
	w := c.Argv[1]
	if !w.Known {
		a.Found.Problem("dynamic", "What "+c.Name+" reads as commands depends on "+findings.Quote(w.Text)+".")
		return false
	}
	if w.Text == "/dev/stdin" || strings.HasPrefix(w.Text, "/dev/fd/") {
		a.Found.Problem("dynamic", c.Name+" runs what it reads.")
	} else if strings.HasPrefix(w.Text, "/proc/") {
		a.Found.Problem("dynamic", c.Name+" runs what it reads.")
	}
	a.Reads(c, w)
	a.Words.Forget(word.Word{}) // what the file assigns is unknown
	if activates := strings.HasSuffix(w.Text, "/bin/activate") || strings.HasSuffix(w.Text, "/Scripts/activate"); activates && !a.Outside(word.JoinDirs(c.Sc.Dirs, w.Text)) {
		return false // a virtual environment of the project, which stays in its directory
	}
	if c.Outer != nil {
		c.Outer.Stray()
	}
	a.Found.Poison("source " + w.Text)
	return false
}
