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
// one of the system's tools, with the words after it, and each text that begins with one. They are for denials of a
// program that nothing is known of; c itself is the caller's to judge. In the code for an interpreter each text that
// begins with such a tool is one that it may hand to a shell.
func Started(c *Command) (commands []string) {
	if len(c.Argv) < 2 {
		return nil
	}
	a := &analysis{tables: builtinTables()}
	if languageOf(c.Argv[0].Value) != nil {
		for _, w := range c.Argv[1:] {
			for _, m := range quotedText.FindAllString(w.Value, maxCandidates) {
				commands = a.startedBy(commands, m[1:len(m)-1])
			}
		}
		return commands
	}
	for i := 1; i < len(c.Argv) && i <= maxCandidates; i++ {
		if !c.Argv[i].Known {
			continue
		}
		text := c.Argv[i].Value
		if _, value, ok := strings.Cut(text, "="); ok && text[0] == '-' {
			text = value
		}
		if strings.ContainsAny(text, "&|;\n$`(") && strings.ContainsAny(text, " \t") {
			commands = a.startedBy(commands, text)
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
	return commands
}

// quotedText is a string of most languages.
var quotedText = regexp.MustCompile("\"[^\"\\n]+\"|'[^'\\n]+'|`[^`]+`")

// startedBy adds the commands of a text that a program may hand to a shell.
func (a *analysis) startedBy(commands []string, text string) []string {
	if first, _, _ := strings.Cut(strings.TrimSpace(text), " "); !a.systemTool(first) {
		return commands
	}
	script := Parse(text, Options{})
	for i := range script.Commands {
		commands = append(commands, script.Commands[i].Forms()...)
	}
	return commands
}
