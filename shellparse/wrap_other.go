package shellparse

import (
	"strings"

	"callgate/shellparse/programs"
)

var sshOptions = mustOptions("-4 -6 -A -a -B= -b= -C -c= -D=! -E=w -e= -F=x -f -G -g -I=x -i= -J=! -K -k -L=! -l= -M -m= -N -n -O= " +
	"-o= -P= -p= -Q= -q -R=! -S= -s -T -t -tt -V -v -vv -vvv -W=! -w= -X -x -Y -y")

func runSSH(a *analysis, c *call) bool {
	s := sshOptions.scan(c.argv[1:], programs.POSIX)
	at := 1 + s.rest
	for _, h := range s.hits {
		a.apply(h, c)
		if h.name == "-o" {
			key, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(h.value.text, " ", "=")), "=")
			if !h.value.known || !harmlessSSH[key] {
				c.effectOf("option -o "+h.value.text, h)
			}
		}
	}
	if s.unknown != "" || s.vague != "" {
		c.effect("option " + s.unknown + s.vague)
	}
	if at < len(c.argv) && c.argv[at].known && strings.HasPrefix(c.argv[at].text, "-") {
		c.effectAt("host "+c.argv[at].text, c.argv[at])
	}
	// Options may also stand between the host and the command.
	rest := at + 1
	for rest < len(c.argv) && c.argv[rest].known && strings.HasPrefix(c.argv[rest].text, "-") {
		more := sshOptions.scan(c.argv[rest:], programs.POSIX)
		for _, h := range more.hits {
			c.effectOf("option "+h.name, h)
		}
		if more.rest == 0 || more.unknown != "" {
			break
		}
		rest += more.rest
	}
	if rest >= len(c.argv) && c.sc.input.kind != inputNone {
		c.runsInput()
	}
	a.emit(c)
	if rest < len(c.argv) {
		inner := c.child(c.argv[rest:], texts(c.argv[:rest]))
		inner.sc.effects, inner.sc.remote = c.sc.effects, true
		inner.sc.dirs, inner.sc.lost = nil, true
		a.fresh(func() { a.scriptWords(inner, c.argv[rest:]) })
	}
	return true
}

// harmlessSSH are the -o settings that execute nothing and redirect nothing.
var harmlessSSH = map[string]bool{"batchmode": true, "connecttimeout": true, "serveraliveinterval": true, "serveralivecountmax": true,
	"loglevel": true, "port": true, "user": true, "compression": true, "requesttty": true, "numberofpasswordprompts": true,
	"passwordauthentication": true, "addressfamily": true, "tcpkeepalive": true, "connectionattempts": true, "identitiesonly": true}

var flockOptions = mustOptions("-s,--shared -x,-e,--exclusive -u,--unlock -n,--nb,--nonblock -w,--wait,--timeout= -o,--close " +
	"-E,--conflict-exit-code= -F,--no-fork --fcntl -c,--command= --verbose -h,--help -V,--version")

func runFlock(a *analysis, c *call) bool {
	s := flockOptions.scan(c.argv[1:], programs.POSIX)
	at := 1 + s.rest
	if s.unknown != "" || s.vague != "" && at < len(c.argv) && !c.argv[at].known {
		a.uncertain(c, 1)
		return true
	}
	if at >= len(c.argv) {
		return false
	}
	if f := c.argv[at]; !f.known || !isNumber(f.text) {
		c.writes = a.file(c.writes, f, "flock", c.sc)
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

var scriptOptions = mustOptions("-a,--append -c,--command=c -e,--return -f,--flush --force -I,--log-in=w -O,--log-out=w -B,--log-io=w " +
	"-T,--log-timing=w -m,--logging-format= -E,--echo= -o,--output-limit= -q,--quiet -t,--timing? -d -k -p " +
	"-r -F= -h,--help -V,--version")

func runScript(a *analysis, c *call) bool {
	s := scriptOptions.scan(c.argv[1:], programs.GNU)
	for _, h := range s.hits {
		a.apply(h, c)
	}
	file := lit("typescript")
	if len(s.operands) > 0 {
		file = s.operands[0]
	}
	c.writes = a.file(c.writes, file, "script", c.sc)
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
	w := a.tables.wrapper("watch")
	if s := (*optset)(w.Options).scan(c.argv[1:], programs.POSIX); s.unknown == "" {
		if _, direct := s.find("-x", "--exec"); direct && 1+s.rest < len(c.argv) {
			inner := c.inner(c.argv[1+s.rest:], texts(c.argv[:1+s.rest]))
			inner.outer = nil
			a.run(inner)
			return true
		}
	}
	return false
}

var tmuxOptions = mustOptions("-2 -C -D -l -N -u -v -V -f=x -L= -S= -T= -c=x")

func runTmux(a *analysis, c *call) bool {
	// Every tmux command can start programs or type into running ones.
	s := tmuxOptions.scan(c.argv[1:], programs.POSIX)
	for _, h := range s.hits {
		a.apply(h, c)
	}
	words := s.operands
	c.effect("terminal multiplexer")
	a.emit(c)
	for i, w := range words {
		if i > 0 && w.known && (strings.ContainsAny(w.text, " ;|&") || i == len(words)-1) && !strings.HasPrefix(w.text, "-") {
			in := c.child(c.argv, "tmux")
			a.fresh(func() { a.script1(in, w.text) })
		}
	}
	return true
}

func runScreen(a *analysis, c *call) bool {
	c.effect("terminal multiplexer")
	a.emit(c)
	set := mustScreen
	s := set.scan(c.argv[1:], programs.POSIX)
	if len(s.operands) > 0 {
		in := c.child(s.operands, "screen")
		a.run(in)
	}
	return true
}

var mustScreen = mustOptions("-a -A -c=x -d -D -dm -dmS= -dRR -DR -e= -f -fn -fa -h= -i -ls -L -Logfile=w -m -O -p= -q -Q -r? -R -s=x " +
	"-S= -t= -T= -U -v -wipe -x -X")

func runNix(a *analysis, c *call) bool {
	c.effect("package manager")
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if !w.known || i+1 >= len(c.argv) {
			continue
		}
		in := c.child(c.argv[i+1:], texts(c.argv[:i+1]))
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

// runTexts runs programs of which each operand is a shell text.
func runTexts(a *analysis, c *call) bool {
	s := concurrentlyOptions.scan(c.argv[1:], programs.GNU)
	a.emit(c)
	for _, w := range s.operands {
		in := c.child(c.argv, c.name)
		in.sc.effects = c.sc.effects
		a.fresh(func() { a.scriptWords(in, []word{w}) })
	}
	return true
}

var concurrentlyOptions = mustOptions("-n,--names= -c,--prefix-colors= -p,--prefix= -k,--kill-others -s,--success= -r,--raw " +
	"-m,--max-processes= -l,--prefix-length= -i,--handle-input --kill-others-on-fail --restart-tries= " +
	"--restart-after= --hide= --default-input-target= -g,--group -t,--timestamp-format= --no-color " +
	"-P,--passthrough-arguments --teardown=x --cwd=d --shell=x")

func runDaemon(a *analysis, c *call) bool {
	c.effect("service")
	a.uncertain(c, 1)
	return true
}
