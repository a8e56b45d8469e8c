package inspect

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/embedded"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// inspectKill records signals to more processes than the words name.
func inspectKill(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if c.Name == "killall" || c.Name == "skill" || c.Name == "pkill" {
		c.Operates("processes by name")
	}
	if c.Name != "kill" {
		return
	}
	// The first -1 is a signal unless it stands alone. A later -1, 0 and 1 are every process, the process group, and
	// init.
	after := false
	for i, w := range c.Argv[1:] {
		if w.Known && (w.Text == "-1" && (i > 0 || len(c.Argv) == 2) || w.Text == "0" && (after || i > 0) || w.Text == "1" && i > 0) {
			c.EffectAt("every process", w)
		}
		after = after || w.Text == "--"
	}
}

// inspectLess records commands that less runs when it starts.
func inspectLess(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if w.Known && strings.HasPrefix(w.Text, "+") && strings.ContainsAny(w.Text, "!|vsE:#") {
			c.EffectAt("command "+w.Text, w)
		}
	}
}

// inspectTree records an option -o in a bundle: tree takes the values of bundled options from the words after it.
func inspectTree(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "o") {
			c.EffectAt("option "+w.Text, w)
		}
	}
}

// inspectRemove records operands that are the whole directory, or lie above it.
func inspectRemove(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		p := path.Clean(w.Text)
		if p == "/" || p == "." || p == ".." || word.HasPrefix(w.Text, "../", "/*") || strings.HasPrefix(p, "../") ||
			strings.HasPrefix(w.Text, "~") && strings.Count(w.Text, "/") < 2 {
			c.EffectAt("removes "+w.Text, w)
		}
	}
}

// inspectHostname records an operand that sets the host name. Without one, hostname shows it.
func inspectHostname(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	if len(s.Operands) > 0 {
		c.EffectAt("sets the host name", s.Operands[0])
	}
}

// inspectDate records an operand that sets the clock. Without one, date shows it.
func inspectDate(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		if !w.Known && !w.Safe() || w.Known && !strings.HasPrefix(w.Text, "+") {
			c.EffectAt("sets the clock", w)
		}
	}
}

// inspectEnv records that all variables are printed, or one that holds a secret.
func inspectEnv(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if c.Name == "printenv" && len(c.Argv) > 1 && !slices.ContainsFunc(c.Argv[1:], func(w word.Word) bool {
		return !w.Known || strings.HasPrefix(w.Text, "-") || word.SecretName(w.Text)
	}) {
		return
	}
	c.Operates("prints the environment")
}

// inspectLink records what ln links to, which can be read and written through the link, and the links that it makes.
// The target of a symbolic link begins in the folder of the link. A target outside the start directory is an effect.
func inspectLink(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if len(s.Operands) == 0 {
		return
	}
	targets, at := s.Operands, word.Lit("./")
	abbreviates := func(option string) bool {
		return slices.ContainsFunc(c.Argv[1:], func(w word.Word) bool { return strings.HasPrefix(w.Text, option) })
	}
	switch into, ok := s.Find("-t", "--target-directory"); {
	case ok:
		into.Text += "/"
		at = into
	case abbreviates("--t"):
		at.Known = false
	case len(targets) > 1:
		targets, at = targets[:len(targets)-1], targets[len(targets)-1]
	}
	for _, w := range intoTarget(targets, at) {
		if w.Text != "./" {
			a.Writes(c, w)
		}
	}
	links := func(t word.Word, text string, unclear bool) {
		if !t.Known || unclear || a.Outside(word.JoinDirs(c.Sc.Dirs, text)) {
			c.EffectAt("links to "+t.Text, t)
		}
		t.Text = text
		a.Reads(c, t)
		a.Writes(c, t)
	}
	_, symbolic := s.Find("-s", "--symbolic")
	_, relative := s.Find("-r", "--relative")
	mayBegin := symbolic || abbreviates("--s")
	for _, t := range targets {
		begins := mayBegin && !relative && t.Known && !path.IsAbs(t.Text)
		if begins {
			up := strings.TrimLeft(t.Text, "./") // what .. leads to behind a name depends on links
			links(t, path.Join(folderOf(at.Text), t.Text), !at.Known || slices.Contains(strings.Split(up, "/"), ".."))
		}
		if !begins || !symbolic {
			links(t, t.Text, false)
		}
	}
}

// folderOf returns the folder of what a word names. A word that ends in a slash or in dots names a folder itself.
func folderOf(text string) string {
	if base := path.Base(text); strings.HasSuffix(text, "/") || base == "." || base == ".." {
		return text
	}
	return path.Dir(text)
}

// inspectMode checks the permissions that chmod and install give files.
func inspectMode(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	mode, ok := s.Find("-m", "--mode")
	for i, w := range c.Argv {
		if name, value, attached := strings.Cut(w.Text, "="); len(name) > 2 && strings.HasPrefix("--mode", name) {
			if mode, ok = (word.Word{Text: value, Known: w.Known}), true; !attached && i+1 < len(c.Argv) {
				mode = c.Argv[i+1]
			}
		}
	}
	if c.Name == "chmod" && len(s.Operands) > 0 {
		mode, ok = s.Operands[0], true
		for _, w := range c.Argv[1:] { // -w+s removes one permission and gives another
			c.Sc.Escalates = c.Sc.Escalates || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && setsID(w.Text)
		}
	}
	switch m := mode.Text; {
	case !ok:
	case !mode.Known:
		c.Effect("mode " + m)
	case setsID(m):
		c.Sc.Escalates = true
	case strings.Contains(m, "t") && strings.ContainsAny(m, "+="), word.IsNumber(m) && len(strings.TrimLeft(m, "0")) > 3:
		c.EffectAt("mode "+m, mode)
	}
}

// setsID reports whether a mode lets whoever runs the file act as its owner or its group: 4755, u+xs, +4000.
func setsID(mode string) bool {
	for _, m := range octal.FindAllStringSubmatch(mode, -1) {
		if bits, err := strconv.ParseUint(m[1], 8, 32); err != nil || bits&0o6000 != 0 {
			return true
		}
	}
	gives := false
	for _, r := range mode {
		switch r {
		case '+', '=':
			gives = true
		case '-', ',':
			gives = false
		case 's':
			if gives {
				return true
			}
		}
	}
	return false
}

// octal matches the numbers in a mode that give permissions.
var octal = lazyregexp.New(`(?:^|[+=])([0-7]+)`)

// inspectDeclare records what export and similar builtins set when they are reached as commands.
func inspectDeclare(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	a.Shell.Locks = a.Shell.Locks || c.Name != "export"
	for _, w := range c.Argv[1:] {
		text := w.Text
		if !w.Known {
			text = w.Head
			if !strings.Contains(text, "=") {
				evaluates(a, c, w)
				continue
			}
		}
		if strings.HasPrefix(text, "-") {
			if c.Name != "export" && c.Name != "readonly" && strings.ContainsAny(text, "ni") {
				a.Found.Problem("dynamic", "What "+c.Name+" "+text+" declares can run code.")
			}
			if c.Name == "export" && strings.Contains(text, "f") {
				a.Found.Poison("export -f")
			}
			continue
		}
		name, val, ok := strings.Cut(text, "=")
		a.Words.Forget(word.Lit(name))
		if strings.ContainsAny(name, "[$`") {
			evaluates(a, c, w)
		}
		if e := walk.ExportEffect(a, name, word.Word{Text: val, Known: w.Known}, c.Sc); ok && e != "" {
			a.Found.Poison(e)
		}
	}
	if len(c.Argv) == 1 || c.Argv[1].Text == "-p" || c.Argv[1].Text == "-x" {
		c.Operates("prints the environment")
	}
}

// calculates reports whether a text for dc or bc has only numbers, operators and print commands; for bc also names.
func calculates(name, text string) bool {
	set := "0123456789 .+-*/%^~|_\n"
	if name == "dc" {
		set += "vpnfckrdizZX"
	} else {
		set += "()=<>;,{}\"abcdefghijklmnopqrstuvwxyz"
	}
	return strings.TrimLeft(text, set) == ""
}

// inspectCalc records code that calculators can execute: dc and bc run shell commands after an exclamation mark.
func inspectCalc(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Codes() {
		code(c, w, func(text string) bool { return calculates(c.Name, text) })
	}
	if c.Name == "dc" && len(s.Operands) > 0 {
		c.EffectAt("code in a file", s.Operands[0])
	}
	if in := c.Sc.Input; c.Name == "dc" && in.Kind != word.InputNone && (!in.Text.Known || !calculates(c.Name, in.Text.Text)) {
		c.RunsInput()
	}
}

// serviceQueries lists subcommands that only query the service manager.
var serviceQueries = word.Set("status show list-units list-unit-files is-active is-enabled is-failed cat list print list-timers list-sockets list-dependencies")

// inspectService records that a service is started, stopped or changed.
func inspectService(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if w.Known && serviceQueries[w.Text] {
			return
		}
	}
	c.Operates("service")
}

// inspectGh records operations that cannot be undone, and servers other than GitHub's, which may get a token.
func inspectGh(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	showsSetting(c)
	for _, w := range s.Operands {
		ghServer(c, w, c.Argv[1].Text == "repo")
	}
	for _, h := range s.Hits {
		switch h.Opt.Last {
		case "--repo":
			ghServer(c, h.Value, true)
		case "--jq":
			code(c, h.Value, embedded.Jq) // jq code sees the environment
		}
	}
	if len(c.Argv) < 3 || !c.Argv[1].Known || !c.Argv[2].Known {
		return
	}
	switch c.Argv[2].Text {
	case "download":
		if _, named := s.Find("-O", "--output"); !named {
			c.Effect("names of files that come from elsewhere")
			if _, into := s.Find("-D", "--dir"); !into {
				c.Writes = a.Words.File(c.Writes, word.Lit("."), "gh", c.Sc)
			}
		}
	case "delete", "merge", "rename", "archive", "transfer", "upload", "enable", "disable":
		c.Operates(c.Argv[1].Text + " " + c.Argv[2].Text)
	}
}

// ghServer records the server in a word of gh: in an address, or in [HOST/]OWNER/REPO if the word is a repository.
func ghServer(c *walk.Call, w word.Word, repository bool) {
	_, rest, address := strings.Cut(w.Text, "://")
	if !address {
		rest = w.Text
	}
	host, _, _ := strings.Cut(strings.ToLower(rest), "/")
	if (address || repository && strings.Count(rest, "/") > 1) && host != "github.com" && host != "api.github.com" {
		c.EffectAt("server "+host, w)
	}
}

// inspectCron records commands that run later, without supervision.
func inspectCron(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if c.Name == "crontab" && len(c.Argv) == 2 && c.Argv[1].Text == "-l" {
		return
	}
	c.Operates("runs commands later")
}

// inspectOpenssl records subcommands that talk to other machines.
func inspectOpenssl(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if len(c.Argv) < 2 {
		return
	}
	switch c.Argv[1].Text {
	case "s_client", "s_server", "s_time", "ocsp", "engine", "", "ts":
		c.Operates("network")
	}
	for _, w := range c.Argv[2:] {
		if strings.Contains(w.Text, "://") { // openssl loads certificates from there
			c.EffectAt("address "+w.Text, w)
		}
	}
}
