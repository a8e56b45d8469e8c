package shellparse

import "strings"

// runCommand unwraps the builtin command. With -v and -V it only looks a name up.
func runCommand(a *analysis, c *call) bool {
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		switch {
		case !w.known && !w.safe():
			a.uncertain(c, 1)
			return true
		case w.known && w.text == "--":
			i++
		case w.known && strings.HasPrefix(w.text, "-") && strings.Trim(w.text[1:], "pvV") == "":
			if strings.ContainsAny(w.text, "vV") {
				return false // a lookup runs nothing
			}
			continue
		}
		if i >= len(c.argv) {
			return false
		}
		inner := c.inner(c.argv[i:], texts(c.argv[:i]))
		inner.outer = c.outer
		a.run(inner)
		return true
	}
	return false
}

// runExec unwraps exec, and notes what it does to the input of the shell when it runs nothing.
func runExec(a *analysis, c *call) bool {
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if w.known && strings.HasPrefix(w.text, "-") && len(w.text) > 1 {
			switch {
			case w.text == "--":
				continue
			case w.text == "-a":
				i++
				continue
			case strings.Trim(w.text[1:], "cl") == "":
				continue
			}
			a.uncertain(c, 1)
			return true
		}
		if !w.known && !w.safe() {
			a.uncertain(c, 1)
			return true
		}
		inner := c.inner(c.argv[i:], texts(c.argv[:i]))
		inner.outer = nil
		a.run(inner)
		return true
	}
	if c.outer != nil && c.sc.input.kind != inputNone {
		c.outer.input = c.sc.input // exec <file: what follows reads it
	}
	return false
}

// runEval parses the words of eval, joined, as a text of the same shell.
func runEval(a *analysis, c *call) bool {
	words := c.argv[1:]
	if len(words) > 0 && words[0].known && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	inner := c.inner(c.argv, "eval")
	a.scriptWords(inner, words)
	if c.outer != nil && strings.Contains(texts(words), "cd") {
		c.outer.lost = true
	}
	return true
}

// runTrap parses the text that trap keeps for later.
func runTrap(a *analysis, c *call) bool {
	words := c.argv[1:]
	if len(words) > 0 && words[0].known && words[0].text == "--" {
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	switch w := words[0]; {
	case w.known && (w.text == "" || w.text == "-" || w.text == "-p" || w.text == "-l"):
		return false
	case !w.known:
		a.problem("dynamic", "The text that trap runs depends on "+quote(w.text)+".")
		a.emit(c)
	default:
		a.script1(c.inner(c.argv, "trap"), w.text)
	}
	return true
}

// runSource notes a file that the shell reads as commands: what it changes is not known.
func runSource(a *analysis, c *call) bool {
	if len(c.argv) < 2 {
		return false
	}
	w := c.argv[1]
	if !w.known {
		a.problem("dynamic", "What "+c.name+" reads as commands depends on "+quote(w.text)+".")
		return false
	}
	if w.text == "/dev/stdin" || strings.HasPrefix(w.text, "/dev/fd/") {
		a.problem("dynamic", c.name+" runs what it reads.")
	} else if strings.HasPrefix(w.text, "/proc/") {
		a.problem("dynamic", c.name+" runs what it reads.")
	}
	a.reads(c, w)
	if c.outer != nil {
		c.outer.lost = true
	}
	if strings.HasSuffix(w.text, "/bin/activate") && !a.outside(joinDirs(c.sc.dirs, w.text)) {
		a.forget(word{})
		return false // a virtual environment of the project
	}
	// What the file assigns and defines is not known.
	a.forget(word{})
	a.poison("source " + w.text)
	return false
}
