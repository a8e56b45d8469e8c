package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

var sshOptions = word.MustOptions("-4 -6 -A -a -B= -b= -C -c= -D=! -E=w -e= -F=x -f -G -g -I=x -i= -J=! -K -k -L=! -l= -M -m= -N -n -O= " +
	"-o= -P= -p= -Q= -q -R=! -S= -s -T -t -tt -V -v -vv -vvv -W=! -w= -X -x -Y -y")

func runSSH(a *walk.Walker, c *walk.Call) bool {
	s := sshOptions.Scan(c.Argv[1:], programs.POSIX)
	at := 1 + s.Rest
	for _, h := range s.Hits {
		apply(a, h, c)
		if h.Name == "-o" {
			key, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(h.Value.Text, " ", "=")), "=")
			if !h.Value.Known || !harmlessSSH[key] {
				c.EffectOf("option -o "+h.Value.Text, h)
			}
		}
	}
	if s.Unknown != "" || s.Vague != "" {
		c.Effect("option " + s.Unknown + s.Vague)
	}
	if at < len(c.Argv) && c.Argv[at].Known && strings.HasPrefix(c.Argv[at].Text, "-") {
		c.EffectAt("host "+c.Argv[at].Text, c.Argv[at])
	}
	// Options may also stand between the host and the command.
	rest := at + 1
	for rest < len(c.Argv) && c.Argv[rest].Known && strings.HasPrefix(c.Argv[rest].Text, "-") {
		more := sshOptions.Scan(c.Argv[rest:], programs.POSIX)
		for _, h := range more.Hits {
			c.EffectOf("option "+h.Name, h)
		}
		if more.Rest == 0 || more.Unknown != "" {
			break
		}
		rest += more.Rest
	}
	if rest >= len(c.Argv) && c.Sc.Input.Kind != word.InputNone {
		c.RunsInput()
	}
	a.Emit(c)
	if rest < len(c.Argv) {
		inner := c.Child(c.Argv[rest:], word.JoinTexts(c.Argv[:rest]))
		inner.Sc.Effects, inner.Sc.Remote = c.Sc.Effects, true
		inner.Sc.Dirs, inner.Sc.Lost = nil, true
		a.Words.Fresh(func() { a.RunWords(inner, c.Argv[rest:]) })
	}
	return true
}

// harmlessSSH lists the -o settings that execute nothing and redirect nothing.
var harmlessSSH = map[string]bool{"batchmode": true, "connecttimeout": true, "serveraliveinterval": true, "serveralivecountmax": true,
	"loglevel": true, "port": true, "user": true, "compression": true, "requesttty": true, "numberofpasswordprompts": true,
	"passwordauthentication": true, "addressfamily": true, "tcpkeepalive": true, "connectionattempts": true, "identitiesonly": true}

var flockOptions = word.MustOptions("-s,--shared -x,-e,--exclusive -u,--unlock -n,--nb,--nonblock -w,--wait,--timeout= -o,--close " +
	"-E,--conflict-exit-code= -F,--no-fork --fcntl -c,--command= --verbose -h,--help -V,--version")

func runFlock(a *walk.Walker, c *walk.Call) bool {
	s := flockOptions.Scan(c.Argv[1:], programs.POSIX)
	at := 1 + s.Rest
	if s.Unknown != "" || s.Vague != "" && at < len(c.Argv) && !c.Argv[at].Known {
		a.Uncertain(c, 1)
		return true
	}
	if at >= len(c.Argv) {
		return false
	}
	if f := c.Argv[at]; !f.Known || !word.IsNumber(f.Text) {
		c.Writes = a.Words.File(c.Writes, f, "flock", c.Sc)
	}
	rest := at + 1
	if rest < len(c.Argv) && c.Argv[rest].Known && (c.Argv[rest].Text == "-c" || c.Argv[rest].Text == "--command") {
		if rest+1 < len(c.Argv) {
			a.RunWords(c.Inner(c.Argv, "flock"), c.Argv[rest+1:rest+2])
			return true
		}
	}
	if rest < len(c.Argv) && c.Argv[rest].Known && strings.HasPrefix(c.Argv[rest].Text, "-") {
		a.Uncertain(c, 1)
		return true
	}
	if rest >= len(c.Argv) {
		return false
	}
	inner := c.Inner(c.Argv[rest:], word.JoinTexts(c.Argv[:rest]))
	inner.Outer = nil
	a.Run(inner)
	return true
}

var scriptOptions = word.MustOptions("-a,--append -c,--command=c -e,--return -f,--flush --force -I,--log-in=w -O,--log-out=w -B,--log-io=w " +
	"-T,--log-timing=w -m,--logging-format= -E,--echo= -o,--output-limit= -q,--quiet -t,--timing? -d -k -p " +
	"-r -F= -h,--help -V,--version")

func runScript(a *walk.Walker, c *walk.Call) bool {
	s := scriptOptions.Scan(c.Argv[1:], programs.GNU)
	for _, h := range s.Hits {
		apply(a, h, c)
	}
	file := word.Lit("typescript")
	if len(s.Operands) > 0 {
		file = s.Operands[0]
	}
	c.Writes = a.Words.File(c.Writes, file, "script", c.Sc)
	v, ok := s.Find("-c", "--command")
	switch {
	case ok:
		inner := c.Inner(c.Argv, "script")
		inner.Outer = nil
		a.Words.Fresh(func() { a.RunWords(inner, []word.Word{v}) })
		return true
	case len(s.Operands) > 1: // BSD: script file command
		inner := c.Inner(s.Operands[1:], "script "+file.Text)
		inner.Outer = nil
		a.Run(inner)
		return true
	}
	a.Found.Problem("dynamic", "script starts a shell that runs what it reads.")
	return false
}

func runWatch(a *walk.Walker, c *walk.Call) bool {
	w := a.Words.Tables.Wrapper("watch")
	if s := (*word.Options)(w.Options).Scan(c.Argv[1:], programs.POSIX); s.Unknown == "" {
		if _, direct := s.Find("-x", "--exec"); direct && 1+s.Rest < len(c.Argv) {
			inner := c.Inner(c.Argv[1+s.Rest:], word.JoinTexts(c.Argv[:1+s.Rest]))
			inner.Outer = nil
			a.Run(inner)
			return true
		}
	}
	return false
}

var tmuxOptions = word.MustOptions("-2 -C -D -l -N -u -v -V -f=x -L= -S= -T= -c=x")

func runTmux(a *walk.Walker, c *walk.Call) bool {
	// Every tmux command can start programs or type into running ones.
	s := tmuxOptions.Scan(c.Argv[1:], programs.POSIX)
	for _, h := range s.Hits {
		apply(a, h, c)
	}
	words := s.Operands
	c.Effect("terminal multiplexer")
	a.Emit(c)
	for i, w := range words {
		if i > 0 && w.Known && (strings.ContainsAny(w.Text, " ;|&") || i == len(words)-1) && !strings.HasPrefix(w.Text, "-") {
			in := c.Child(c.Argv, "tmux")
			a.Words.Fresh(func() { a.RunText(in, w.Text) })
		}
	}
	return true
}

func runScreen(a *walk.Walker, c *walk.Call) bool {
	c.Effect("terminal multiplexer")
	a.Emit(c)
	set := screenOptions
	s := set.Scan(c.Argv[1:], programs.POSIX)
	if len(s.Operands) > 0 {
		in := c.Child(s.Operands, "screen")
		a.Run(in)
	}
	return true
}

var screenOptions = word.MustOptions("-a -A -c=x -d -D -dm -dmS= -dRR -DR -e= -f -fn -fa -h= -i -ls -L -Logfile=w -m -O -p= -q -Q -r? -R -s=x " +
	"-S= -t= -T= -U -v -wipe -x -X")

func runNix(a *walk.Walker, c *walk.Call) bool {
	c.Effect("package manager")
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		if !w.Known || i+1 >= len(c.Argv) {
			continue
		}
		in := c.Child(c.Argv[i+1:], word.JoinTexts(c.Argv[:i+1]))
		switch {
		case w.Text == "--run" || w.Text == "--command" && c.Name == "nix-shell":
			a.Emit(c)
			a.Words.Fresh(func() { a.RunWords(in, c.Argv[i+1:i+2]) })
			return true
		case (w.Text == "-c" || w.Text == "--command") && c.Name == "nix":
			a.Emit(c)
			a.Run(in)
			return true
		}
	}
	return false
}

// runTexts runs a program whose operands are each a shell text.
func runTexts(a *walk.Walker, c *walk.Call) bool {
	s := concurrentlyOptions.Scan(c.Argv[1:], programs.GNU)
	a.Emit(c)
	for _, w := range s.Operands {
		in := c.Child(c.Argv, c.Name)
		in.Sc.Effects = c.Sc.Effects
		a.Words.Fresh(func() { a.RunWords(in, []word.Word{w}) })
	}
	return true
}

var concurrentlyOptions = word.MustOptions("-n,--names= -c,--prefix-colors= -p,--prefix= -k,--kill-others -s,--success= -r,--raw " +
	"-m,--max-processes= -l,--prefix-length= -i,--handle-input --kill-others-on-fail --restart-tries= " +
	"--restart-after= --hide= --default-input-target= -g,--group -t,--timestamp-format= --no-color " +
	"-P,--passthrough-arguments --teardown=x --cwd=d --shell=x")

func runDaemon(a *walk.Walker, c *walk.Call) bool {
	c.Effect("service")
	a.Uncertain(c, 1)
	return true
}
