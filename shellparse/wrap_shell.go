package shellparse

import "strings"

// shellOptions are those of bash and its relatives. A script after -c is code; a file operand is a program.
var shellOptions = mustOptions("-c -e -u -x:! -v -n -l -i -s -f -h -k -m -p -r -t -a -b -B -C -D -E -H -P -T -o= -O=! +O=! +o= --login " +
	"--norc --noprofile --noediting --posix --restricted --verbose --version --help --debugger:! " +
	"--dump-strings --dump-po-strings --pretty-print --rcfile=x --init-file=x -d -g -w -y -1 -2 -3 -4 -5")

// runShell parses what a shell is given: the text after -c, a here-document, the words of an echo before the
// pipe. A script file is an operand; everything else is not known.
func runShell(a *analysis, c *call) bool {
	alien := c.name == "fish" || c.name == "csh" || c.name == "tcsh" || c.name == "elvish" || c.name == "nu"
	argv := c.argv
	code, stdin := false, false
	at := 1
	for ; at < len(argv); at++ {
		w := argv[at]
		if !w.known && !w.safe() {
			a.problem("dynamic", "What "+c.name+" runs depends on "+quote(w.text)+".")
			a.emit(c)
			return true
		}
		t := w.text
		if !w.known || len(t) < 2 || t[0] != '-' && t[0] != '+' {
			if t == "-" && w.known {
				at++
			}
			break
		}
		if t == "--" {
			at++
			break
		}
		if strings.HasPrefix(t, "--") {
			name, _, has := strings.Cut(t, "=")
			o := shellOptions.find(name)
			if o == nil || o.Does != 0 {
				c.effect("option " + name)
			}
			if (name == "--rcfile" || name == "--init-file") && !has {
				at++
			}
			if name == "--command" {
				code = true
				break
			}
			continue
		}
		for k := 1; k < len(t); k++ {
			switch t[k] {
			case 'c':
				code = code || t[0] == '-'
			case 's':
				stdin = true
			case 'o', 'O':
				if at+1 < len(argv) {
					at++
					if !argv[at].known || !harmlessSet[argv[at].text] {
						c.effect("option -" + string(t[k]) + " " + argv[at].text)
					}
				}
			case 'i', 'l':
				if t[k] == 'i' {
					c.effect("option -i")
				}
			}
		}
	}
	via := texts(argv[:min(at, len(argv))])
	switch {
	case code:
		if at >= len(argv) {
			return false
		}
		if !argv[at].known {
			a.problem("dynamic", "The script that "+c.name+" runs depends on "+quote(argv[at].text)+".")
			a.emit(c)
			if argv[at].files {
				// find and xargs put names into the text: what it runs without them is seen by deny rules.
				in := c.inner(argv, via)
				in.outer, in.reads, in.writes = nil, nil, nil
				text := argv[at].text
				a.fresh(func() { a.script1(in, text) })
			}
			return true
		}
		inner := c.inner(argv, via)
		inner.outer = nil
		if alien {
			a.problem("foreign", "The script is in the language of "+c.name+".")
		}
		text := argv[at].text
		a.fresh(func() { a.script1(inner, text) })
		return true
	case at < len(argv) && !stdin:
		if !argv[at].known {
			a.problem("dynamic", "Which script "+c.name+" runs depends on "+quote(argv[at].text)+".")
		} else if strings.HasPrefix(argv[at].text, "/dev/fd/") || argv[at].text == "/dev/stdin" || strings.HasPrefix(argv[at].text, "/proc/") {
			a.problem("dynamic", c.name+" runs what it reads.")
		} else {
			c.reads = a.file(c.reads, argv[at], c.name, c.sc)
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

// onlyAsks says that the words ask a program about itself.
func onlyAsks(words []word) bool {
	return len(words) == 1 && words[0].known && (words[0].text == "--version" || words[0].text == "--help")
}

// harmlessSet are shell options that only make a script stricter or quieter.
var harmlessSet = set("errexit nounset pipefail noclobber noglob noexec posix errtrace functrace inherit_errexit nullglob failglob " +
	"globstar dotglob extglob nocasematch nocaseglob lastpipe globasciiranges")

// fresh runs f for a new shell, which shares no variables or functions that are not exported.
func (a *analysis) fresh(f func()) {
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
	s := suOptions.scan(c.argv[1:], styleGNU)
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
