package tools

import (
	"strings"
	"testing"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
	"callgate/shellparse/programs"
)

// noWritingOptions lists programs without an option or operand that writes a file, runs a program, loads code or talks
// to another machine. They need no options in the table.
var noWritingOptions = wording.Set(`dirs pwd echo true false : [[ (( sleep exit return break continue
	shift umask ulimit type fg bg disown times tr seq yes help basename dirname realpath readlink pathchk expr factor getconf
	locale tput tty clear cal ncal which whereis whoami id groups w uptime uname arch nproc free vmstat iostat top htop netstat
	lscpu lsblk lsmod sw_vers system_profiler ipcs logname ifconfig route`)

// TestReadOnlyIsDescribed checks that a command that is READ_ONLY by its words alone has an entry that lists the
// options that make it more.
func TestReadOnlyIsDescribed(t *testing.T) {
	for c := range programs.All {
		if c.Risk != programs.ReadOnly || strings.Contains(c.Name, "*") {
			continue
		}
		if c.Name == "git" || c.Name == "go help" {
			continue // they show a help text
		}
		if !noWritingOptions[c.Name] && !described(c.Name) {
			t.Errorf("%q is READ_ONLY, and no entry says what its options do", c.Name)
		}
	}
}

// described reports whether there is a row for a command, or for it with fewer words.
func described(command string) bool {
	words := strings.Fields(command)
	for n := range words {
		if hasRow(words[:len(words)-n]) {
			return true
		}
	}
	return false
}

// hasRow reports whether the table knows the options of a program, or of one with its subcommand.
func hasRow(names []string) bool {
	c := programs.Find(append([]string{programs.Canonical(names[0])}, names[1:]...)...)
	if c.Row != nil {
		return len(c.Row.Subcommands) == 0
	}
	return c.Handler != "" || c.Inspector != ""
}

// TestDoubtfulCommandsAsk checks that commands that run code, write or reach other machines are not READ_ONLY.
func TestDoubtfulCommandsAsk(t *testing.T) {
	for _, command := range []string{
		"mlr put system a", "fx a x", "fzf", "delta a", "cloc .", "gron https://x", "glow https://x", "xq -i . a",
		"rpm -E x", "rpm -i x", "rpm -e x", "rpm x", "ip netns exec x id", "ip vrf exec x id", "ip -batch f", "ip addr add x",
		"ip addr a x", "ip l s eth0 down", "ifconfig eth0 1.2.3.4", "poetry env use ./evil", "poetry env remove x", "poetry version patch",
		"conda env create -f x", "conda env update", "conda env remove", "bun pm pkg set x", "bun pm trust x",
		"npm pkg set a=b", "npm pkg delete a", "npm pkg fix", "npm fund x", "unix2dos a", "dos2unix a", "terraform providers mirror d",
		"terraform providers lock", "getent hosts x", "getent ahosts x", "python -m pip list --index-url x", "python -m pip list --python ./evil",
		"rustup toolchain install x", "openssl req -new", "xmllint http://x", "xmllint --noent a", "apt-cache gencaches", "git remote show origin",
	} {
		if got := commands.Risks(strings.Fields(command)[0], words(strings.Fields(command)...).Argv[1:]); got == permissions.ReadOnly {
			t.Errorf("%s is %v", command, got)
		}
	}
	for _, command := range []string{
		"npm pkg get name", "npm ls", "ip addr", "ip a", "ip addr show eth0", "ip -br link", "ip route get x", "ip r", "rpm -qa", "rpm -qi bash",
		"poetry show", "poetry version", "poetry env info", "conda env list", "bun pm ls", "terraform providers", "getent passwd root",
		"python -m json.tool a", "python -m pip list", "xmllint --noout a", "apt-cache search x", "docker compose config", "openssl x509 -in a",
		"ifconfig", "numfmt --to iec 1", "iconv -f latin1 a", "csvcut -c 1 a", "systemctl status x", "ps aux",
	} {
		if got := commands.Risks(strings.Fields(command)[0], words(strings.Fields(command)...).Argv[1:]); got != permissions.ReadOnly {
			t.Errorf("%s is %v", command, got)
		}
	}
}
