package shellparse

import (
	"slices"
	"strings"
)

// handlers analyse the programs whose words no table describes. A handler returns true when it recorded the
// command, false when the command is to be looked at like any other.
var handlers map[string]func(*analysis, *call) bool

func init() {
	// Set here because the handlers run commands, and commands run handlers.
	handlers = map[string]func(*analysis, *call) bool{
		"env": runEnv, "genv": runEnv, "command": runCommand, "exec": runExec, "eval": runEval, "trap": runTrap,
		"xargs": runXargs, "gxargs": runXargs, "parallel": runParallel, "find": runFind, "gfind": runFind, "fd": runFd, "fdfind": runFd,
		"bash": runShell, "sh": runShell, "dash": runShell, "zsh": runShell, "ksh": runShell, "mksh": runShell, "ash": runShell,
		"rbash": runShell, "fish": runShell, "tcsh": runShell, "csh": runShell, "yash": runShell, "elvish": runShell, "nu": runShell,
		"source": runSource, ".": runSource, "su": runSu, "runuser": runSu, "ssh": runSSH, "flock": runFlock, "script": runScript,
		"watch": runWatch, "cd": runCd, "pushd": runCd, "popd": runCd, "coproc": runExec,
		"tmux": runTmux, "screen": runScreen, "nix-shell": runNix, "nix": runNix, "start-stop-daemon": runDaemon,
		"git": runGit, "docker": runContainer, "podman": runContainer, "nerdctl": runContainer,
		"make": runMake, "gmake": runMake,
	}
}

func runEnv(a *analysis, c *call) bool {
	at := 1
	argv := c.argv
	for at < len(argv) {
		w := argv[at]
		if !w.known && !w.safe() {
			a.uncertain(c, 1)
			return true
		}
		t := w.text
		if !w.known || len(t) < 2 || t[0] != '-' {
			break
		}
		if t == "--" {
			at++
			break
		}
		name, val, has := strings.Cut(t, "=")
		switch {
		case t == "-i" || t == "--ignore-environment" || t == "-" || t == "-0" || t == "--null" || t == "-v" || t == "--debug" || strings.HasPrefix(t, "--block-signal") || strings.HasPrefix(t, "--ignore-signal") || strings.HasPrefix(t, "--default-signal") || t == "--list-signal-handling":
			at++
			continue
		case t == "-u" || t == "-C" || t == "-P" || t == "-L" || t == "-U" || t == "-a" || t == "--unset" || t == "--chdir" || t == "--argv0":
			if at+1 >= len(argv) {
				return false
			}
			a.envOption(t, argv[at+1], c)
			at += 2
			continue
		case has && (name == "--unset" || name == "--chdir" || name == "--argv0"):
			a.envOption(name, lit(val), c)
			at++
			continue
		case strings.HasPrefix(t, "-u") || strings.HasPrefix(t, "-C"):
			a.envOption(t[:2], lit(t[2:]), c)
			at++
			continue
		case t == "-S" || t == "--split-string" || has && name == "--split-string" || splitsString(t):
			s, next := val, at+1
			switch {
			case has && name == "--split-string":
			case t == "-S" || t == "--split-string":
				if at+1 >= len(argv) {
					return false
				}
				if !argv[at+1].known {
					a.uncertain(c, 1)
					return true
				}
				s, next = argv[at+1].text, at+2
			default:
				s = t[strings.IndexByte(t, 'S')+1:]
				if s == "" && at+1 < len(argv) {
					s, next = argv[at+1].text, at+2
				}
			}
			words, ok := splitString(s)
			if !ok {
				a.uncertain(c, 1)
				return true
			}
			argv = slices.Concat(argv[:at], words, argv[next:])
			c.argv = argv
			continue
		default:
			a.uncertain(c, 1)
			return true
		}
	}
	c.argv = argv
	at, env := a.assignments(c, at)
	if at >= len(argv) {
		return false
	}
	if !argv[at].known && !argv[at].safe() && at == 1 {
		a.uncertain(c, 1)
		return true
	}
	inner := c.inner(argv[at:], texts(argv[:at]))
	inner.sc.env = append(slices.Clip(inner.sc.env), env...)
	inner.outer = nil
	a.run(inner)
	return true
}

// splitsString says that bundled short options of env end in -S.
func splitsString(t string) bool {
	i := strings.IndexByte(t, 'S')
	return i > 0 && !strings.HasPrefix(t, "--") && strings.Trim(t[1:i], "iv0") == ""
}

func (a *analysis) envOption(name string, v word, c *call) {
	switch name {
	case "-C", "--chdir":
		a.chdir(v, c)
	case "-P", "-a", "--argv0":
		c.effect("option " + name)
	}
}

// splitString splits as env -S does, and gives up on escapes and variables.
func splitString(s string) ([]word, bool) {
	if strings.ContainsAny(s, "\\$#") {
		return nil, false
	}
	var words []word
	var b []byte
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			} else {
				b = append(b, ch)
			}
		case ch == '\'' || ch == '"':
			quote, in = ch, true
		case blank(ch):
			if in {
				words, b, in = append(words, lit(string(b))), nil, false
			}
		default:
			b, in = append(b, ch), true
		}
	}
	if quote != 0 {
		return nil, false
	}
	if in {
		words = append(words, lit(string(b)))
	}
	return words, true
}

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
	return false
}

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

// xargsOptions are those of GNU and BSD xargs.
var xargsOptions = mustOptions("-0,--null -a,--arg-file=r -d,--delimiter= -E= -e? --eof? -I= -i? --replace? -J= -L= -l? --max-lines? -n,--max-args= -o,--open-tty -P,--max-procs= -p,--interactive --process-slot-var= -R= -r,--no-run-if-empty -S= -s,--max-chars= --show-limits -t,--verbose -x,--exit --help --version")

func mustOptions(s string) *optset {
	set, err := compileOptions(s)
	if err != nil {
		panic(err) // a constant of this package
	}
	return set
}

func runXargs(a *analysis, c *call) bool {
	s := xargsOptions.scan(c.argv[1:], stylePOSIX)
	at := 1 + s.rest
	if s.unknown != "" || s.vague != "" && !allKnown(c.argv[1:at]) {
		a.uncertain(c, 1)
		return true
	}
	for _, h := range s.hits {
		a.apply(h, c)
	}
	if at >= len(c.argv) {
		return false // echo
	}
	token, replaces := "", false
	for _, h := range s.hits {
		switch h.opt.name {
		case "-I", "-J":
			token, replaces = h.value.text, true
		case "-i", "--replace":
			token, replaces = "{}", true
			if h.has && h.value.text != "" {
				token = h.value.text
			}
		}
	}
	argv := slices.Clone(c.argv[at:])
	if replaces && token != "" {
		replaceToken(argv, token)
	} else {
		argv = append(argv, word{text: "{}", files: true, many: true})
	}
	inner := c.inner(argv, texts(c.argv[:at]))
	inner.outer = nil
	inner.sc.input = input{kind: inputFile}
	a.run(inner)
	return true
}

// replaceToken marks the words in which a program puts values that are not known.
func replaceToken(argv []word, token string) {
	for i := range argv {
		if w := &argv[i]; w.known && strings.Contains(w.text, token) {
			*w = word{text: w.text, head: w.text[:strings.Index(w.text, token)], files: true}
		}
	}
}

var parallelOptions = mustOptions("-j,--jobs= -k,--keep-order -n,--max-args= -N= -I= -a,--arg-file=r -C,--colsep= -d,--delimiter= -0,--null --dry-run --eta --bar --progress --halt= --joblog=w --resume --retries= --timeout= --delay= --load= --memfree= --nice= --results=t --tag --tagstring= -u,--ungroup --line-buffer,--lb --linebuffer --link --no-notice --will-cite --citation -q,--quote -X -m -s= -L= -P,--max-procs= -r,--no-run-if-empty -t,--verbose -v -i? --plain --silent --shuf --pipe --block= --recstart= --recend= -S,--sshlogin=! --sshloginfile=! --slf=! --trc=! --transferfile=! --return=! --cleanup --basefile=! --env= --rpl=c --tmpdir=t --workdir=d --wd=d --semaphore --fg --bg --wait --id= --version --help")

func runParallel(a *analysis, c *call) bool {
	s := parallelOptions.scan(c.argv[1:], stylePOSIX)
	at := 1 + s.rest
	if s.unknown != "" || s.vague != "" && !allKnown(c.argv[1:min(at, len(c.argv))]) {
		a.uncertain(c, 1)
		return true
	}
	for _, h := range s.hits {
		a.apply(h, c)
	}
	end := at
	for end < len(c.argv) && !(c.argv[end].known && strings.HasPrefix(c.argv[end].text, ":::")) {
		end++
	}
	if at >= end {
		a.problem("dynamic", "parallel runs the lines that it reads.")
		a.emit(c)
		if at < len(c.argv) {
			for _, w := range c.argv[at:] {
				if w.known && !strings.HasPrefix(w.text, ":::") {
					a.script1(c.inner(nil, "parallel"), w.text)
				}
			}
		}
		return true
	}
	// parallel joins its words to a shell text, in which the arguments are quoted.
	text := texts(c.argv[at:end])
	inner := c.inner(c.argv[at:end], texts(c.argv[:at]))
	if !allKnown(c.argv[at:end]) {
		a.scriptWords(inner, c.argv[at:end])
		return true
	}
	for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}"} {
		text = strings.ReplaceAll(text, mark, `"$PARALLEL_ARGUMENT"`)
	}
	if !strings.Contains(text, "$PARALLEL_ARGUMENT") {
		text += ` "$PARALLEL_ARGUMENT"`
	}
	a.script1(inner, text)
	return true
}

// findActions are the expressions of find that do more than look, with the number of their operands.
var findActions = map[string]byte{"-delete": '!', "-fprint": 'w', "-fprint0": 'w', "-fprintf": 'w', "-fls": 'w', "-files0-from": 'r',
	"-exec": 'x', "-execdir": 'x', "-ok": 'x', "-okdir": 'x'}

func runFind(a *analysis, c *call) bool {
	argv := c.argv
	starts := "."
	var inner []*call
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		if !w.known && !w.safe() && !w.files {
			c.effect("word " + w.text)
		}
		if i == 1 && w.safe() {
			starts = w.text
		}
		if !w.known {
			continue
		}
		switch findActions[w.text] {
		case '!':
			c.effect("option " + w.text)
			c.writes = a.file(c.writes, word{text: starts, known: !isGlob(starts)}, "find", c.sc, true)
		case 'w', 'r':
			if i+1 < len(argv) {
				i++
				if findActions[w.text] == 'w' {
					c.writes = a.file(c.writes, argv[i], "find", c.sc, true)
				} else {
					c.reads = a.file(c.reads, argv[i], "find", c.sc, false)
				}
			}
		case 'x':
			end := i + 1
			for end < len(argv) && !(argv[end].known && (argv[end].text == ";" || argv[end].text == "+" && end > i+1 && argv[end-1].text == "{}")) {
				end++
			}
			words := slices.Clone(argv[min(i+1, len(argv)):end])
			for k := range words {
				if w := &words[k]; w.known && strings.Contains(w.text, "{}") {
					*w = word{text: w.text, head: strings.Replace(w.text[:strings.Index(w.text, "{}")]+"./", "", "", 0), files: true}
				}
			}
			if len(words) > 0 {
				in := c.inner(words, texts(argv[:i+1]))
				in.reads, in.writes, in.outer = nil, nil, nil
				in.sc.effects = c.sc.effects
				in.sc.lost = in.sc.lost || strings.HasSuffix(w.text, "dir")
				inner = append(inner, in)
			}
			i = end
		}
	}
	if len(inner) == 0 {
		return false
	}
	a.emit(c)
	for _, in := range inner {
		a.run(in)
	}
	return true
}

func runFd(a *analysis, c *call) bool {
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if !w.known {
			if !w.safe() && !w.files {
				c.effect("word " + w.text)
			}
			continue
		}
		name, val, has := strings.Cut(w.text, "=")
		exec := name == "-x" || name == "-X" || strings.HasPrefix("--exec-batch", name) && len(name) > 3
		if !exec && len(w.text) > 2 && w.text[0] == '-' && w.text[1] != '-' {
			if k := strings.IndexAny(w.text, "xX"); k > 0 && !strings.ContainsAny(w.text[1:k], "dEetcSojM") {
				exec, has, val = true, w.text[k+1:] != "", w.text[k+1:]
			}
		}
		if !exec {
			continue
		}
		words := slices.Clone(c.argv[i+1:])
		if has {
			words = append([]word{lit(val)}, words...)
		}
		for k := range words {
			if words[k].known && words[k].text == ";" {
				words = words[:k]
				break
			}
		}
		if len(words) == 0 {
			c.effect("option " + name)
			return false
		}
		n := len(words)
		for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}"} {
			replaceToken(words, mark)
		}
		if allKnown(words) {
			words = append(words, word{text: "{}", head: "./", files: true})
		}
		in := c.inner(words[:max(n, len(words))], texts(c.argv[:i+1]))
		in.reads, in.writes, in.outer = nil, nil, nil
		in.sc.effects = c.sc.effects
		a.emit(c)
		a.run(in)
		return true
	}
	return false
}

// shellOptions are those of bash and its relatives. A script after -c is code; a file operand is a program.
var shellOptions = mustOptions("-c -e -u -x:! -v -n -l -i -s -f -h -k -m -p -r -t -a -b -B -C -D -E -H -P -T -o= -O=! +O=! +o= --login --norc --noprofile --noediting --posix --restricted --verbose --version --help --debugger:! --dump-strings --dump-po-strings --pretty-print --rcfile=x --init-file=x -d -g -w -y -1 -2 -3 -4 -5")

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
			o := shellOptions.byName[name]
			if o == nil || o.does != 0 {
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
			c.reads = a.file(c.reads, argv[at], c.name, c.sc, false)
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
var harmlessSet = map[string]bool{"errexit": true, "nounset": true, "pipefail": true, "noclobber": true, "noglob": true, "noexec": true,
	"posix": true, "errtrace": true, "functrace": true, "inherit_errexit": true, "nullglob": true, "failglob": true, "globstar": true, "dotglob": true, "extglob": true, "nocasematch": true, "nocaseglob": true, "lastpipe": true, "globasciiranges": true}

// fresh runs f for a new shell, which shares no variables or functions that are not exported.
func (a *analysis) fresh(f func()) {
	vars, assigned, once, funcs, bodies, numbers := a.vars, a.assigned, a.once, a.funcs, a.bodies, a.numbers
	a.vars, a.assigned, a.once, a.funcs, a.bodies, a.numbers = nil, nil, nil, nil, nil, nil
	f()
	a.vars, a.assigned, a.once, a.funcs, a.bodies, a.numbers = vars, assigned, once, funcs, bodies, numbers
}

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
	}
	c.reads = a.file(c.reads, w, c.name, c.sc, false)
	if c.outer != nil {
		c.outer.lost = true
	}
	// What the file assigns and defines is not known.
	a.once["*"]++
	addEffect(&a.poisons, "source "+w.text)
	return false
}

var suOptions = mustOptions("-c,--command=c --session-command=c -f,--fast -g,--group= -G,--supp-group= -l,--login - -m,-p,--preserve-environment -P,--pty -s,--shell=x -u,--user= -w,--whitelist-environment= -T,--no-pty -h,--help -V,--version")

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

var sshOptions = mustOptions("-4 -6 -A -a -B= -b= -C -c= -D=! -E=w -e= -F=x -f -G -g -I=x -i= -J=! -K -k -L=! -l= -M -m= -N -n -O= -o= -P= -p= -Q= -q -R=! -S= -s -T -t -tt -V -v -vv -vvv -W=! -w= -X -x -Y -y")

func runSSH(a *analysis, c *call) bool {
	s := sshOptions.scan(c.argv[1:], stylePOSIX)
	at := 1 + s.rest
	for _, h := range s.hits {
		a.apply(h, c)
		if h.name == "-o" {
			key, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(h.value.text, " ", "=")), "=")
			if !h.value.known || !harmlessSSH[key] {
				c.effect("option -o " + h.value.text)
			}
		}
	}
	if s.unknown != "" || s.vague != "" {
		c.effect("option " + s.unknown + s.vague)
	}
	if at < len(c.argv) && c.argv[at].known && strings.HasPrefix(c.argv[at].text, "-") {
		c.effect("host " + c.argv[at].text)
	}
	// Options may also stand between the host and the command.
	rest := at + 1
	for rest < len(c.argv) && c.argv[rest].known && strings.HasPrefix(c.argv[rest].text, "-") {
		more := sshOptions.scan(c.argv[rest:], stylePOSIX)
		for _, h := range more.hits {
			c.effect("option " + h.name)
		}
		if more.rest == 0 || more.unknown != "" {
			break
		}
		rest += more.rest
	}
	a.emit(c)
	if rest < len(c.argv) {
		inner := c.inner(c.argv[rest:], texts(c.argv[:rest]))
		inner.reads, inner.writes, inner.outer = nil, nil, nil
		inner.sc.effects = c.sc.effects
		inner.sc.dirs, inner.sc.lost = nil, true
		a.fresh(func() { a.scriptWords(inner, c.argv[rest:]) })
	}
	return true
}

// harmlessSSH are the -o settings that execute nothing and redirect nothing.
var harmlessSSH = map[string]bool{"batchmode": true, "connecttimeout": true, "serveraliveinterval": true, "serveralivecountmax": true,
	"loglevel": true, "port": true, "user": true, "compression": true, "requesttty": true, "numberofpasswordprompts": true,
	"passwordauthentication": true, "addressfamily": true, "tcpkeepalive": true, "connectionattempts": true, "identitiesonly": true}

var flockOptions = mustOptions("-s,--shared -x,-e,--exclusive -u,--unlock -n,--nb,--nonblock -w,--wait,--timeout= -o,--close -E,--conflict-exit-code= -F,--no-fork --fcntl -c,--command= --verbose -h,--help -V,--version")

func runFlock(a *analysis, c *call) bool {
	s := flockOptions.scan(c.argv[1:], stylePOSIX)
	at := 1 + s.rest
	if s.unknown != "" || s.vague != "" && at < len(c.argv) && !c.argv[at].known {
		a.uncertain(c, 1)
		return true
	}
	if at >= len(c.argv) {
		return false
	}
	if f := c.argv[at]; !f.known || !isNumber(f.text) {
		c.writes = a.file(c.writes, f, "flock", c.sc, true)
	}
	rest := at + 1
	if rest < len(c.argv) && c.argv[rest].known && (c.argv[rest].text == "-c" || c.argv[rest].text == "--command") {
		if rest+1 < len(c.argv) {
			a.scriptWords(c.inner(c.argv, "flock"), c.argv[rest+1:rest+2])
			return true
		}
	}
	if rest < len(c.argv) && c.argv[rest].known && strings.HasPrefix(c.argv[rest].text, "-") {
		a.uncertain(c, 1)
		return true
	}
	if rest >= len(c.argv) {
		return false
	}
	inner := c.inner(c.argv[rest:], texts(c.argv[:rest]))
	inner.outer = nil
	a.run(inner)
	return true
}

var scriptOptions = mustOptions("-a,--append -c,--command=c -e,--return -f,--flush --force -I,--log-in=w -O,--log-out=w -B,--log-io=w -T,--log-timing=w -m,--logging-format= -E,--echo= -o,--output-limit= -q,--quiet -t,--timing? -d -k -p -r -F= -h,--help -V,--version")

func runScript(a *analysis, c *call) bool {
	s := scriptOptions.scan(c.argv[1:], styleGNU)
	for _, h := range s.hits {
		a.apply(h, c)
	}
	file := lit("typescript")
	if len(s.operands) > 0 {
		file = s.operands[0]
	}
	c.writes = a.file(c.writes, file, "script", c.sc, true)
	v, ok := s.find("-c", "--command")
	switch {
	case ok:
		inner := c.inner(c.argv, "script")
		inner.outer = nil
		a.fresh(func() { a.scriptWords(inner, []word{v}) })
		return true
	case len(s.operands) > 1: // BSD: script file command
		inner := c.inner(s.operands[1:], "script "+file.text)
		inner.outer = nil
		a.run(inner)
		return true
	}
	a.problem("dynamic", "script starts a shell that runs what it reads.")
	return false
}

func runWatch(a *analysis, c *call) bool {
	w := a.tables.wrappers["watch"]
	if s := w.set.scan(c.argv[1:], stylePOSIX); s.unknown == "" {
		if _, direct := s.find("-x", "--exec"); direct && 1+s.rest < len(c.argv) {
			inner := c.inner(c.argv[1+s.rest:], texts(c.argv[:1+s.rest]))
			inner.outer = nil
			a.run(inner)
			return true
		}
	}
	return false
}

// runCd follows a change of directory. One that stays below the start needs no rule.
func runCd(a *analysis, c *call) bool {
	words := c.argv[1:]
	for len(words) > 0 && words[0].known && (words[0].text == "-P" || words[0].text == "-L" || words[0].text == "-e" || words[0].text == "--" || words[0].text == "-q") {
		words = words[1:]
	}
	outer := c.outer
	if outer == nil {
		outer = &scope{}
	}
	before := outer.dirs
	switch {
	case c.name == "popd" || len(words) > 1:
		outer.lost = true
	case len(words) == 0:
		if a.opts.Home == "" || c.name != "cd" {
			outer.lost = true
		} else {
			outer.dirs = []string{clean(a.opts.Home)}
		}
	case !words[0].known || words[0].text == "-" || strings.HasPrefix(words[0].text, "+") || words[0].text == "":
		outer.lost = true
		if !words[0].known && strings.HasPrefix(words[0].text, "~") {
			outer.dirs = []string{words[0].text}
		}
	default:
		if strings.HasPrefix(words[0].text, "/") {
			outer.lost = false
		}
		outer.dirs = joinDirs(outer.dirs, words[0].text)
		if !outer.lost && a.assigned["CDPATH"] {
			outer.lost = true
		}
	}
	outer.failed = union(outer.failed, before)
	if len(c.writes)+len(c.reads)+len(c.effects)+len(c.sc.effects)+len(c.sc.via) == 0 && !outer.lost && !a.outside(outer.dirs) {
		c.sc.denyOnly = true
	}
	return false
}

// outside says that one of the directories is certainly or possibly not below the start.
func (a *analysis) outside(dirs []string) bool {
	root := clean(a.opts.Dir)
	for _, d := range dirs {
		switch {
		case strings.HasPrefix(d, "/"):
			if root == "" || d != root && !strings.HasPrefix(d, strings.TrimSuffix(root, "/")+"/") {
				return true
			}
		case d == ".." || strings.HasPrefix(d, "../") || strings.HasPrefix(d, "~"):
			return true
		}
	}
	return false
}

var tmuxOptions = mustOptions("-2 -C -D -l -N -u -v -V -f=x -L= -S= -T= -c=x")

func runTmux(a *analysis, c *call) bool {
	// Every tmux command can start programs or type into running ones.
	s := tmuxOptions.scan(c.argv[1:], stylePOSIX)
	for _, h := range s.hits {
		a.apply(h, c)
	}
	words := s.operands
	c.effect("terminal multiplexer")
	a.emit(c)
	for i, w := range words {
		if i > 0 && w.known && (strings.ContainsAny(w.text, " ;|&") || i == len(words)-1) && !strings.HasPrefix(w.text, "-") {
			in := c.inner(c.argv, "tmux")
			in.reads, in.writes, in.outer = nil, nil, nil
			a.fresh(func() { a.script1(in, w.text) })
		}
	}
	return true
}

func runScreen(a *analysis, c *call) bool {
	c.effect("terminal multiplexer")
	a.emit(c)
	set := mustScreen
	s := set.scan(c.argv[1:], stylePOSIX)
	if len(s.operands) > 0 {
		in := c.inner(s.operands, "screen")
		in.reads, in.writes, in.outer = nil, nil, nil
		a.run(in)
	}
	return true
}

var mustScreen = mustOptions("-a -A -c=x -d -D -dm -dmS= -dRR -DR -e= -f -fn -fa -h= -i -ls -L -Logfile=w -m -O -p= -q -Q -r? -R -s=x -S= -t= -T= -U -v -wipe -x -X")

func runNix(a *analysis, c *call) bool {
	c.effect("package manager")
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if !w.known || i+1 >= len(c.argv) {
			continue
		}
		in := c.inner(c.argv[i+1:], texts(c.argv[:i+1]))
		in.reads, in.writes, in.outer = nil, nil, nil
		switch {
		case w.text == "--run" || w.text == "--command" && c.name == "nix-shell":
			a.emit(c)
			a.fresh(func() { a.scriptWords(in, c.argv[i+1:i+2]) })
			return true
		case (w.text == "-c" || w.text == "--command") && c.name == "nix":
			a.emit(c)
			a.run(in)
			return true
		}
	}
	return false
}

func runDaemon(a *analysis, c *call) bool {
	c.effect("service")
	a.uncertain(c, 1)
	return true
}
