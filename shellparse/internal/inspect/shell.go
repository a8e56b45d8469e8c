package inspect

import (
	"strings"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// shellOptions lists the options of bash and its relatives. A script after -c is code; a file operand is a program.
var shellOptions = word.MustOptions("-c -e -u -x:! -v -n -l -i -s -f -h -k -m -p -r -t -a -b -B -C -D -E -H -P -T -o= -O=! +O=! +o= --login " +
	"--norc --noprofile --noediting --posix --restricted --verbose --version --help --debugger:! " +
	"--dump-strings --dump-po-strings --pretty-print --rcfile=x --init-file=x -d -g -w -y -1 -2 -3 -4 -5")

// runShell parses the text given to a shell: after -c, in a here-document, or by an echo before the pipe. A script file
// is an operand; everything else is unknown.
func runShell(a *walk.Walker, c *walk.Call) bool {
	argv := c.Argv
	at, code, stdin, ok := shellWords(a, c)
	if !ok {
		return true
	}
	via := word.JoinTexts(argv[:min(at, len(argv))])
	switch {
	case code && at >= len(argv):
		return false
	case code:
		shellCode(a, c, argv[at], via)
		return true
	case at < len(argv) && !stdin:
		shellFile(a, c, at)
		return false
	}
	in := c.Sc.Input
	switch {
	case in.Kind == word.InputText && in.Text.Known, in.Kind == word.InputPipe && in.Text.Known:
		inner := c.Inner(argv, via)
		inner.Outer = nil
		a.Words.FreshIn(dialects[c.Name], func() { a.RunText(inner, in.Text.Text) })
		return true
	case in.Kind == word.InputNone && (len(argv) == 1 || stdin) && c.Inside:
		return false
	case len(argv) > 1 && onlyAsks(argv[1:]):
		return false
	}
	a.Found.Problem("dynamic", c.Name+" runs what it reads from its standard input.")
	a.Emit(c)
	return true
}

// shellWords reads the options of a shell. at is the index of the first word after them, code means that this word is a
// script, and stdin that the script is the input. If that depends on the run, ok is false and the command is recorded.
func shellWords(a *walk.Walker, c *walk.Call) (at int, code, stdin, ok bool) {
	argv := c.Argv
	for at = 1; at < len(argv); at++ {
		w := argv[at]
		if !w.Known && !w.Safe() && !checksFiles(argv, at) {
			a.Found.Problem("dynamic", "What "+c.Name+" runs depends on "+findings.Quote(w.Text)+".")
			a.Emit(c)
			return at, code, stdin, false
		}
		t := w.Text
		switch {
		case !w.Known || len(t) < 2 || t[0] != '-' && t[0] != '+':
			if t == "-" && w.Known {
				at++
			}
			return at, code, stdin, true
		case t == "--":
			return at + 1, code, stdin, true
		case strings.HasPrefix(t, "--"):
			name, _, has := strings.Cut(t, "=")
			shellOption(c, name)
			if (name == "--rcfile" || name == "--init-file") && !has {
				at++
			}
			code = code || name == "--command"
			continue
		}
		code = code || t[0] == '-' && strings.Contains(t, "c")
		stdin = stdin || strings.Contains(t, "s")
		at = shellLetters(c, t, at)
	}
	return at, code, stdin, true
}

// checksFiles reports whether a shell only reads the scripts from that word on, and runs nothing of them.
func checksFiles(argv []word.Word, at int) bool {
	return at == 2 && argv[1].Text == "-n" && areFiles(argv[at:])
}

// shellFile records the script that a shell runs or checks.
func shellFile(a *walk.Walker, c *walk.Call, at int) {
	switch w := c.Argv[at]; {
	case !w.Known && checksFiles(c.Argv, at):
		word.All(func(w word.Word) { a.Reads(c, w) }, c.Argv[at:])
	case !w.Known:
		a.Found.Problem("dynamic", "Which script "+c.Name+" runs depends on "+findings.Quote(w.Text)+".")
	case w.Text == "/dev/stdin", word.HasPrefix(w.Text, "/dev/fd/", "/proc/"):
		a.Found.Problem("dynamic", c.Name+" runs what it reads.")
	default:
		a.Reads(c, w)
	}
}

// shellOption records a long option of a shell that does something, or that is unknown.
func shellOption(c *walk.Call, name string) {
	if o := shellOptions.Find(name); o == nil || o.Does != 0 {
		c.Effect("option " + name)
	}
}

// shellLetters records what the letters of a shell's option do, and returns the index of the last word that they take.
func shellLetters(c *walk.Call, t string, at int) int {
	for k := 1; k < len(t); k++ {
		switch {
		case t[k] == 'o', t[k] == 'O' && dialects[c.Name] != script.Zsh:
			if at+1 < len(c.Argv) {
				at++
				if w := c.Argv[at]; !w.Known || !harmlessSet[w.Text] {
					c.Effect("option -" + string(t[k]) + " " + w.Text)
				}
			}
		case t[k] == 'i', !harmlessLetter(dialects[c.Name], t[0], t[k]):
			c.Effect("option " + t[:1] + t[k:k+1])
		}
	}
	return at
}

// harmlessLetter reports whether a letter that follows - or + sets or resets an option like those of harmlessSet, or
// one with which a shell starts.
func harmlessLetter(d script.Dialect, sign, letter byte) bool {
	switch {
	case sign == '+':
		return letter != 'B' || d == script.Zsh
	case d == script.Zsh:
		return strings.IndexByte("Ccefilmnprsuvx", letter) >= 0
	}
	return strings.IndexByte("BbCcDEefHhilmnprsTuvx", letter) >= 0
}

// shellCode parses the script in a shell's words.
func shellCode(a *walk.Walker, c *walk.Call, code word.Word, via string) {
	inner := c.Inner(c.Argv, via)
	inner.Outer = nil
	if a.Shell.Assigned["PWD"] {
		inner.Sc.Base = inner.Sc.Dirs
	}
	switch {
	case !code.Known:
		a.Found.Problem("dynamic", "The script that "+c.Name+" runs depends on "+findings.Quote(code.Text)+".")
		a.Emit(c)
		if !code.Files {
			return
		}
		// find and xargs put names into the text. Deny rules see what it runs without them.
		inner.Reads, inner.Writes = nil, nil
	case foreignShells[c.Name]:
		a.Found.Problem("foreign", "The script is in the language of "+c.Name+".")
	}
	a.Words.FreshIn(dialects[c.Name], func() { a.RunText(inner, code.Text) })
}

// dialects holds the dialects of shells that are not Bash.
var dialects = map[string]script.Dialect{"sh": script.POSIX, "dash": script.POSIX, "ash": script.POSIX, "ksh": script.POSIX, "mksh": script.POSIX,
	"yash": script.POSIX, "zsh": script.Zsh}

// foreignShells lists shells with a language of their own.
var foreignShells = word.Set("fish csh tcsh elvish nu")

// onlyAsks reports whether the words only ask a program about itself.
func onlyAsks(words []word.Word) bool {
	return len(words) == 1 && words[0].Known && (words[0].Text == "--version" || words[0].Text == "--help")
}

// harmlessSet lists shell options that only make a script stricter or quieter, or change how patterns match.
var harmlessSet = word.Set("errexit nounset pipefail noclobber noglob noexec posix errtrace functrace inherit_errexit nullglob " +
	"globstar dotglob extglob nocasematch nocaseglob globasciiranges")

var suOptions = word.MustOptions("-c,--command=c --session-command=c -f,--fast -g,--group= -G,--supp-group= -l,--login - " +
	"-m,-p,--preserve-environment -P,--pty -s,--shell=x -u,--user= -w,--whitelist-environment= -T,--no-pty " +
	"-h,--help -V,--version")

func runSu(a *walk.Walker, c *walk.Call) bool {
	c.Sc.Escalates = true
	s := suOptions.Scan(c.Argv[1:], programs.GNU)
	if v, ok := s.Find("-c", "--command", "--session-command"); ok {
		inner := c.Inner(c.Argv, c.Name)
		inner.Outer = nil
		a.RunWords(inner, []word.Word{v})
		return true
	}
	if _, ok := s.Find("-u", "--user"); ok && c.Name == "runuser" && len(s.Operands) > 0 {
		inner := c.Inner(s.Operands, c.Name)
		inner.Outer = nil
		a.Run(inner)
		return true
	}
	return false
}
