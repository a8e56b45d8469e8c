package shellparse

import "testing"

// TestDenyBehindLaunchers checks that a deny sees the program that another program starts, and that no rule for the
// outer program allows it.
func TestDenyBehindLaunchers(t *testing.T) {
	for _, text := range []string{
		"env - rm x", "env -i - rm x", "env - A=1 rm x", "env -S '- rm x'",
		"ssh-agent rm x", "ssh-agent -t 60 rm x", "ssh-agent -a s -- rm x",
		"ld.so /bin/rm x", "/lib64/ld-linux-x86-64.so.2 /bin/rm x", "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 --argv0 y /bin/rm x",
		"/lib/ld-musl-x86_64.so.1 --preload z rm x", "../../lib64/ld-2.31.so /bin/rm x",
		"bwrap --ro-bind / / rm x", "bwrap --dev-bind / / --unshare-all -- rm x", "firejail --quiet rm x",
		"faketime '2020-01-01 00:00:00' rm x", "faketime -f '-1d' rm x", "setuidgid nobody rm x",
		"xterm -e rm x", "xterm -e 'rm x'", "xterm -e 'true; rm x'", "gnome-terminal -- rm x", "gnome-terminal --command='rm x'",
		"/usr/bin/konsole -e rm x", "openvt -s -- rm x", "kitty rm x", "foot rm x", "wezterm start -- rm x",
		"systemd-inhibit --what=idle rm x", "systemd-cat -t a rm x", "ifne rm x", "logsave f rm x", "sshpass -p a rm x",
		"qemu-x86_64 /bin/rm x", "arch -arm64 rm x", "gdb rm x", "gdb --args rm x", "runcon u:r:t rm x", "gdbserver :1 rm x",
	} {
		s := Parse(text, Options{Dir: "/w"})
		if got := judge(s, []string{"*"}, []string{"rm *"}, nil); got != "deny" {
			t.Errorf("%q: %s, want deny:%s", text, got, describe(s))
		}
		if got := judge(s, []string{"env *", "ssh-agent *", "ld.so *", "xterm *", "bwrap *", "gdb *"}, nil, nil); got == "allow" {
			t.Errorf("%q: allowed without a rule for rm", text)
		}
	}
	for _, text := range []string{"arch", "kitty --version", "ssh-agent -k", "env -", "qemu-img info x", "env A=1 ls"} {
		if s := Parse(text, Options{Dir: "/w"}); len(s.Problems) > 0 {
			t.Errorf("%q: %v", text, s.Problems)
		}
	}
}
