package shellparse

import (
	"strings"

	"callgate/shellparse/programs"
)

// shellOptions are those of bash and its relatives. A script after -c is code; a file operand is a program.
var shellOptions = mustOptions("-c -e -u -x:! -v -n -l -i -s -f -h -k -m -p -r -t -a -b -B -C -D -E -H -P -T -o= -O=! +O=! +o= --login " +
	"--norc --noprofile --noediting --posix --restricted --verbose --version --help --debugger:! " +
	"--dump-strings --dump-po-strings --pretty-print --rcfile=x --init-file=x -d -g -w -y -1 -2 -3 -4 -5")

// runShell parses what a shell is given: the text after -c, a here-document, the words of an echo before the
// pipe. A script file is an operand; everything else is not known.
func runShell(a *analysis, c *call) bool {
	argv := c.argv
	at, code, stdin, ok := a.shellWords(c)
	if !ok {
		return true
	}
	via := texts(argv[:min(at, len(argv))])
	switch {
	case code && at >= len(argv):
		return false
	case code:
		a.shellCode(c, argv[at], via)
		return true
	case at < len(argv) && !stdin:
		if w := argv[at]; !w.known {
			a.problem("dynamic", "Which script "+c.name+" runs depends on "+quote(w.text)+".")
		} else if w.text == "/dev/stdin" || hasPrefix(w.text, "/dev/fd/", "/proc/") {
			a.problem("dynamic", c.name+" runs what it reads.")
		} else {
			a.reads(c, w)
		}
		return false
	}
	in := c.sc.input
	switch {
	case in.kind == inputText && in.text.known, in.kind == inputPipe && in.text.known:
		inner := c.inner(argv, via)
		inner.outer = nil
		a.fresh(func() { a.script1(inner, in.text.text) })
		return true
	case in.kind == inputNone && (len(argv) == 1 || stdin) && c.inside:
		return false
	case len(argv) > 1 && onlyAsks(argv[1:]):
		return false
	}
	a.problem("dynamic", c.name+" runs what it reads from its standard input.")
	a.emit(c)
	return true
}

// shellWords reads the options of a shell: at is the first word behind them, code says that it is a script, and stdin
// that the script comes in. It is not ok, and the command is recorded, when that depends on the run.
func (a *analysis) shellWords(c *call) (at int, code, stdin, ok bool) {
	argv := c.argv
	for at = 1; at < len(argv); at++ {
		w := argv[at]
		if !w.known && !w.safe() {
			a.problem("dynamic", "What "+c.name+" runs depends on "+quote(w.text)+".")
			a.emit(c)
			return at, code, stdin, false
		}
		t := w.text
		switch {
		case !w.known || len(t) < 2 || t[0] != '-' && t[0] != '+':
			if t == "-" && w.known {
				at++
			}
			return at, code, stdin, true
		case t == "--":
			return at + 1, code, stdin, true
		case strings.HasPrefix(t, "--"):
			name, _, has := strings.Cut(t, "=")
			c.shellOption(name)
			if (name == "--rcfile" || name == "--init-file") && !has {
				at++
			}
			code = code || name == "--command"
			continue
		}
		code = code || t[0] == '-' && strings.Contains(t, "c")
		stdin = stdin || strings.Contains(t, "s")
		at = c.shellLetters(t, at)
	}
	return at, code, stdin, true
}

// shellOption notes a long option of a shell that does something, or that is not known.
func (c *call) shellOption(name string) {
	if o := shellOptions.find(name); o == nil || o.Does != 0 {
		c.effect("option " + name)
	}
}

// shellLetters notes what the letters of an option of a shell do at a place, and returns the last word that they take.
func (c *call) shellLetters(t string, at int) int {
	for k := 1; k < len(t); k++ {
		switch t[k] {
		case 'o', 'O':
			if at+1 < len(c.argv) {
				at++
				if w := c.argv[at]; !w.known || !harmlessSet[w.text] {
					c.effect("option -" + string(t[k]) + " " + w.text)
				}
			}
		case 'i':
			c.effect("option -i")
		}
	}
	return at
}

// shellCode parses the script that a shell is given by its words.
func (a *analysis) shellCode(c *call, script word, via string) {
	inner := c.inner(c.argv, via)
	inner.outer = nil
	switch {
	case !script.known:
		a.problem("dynamic", "The script that "+c.name+" runs depends on "+quote(script.text)+".")
		a.emit(c)
		if !script.files {
			return
		}
		// find and xargs put names into the text: what it runs without them is seen by deny rules.
		inner.reads, inner.writes = nil, nil
	case foreignShells[c.name]:
		a.problem("foreign", "The script is in the language of "+c.name+".")
	}
	a.fresh(func() { a.script1(inner, script.text) })
}

// foreignShells have a language of their own.
var foreignShells = set("fish csh tcsh elvish nu")

// onlyAsks says that the words ask a program about itself.
func onlyAsks(words []word) bool {
	return len(words) == 1 && words[0].known && (words[0].text == "--version" || words[0].text == "--help")
}

// harmlessSet are shell options that only make a script stricter or quieter.
var harmlessSet = set("errexit nounset pipefail noclobber noglob noexec posix errtrace functrace inherit_errexit nullglob failglob " +
	"globstar dotglob extglob nocasematch nocaseglob lastpipe globasciiranges")

// fresh runs f for a new shell, which shares no variables or functions that are not exported.
func (a *reader) fresh(f func()) {
	outer := a.shell
	a.shell = shell{}
	f()
	a.shell = outer
}

var suOptions = mustOptions("-c,--command=c --session-command=c -f,--fast -g,--group= -G,--supp-group= -l,--login - " +
	"-m,-p,--preserve-environment -P,--pty -s,--shell=x -u,--user= -w,--whitelist-environment= -T,--no-pty " +
	"-h,--help -V,--version")

func runSu(a *analysis, c *call) bool {
	c.sc.escalates = true
	s := suOptions.scan(c.argv[1:], programs.GNU)
	if v, ok := s.find("-c", "--command", "--session-command"); ok {
		inner := c.inner(c.argv, c.name)
		inner.outer = nil
		a.scriptWords(inner, []word{v})
		return true
	}
	if _, ok := s.find("-u", "--user"); ok && c.name == "runuser" && len(s.operands) > 0 {
		inner := c.inner(s.operands, c.name)
		inner.outer = nil
		a.run(inner)
		return true
	}
	return false
}
