package shellparse

import (
	"path"
	"regexp"
	"strings"
)

// launchers run a program that their words name somewhere: behind options that differ between versions, behind a
// file or an address, as a text for a shell. Nothing of that is certain.
var launchers = set("bwrap firejail nsjail minijail0 proot systemd-nspawn schroot flatpak-spawn host-spawn distrobox-enter " +
	"sandbox-exec openvt xterm uxterm lxterm koi8rxterm rxvt urxvt urxvtc aterm eterm st alacritty kitty foot footclient " +
	"konsole yakuake gnome-terminal kgx ptyxis mate-terminal xfce4-terminal lxterminal qterminal terminator tilix " +
	"terminology guake wezterm ghostty cool-retro-term x-terminal-emulator xinit startx cage gamescope sshpass logsave " +
	"setlock lckdo runcon kcov uftrace gdbserver dtach abduco zellij mispipe pee arch box64 box86 dtruss truss ktrace " +
	"pidproxy foreman honcho summon envconsul nq sem rush")

// launcher is the name by which a program that runs another is known, "" for other programs.
func launcher(program string) string {
	base := path.Base(program)
	switch {
	case base == "ld.so", strings.HasPrefix(base, "ld-") && strings.Contains(base, ".so"), strings.HasPrefix(base, "ld64.so"):
		return "ld.so"
	case launchers[base], strings.HasPrefix(base, "qemu-") && !strings.HasPrefix(base, "qemu-img") && !strings.HasPrefix(base, "qemu-system"):
		return base
	}
	return ""
}

// runLauncher records a launcher with each word that may be the program, and each that may be a text.
func (a *analysis) runLauncher(c *call) bool {
	if len(c.argv) < 2 || onlyAsks(c.argv[1:]) {
		return false
	}
	a.uncertain(c, 1)
	for _, w := range c.argv[1:] {
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if w.known && strings.ContainsAny(text, " \t\n;|&") {
			in := c.inner(c.argv, c.name)
			in.reads, in.writes, in.outer = nil, nil, nil
			a.fresh(func() { a.script1(in, text) })
		}
	}
	return true
}

// Started returns the commands that c may start if it is a program which starts others: each of its words that names
// one of the system's tools, with the words after it, and what is in each text that could be one for a shell. They are
// for denials of a program that nothing is known of; c itself is the caller's to judge.
func Started(c *Command) (commands []string) {
	if len(c.Argv) < 2 && !c.Input.Known {
		return nil
	}
	a := &analysis{tables: builtinTables()}
	coded := languageOf(c.Argv[0].Value) != nil || strings.HasSuffix(c.Argv[0].Value, "awk")
	for i := 1; i < len(c.Argv) && i <= maxCandidates; i++ {
		if !c.Argv[i].Known {
			continue
		}
		text := c.Argv[i].Value
		if _, value, ok := strings.Cut(text, "="); ok && text[0] == '-' {
			text = value
		}
		if coded {
			commands = append(commands, a.spelled(text)...)
			continue
		}
		text = strings.TrimPrefix(text, "!") // an alias of git
		if strings.ContainsAny(text, ";|&\n`") || strings.Contains(text, "$(") {
			commands = append(commands, contained(text)...)
			continue
		}
		words := strings.Fields(text)
		if len(words) == 0 || !a.systemTool(words[0]) {
			continue
		}
		words[0] = a.programName(words[0])
		if len(words) == 1 {
			for _, w := range c.Argv[i+1:] {
				words = append(words, w.Value)
			}
		}
		commands = append(commands, strings.Join(words, " "))
	}
	if c.Input.Known && len(c.Input.Value) <= maxText {
		if coded {
			return append(commands, a.spelled(c.Input.Value)...)
		}
		text := c.Input.Value
		if c.Argv[0].Value == "crontab" {
			text = cronTimes.ReplaceAllString(text, "")
		}
		commands = append(commands, contained(text)...)
	}
	return commands
}

// cronTimes is when a line of a crontab runs.
var cronTimes = regexp.MustCompile(`(?m)^[ \t]*(@\w+|(\S+[ \t]+){4}\S+)[ \t]+`)

// contained returns the commands of a text that could be one for a shell.
func contained(text string) (commands []string) {
	s := Parse(text, Options{})
	for i := range s.Commands {
		if i == maxCandidates {
			break
		}
		commands = append(commands, s.Commands[i].Forms()...)
	}
	return commands
}

// stringLiteral is a string in most languages.
var stringLiteral = regexp.MustCompile("\"([^\"\\n]{1,500})\"|'([^'\\n]{1,500})'|`([^`\\n]{1,500})`")

// spelled returns the commands that the strings in code spell: one that begins with the name of a tool, or several of
// which the first is one.
func (a *analysis) spelled(code string) (commands []string) {
	found := stringLiteral.FindAllStringSubmatch(code, maxCandidates)
	for i := range found {
		text := found[i][1] + found[i][2] + found[i][3]
		words := strings.Fields(text)
		if len(words) == 0 || !a.systemTool(words[0]) {
			continue
		}
		if len(words) == 1 {
			for _, next := range found[i+1:] {
				words = append(words, next[1]+next[2]+next[3])
			}
			text = strings.Join(words, " ")
		}
		commands = append(commands, contained(text)...)
	}
	return commands
}
