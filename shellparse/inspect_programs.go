package shellparse

import (
	"path"
	"slices"
	"strings"
)

// inspectKill notes signals to more processes than the words name.
func inspectKill(_ *analysis, c *call, _ *scanned) {
	if c.name == "killall" || c.name == "skill" || c.name == "pkill" {
		c.operates("processes by name")
	}
	if c.name != "kill" {
		return
	}
	// The first -1 is a signal unless it stands alone; a later one, 0 and 1 are every process, the own group, init.
	after := false
	for i, w := range c.argv[1:] {
		if w.known && (w.text == "-1" && (i > 0 || len(c.argv) == 2) || w.text == "0" && (after || i > 0) || w.text == "1" && i > 0) {
			c.effectAt("every process", w)
		}
		after = after || w.text == "--"
	}
}

// inspectLess notes commands that less runs when it starts.
func inspectLess(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if w.known && strings.HasPrefix(w.text, "+") && strings.ContainsAny(w.text, "!|vsE:#") {
			c.effectAt("command "+w.text, w)
		}
	}
}

// inspectRemove notes operands that reach above the directory, or take it whole.
func inspectRemove(_ *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		p := path.Clean(w.text)
		if p == "/" || p == "." || p == ".." || hasPrefix(w.text, "../", "/*") || strings.HasPrefix(p, "../") ||
			strings.HasPrefix(w.text, "~") && strings.Count(w.text, "/") < 2 {
			c.effectAt("removes "+w.text, w)
		}
	}
}

// inspectHostname and inspectDate note that an operand sets what the command else shows.
func inspectHostname(_ *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 {
		c.effectAt("sets the host name", s.operands[0])
	}
}

func inspectDate(_ *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		if !w.known && !w.safe() || w.known && !strings.HasPrefix(w.text, "+") {
			c.effectAt("sets the clock", w)
		}
	}
}

// inspectEnv notes that every variable is printed, or one that holds a secret.
func inspectEnv(_ *analysis, c *call, _ *scanned) {
	if c.name == "printenv" && len(c.argv) > 1 && !slices.ContainsFunc(c.argv[1:], func(w word) bool {
		return !w.known || strings.HasPrefix(w.text, "-") || secretName(w.text)
	}) {
		return
	}
	c.operates("prints the environment")
}

// inspectLink notes links that lead out of the directory.
func inspectLink(a *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 {
		if t := s.operands[0]; !t.known || a.outside(joinDirs(c.sc.dirs, t.text)) {
			c.effectAt("links to "+t.text, t)
		}
	}
}

// inspectMode notes bits that let others run a program as its owner.
func inspectMode(_ *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 && s.operands[0].known && c.name == "chmod" {
		m := s.operands[0].text
		if strings.ContainsAny(m, "st") && strings.ContainsAny(m, "+=") || len(m) == 4 && m[0] != '0' && isNumber(m) {
			c.effectAt("mode "+m, s.operands[0])
		}
	}
}

// inspectDeclare notes what export and its kin set when they are reached as commands.
func inspectDeclare(a *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		text := w.text
		if !w.known {
			text = w.head
			if !strings.Contains(text, "=") {
				evaluates(a, c, w)
				continue
			}
		}
		if strings.HasPrefix(text, "-") {
			if c.name != "export" && c.name != "readonly" && strings.ContainsAny(text, "ni") {
				a.problem("dynamic", "What "+c.name+" "+text+" declares can run code.")
			}
			continue
		}
		name, val, ok := strings.Cut(text, "=")
		a.forget(lit(name))
		if strings.ContainsAny(name, "[$`") {
			evaluates(a, c, w)
		}
		if e := a.envEffect(name, word{text: val, known: w.known}); ok && e != "" {
			a.poison(e)
		}
	}
	if len(c.argv) == 1 || c.argv[1].text == "-p" || c.argv[1].text == "-x" {
		c.operates("prints the environment")
	}
}

// calculates says that a text for dc or bc is made of numbers, operators and what prints; in bc of names, too.
func calculates(name, text string) bool {
	set := "0123456789 .+-*/%^~|_\n"
	if name == "dc" {
		set += "vpnfckrdizZX"
	} else {
		set += "()=<>;,{}\"abcdefghijklmnopqrstuvwxyz"
	}
	return strings.TrimLeft(text, set) == ""
}

// inspectCalc notes calculators that get code they can execute: dc and bc run shell commands with an
// exclamation mark.
func inspectCalc(_ *analysis, c *call, s *scanned) {
	for _, w := range s.codes() {
		c.code(w, func(text string) bool { return calculates(c.name, text) })
	}
	if c.name == "dc" && len(s.operands) > 0 {
		c.effectAt("code in a file", s.operands[0])
	}
	if in := c.sc.input; c.name == "dc" && in.kind != inputNone && (!in.text.known || !calculates(c.name, in.text.text)) {
		c.runsInput()
	}
}

// serviceQueries only ask the service manager.
var serviceQueries = set("status show list-units list-unit-files is-active is-enabled is-failed cat list print list-timers list-sockets list-dependencies")

// inspectService notes that a service is started, stopped or changed.
func inspectService(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if w.known && serviceQueries[w.text] {
			return
		}
	}
	c.operates("service")
}

// inspectGh notes what cannot be taken back.
func inspectGh(a *analysis, c *call, s *scanned) {
	c.showsSetting()
	if len(c.argv) < 3 || !c.argv[1].known || !c.argv[2].known {
		return
	}
	switch c.argv[2].text {
	case "download":
		if _, named := s.find("-O", "--output"); !named {
			c.effect("names of files that come from elsewhere")
			if _, into := s.find("-D", "--dir"); !into {
				c.writes = a.file(c.writes, lit("."), "gh", c.sc)
			}
		}
	case "delete", "merge", "rename", "archive", "transfer", "upload", "enable", "disable":
		c.operates(c.argv[1].text + " " + c.argv[2].text)
	}
}

// inspectCron notes commands that run when nobody looks.
func inspectCron(_ *analysis, c *call, _ *scanned) {
	if c.name == "crontab" && len(c.argv) == 2 && c.argv[1].text == "-l" {
		return
	}
	c.operates("runs commands later")
}

// inspectOpenssl notes subcommands that talk to other machines.
func inspectOpenssl(_ *analysis, c *call, _ *scanned) {
	if len(c.argv) > 1 {
		switch c.argv[1].text {
		case "s_client", "s_server", "s_time", "ocsp", "engine", "", "ts":
			c.operates("network")
		}
	}
}
