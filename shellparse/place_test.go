//go:build unix

package shellparse

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPlaces runs random texts of builtins and fake programs with a real bash. Each file that a text really names must
// be among those that the analysis reports, or the text must be one that no rule may allow.
//
// CALLGATE_PLACES is the number of texts that run, CALLGATE_SEED the first seed.
func TestPlaces(t *testing.T) {
	count, seed := 25, uint64(1)
	for name, value := range map[string]any{"CALLGATE_PLACES": &count, "CALLGATE_SEED": &seed} {
		if s := os.Getenv(name); s != "" {
			if _, err := fmt.Sscan(s, value); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	l := newTerrain(t)
	touched, asked := 0, 0
	for ran := 0; ran < count; seed++ {
		g := route{rand.New(rand.NewPCG(seed, 2)), l, seed%4 != 0}
		text := g.list(1 + int(seed%3))
		s := Parse(text, Options{Dir: l.start, Home: l.home})
		if asks(s) {
			asked++
			continue
		}
		ran++
		files := l.run(t, text)
		touched += len(files)
		if missed := unreported(s, files); len(missed) > 0 {
			t.Errorf("seed %d: bash names %q, which the analysis does not report, for\n%s\n----\n%s%s", seed, missed, l.shrink(t, text), text, describe(s))
		}
	}
	if touched < count/2 {
		t.Errorf("%d texts name only %d files: the test proves little", count, touched)
	}
	t.Logf("%d texts name %d files; %d texts ask", count, touched, asked)
}

// asks reports whether no rule may allow the script, or a file of it may be any.
func asks(s *Script) bool {
	anything := func(f File) bool { return !f.Path.Known && f.Pattern == "" }
	return len(s.Problems) > 0 || slices.ContainsFunc(s.Commands, func(c Command) bool {
		return len(c.Effects) > 0 || len(c.Argv) > 0 && !slices.Contains(strings.Fields(harmlessHere), c.Argv[0].Value) ||
			slices.ContainsFunc(c.Reads, anything) || slices.ContainsFunc(c.Writes, anything)
	})
}

// harmlessHere lists the programs of the texts that a rule could allow.
const harmlessHere = ": cat tee cd pushd popd true false test [ echo printf read set shift unset export declare local readonly return break " +
	"exit trap eval shopt mapfile getopts exec let wait dirs bash sh env pwd continue f g a c k1"

// unreported returns the files that the script does not report.
func unreported(s *Script, files []string) (missed []string) {
	if asks(s) {
		return nil
	}
	for _, name := range files {
		covers := func(f File) bool {
			if f.Path.Known {
				return f.Path.Value == name
			}
			pattern, below := strings.CutSuffix(f.Pattern, "/**")
			ok, err := path.Match(strings.TrimSuffix(pattern, "/"), name)
			return ok || err != nil || below && strings.HasPrefix(name, pattern)
		}
		if !slices.ContainsFunc(s.Commands, func(c Command) bool {
			return slices.ContainsFunc(c.Reads, covers) || slices.ContainsFunc(c.Writes, covers)
		}) {
			missed = append(missed, name)
		}
	}
	return missed
}

// terrain is a tree of folders in which a real bash runs texts.
type terrain struct {
	bash, root, bin, log string
	start, home, out     string
	files                []string // the files that exist before each run
}

func newTerrain(t testing.TB) *terrain {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The tree is deep, so that no text climbs out of it.
	l := &terrain{bash: bash, bin: top + "/bin", log: top + "/log", root: top + "/" + strings.Repeat("u/", 24) + "p"}
	l.start, l.home, l.out = l.root+"/w", l.root+"/home", l.root+"/o"
	for _, d := range []string{l.bin, l.start + "/a/b", l.start + "/c", l.home + "/a", l.out + "/a"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"w", "w/a", "w/a/b", "w/c", "o", "o/a", "home"} {
		l.files = append(l.files, l.root+"/"+d+"/k1")
	}
	l.files = append(l.files, l.start+"/s.sh")
	fake := "#!" + bash + "\nshopt -s globstar dotglob\ncd -P .\nfor a; do\n\t[[ $a == /* ]] || a=$PWD/$a\n\tprintf '%s\\n' \"$a\" >>\"$PROBE_LOG\"\ndone\n" +
		"for f in \"$PROBE_ROOT\"/**/k1; do [[ /dev/stdin -ef $f ]] && printf '%s\\n' \"$f\" >>\"$PROBE_LOG\"; done\necho k2\n"
	for _, name := range []string{"cat", "tee"} {
		if err := os.WriteFile(filepath.Join(l.bin, name), []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "sh", "env"} {
		if p, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(p, filepath.Join(l.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// reset gives the tree its first state.
func (l *terrain) reset(t testing.TB) {
	t.Helper()
	_ = filepath.WalkDir(l.root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(l.files, p) {
			return os.Remove(p)
		}
		return err
	})
	for _, f := range l.files {
		text := "a\n"
		if strings.HasSuffix(f, ".sh") {
			text = "cd a\n"
		}
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(l.log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a text and returns the files that programs were given and that redirections made.
func (l *terrain) run(t testing.TB, text string) (files []string) {
	t.Helper()
	l.reset(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.bash, "--norc", "--noprofile", "-c", text)
	cmd.Dir = l.start
	cmd.Env = []string{"PATH=" + l.bin, "HOME=" + l.home, "LC_ALL=C.UTF-8", "PROBE_LOG=" + l.log, "PROBE_ROOT=" + l.root, "FUNCNEST=6"}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // the exit status does not matter
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group is usually gone
	}
	data, err := os.ReadFile(l.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if base := line[strings.LastIndexByte(line, '/')+1:]; base != "" && base[0] != '-' && !strings.ContainsAny(base, "*?[") && !strings.HasPrefix(line, "/dev/") {
			files = append(files, path.Clean(line))
		}
	}
	_ = filepath.WalkDir(l.root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(l.files, p) {
			files = append(files, p)
		}
		return err
	})
	return files
}

// shrink returns the text without the words that a violation does not need.
func (l *terrain) shrink(t testing.TB, text string) string {
	words := strings.SplitAfter(strings.ReplaceAll(text, "\n", "\n "), " ")
	for n := len(words) / 2; n > 0; {
		cut := false
		for i := 0; i+n <= len(words); i++ {
			less := slices.Concat(words[:i], words[i+n:])
			try := strings.Join(less, "")
			s := Parse(try, Options{Dir: l.start, Home: l.home})
			if asks(s) {
				continue
			}
			if len(unreported(s, l.run(t, try))) > 0 {
				words, cut = less, true
				i--
			}
		}
		if !cut || n > len(words) {
			n /= 2
		}
	}
	return strings.ReplaceAll(strings.Join(words, ""), l.root, "/p")
}

// route makes random texts that change directories and name files.
type route struct {
	r      *rand.Rand
	l      *terrain
	static bool // nearly all words are literals
}

func (g route) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g route) chance(n int) bool { return g.r.IntN(n) == 0 }

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// dir returns a word that names a directory.
func (g route) dir() string {
	if g.static && !g.chance(12) {
		return g.pick("a", "a", "b", "c", "..", "../c", "./a", "a/b", "no", "a/..", g.l.start, g.l.out, g.l.start+"/c", "~", "-", "../..", `"a"`)
	}
	return g.pick("$x", `"$x"`, `"$1"`, "$1", `"$HOME"`, `"$PWD"/a`, `"$OLDPWD"`, "${x:-c}", "~+/a", "~-", "{a,}", "?", "a*", `"$(echo a)"`, "''", "~/a",
		`"${r[0]}"`, "${x%/b}", "$'a'", "+1", "-1", "-0", "${no:-a}", "-P a", "-- a", "-n a", "$no", "$(pwd)/a", "c a")
}

// file returns a word that names a file.
func (g route) file() string {
	if g.static && !g.chance(12) {
		return g.pick("k1", "k1", "k1", "a/k1", "../k1", "k2", "./k1", "b/k1", g.l.out+"/k1", "~/k1")
	}
	return g.pick("$x", `"$x"`, `"$1"`, "$2", `"$@"`, "*", "a/*", "k{1,2}", "k?", "${x:-k1}", `"$PWD/k1"`, `"$(cat k1)"`, "$(<k1)", `"${r[@]}"`, "${r[1]}", "~+/k1", "~-/k1",
		"$'k1'", "k$n", `k"$n"`, "${x}1", "${x#a}", `"$l"`, "$i", "[k]1", "$(cd a; cat k1)k2", `<(cat k1)`, "{a,c}/k1", "$#", "$IFS")
}

func (g route) target() string {
	if g.static {
		return g.pick("o1", "o2", "a/o1", "../o1", "o1")
	}
	return g.pick("o1", "../o1", `"$x"`, "o$n")
}

// move returns a command that changes the directory.
func (g route) move() string {
	d := g.dir()
	switch g.r.IntN(30) {
	case 0, 1, 2:
		return "pushd " + d
	case 3:
		return g.pick("popd", "pushd", "cd", "popd -n", "pushd +1", "popd +0", "cd -", "pushd -n "+d, "dirs -c", "pushd -0", "cd - || exit", "cd .. || exit\ncd -")
	case 4:
		return g.pick("builtin cd ", "command cd ", "builtin pushd ", `\cd `, "'cd' ", "command -- cd ", "c''d ", "builtin command cd ", "command builtin cd ") + d
	case 5:
		return "eval cd " + d
	case 6:
		return "eval " + quoted("cd "+d+g.pick("", "", " || exit")) + g.pick("", "", " <no")
	case 7:
		return g.pick("CDPATH=..", "CDPATH=a", "CDPATH="+g.l.out, "OLDPWD=a", "HOME=a", "HOME="+g.l.out, "X=1", "PWD=a") + " cd " + g.pick(d, d, "", "-", "a")
	case 8:
		return "cd " + d + " >" + g.target()
	case 9:
		return g.pick("{cd,"+d+"}", "cd {"+d+",}", "time cd "+d, "! cd "+d, "$c "+d, `"$c" `+d, "$'cd' "+d, "cd "+d+" <no", "$no cd "+d, "$(echo cd) "+d)
	}
	return "cd " + d
}

// touch returns a command that names a file.
func (g route) touch() string {
	f := g.file()
	switch g.r.IntN(22) {
	case 0:
		return g.pick("command cat ", "env cat ", `\cat `, "env X=1 cat ", "X=1 cat ", "builtin command cat ", "env -C a cat ", g.l.bin+"/cat ", "env -C .. tee ", "{cat,k2} ", "eval cat ") + f
	case 1:
		return g.pick("exec cat ", "(exec cat) ", "exec env cat ") + f
	case 2:
		return "cat <" + g.pick("k1", "k1", "a/k1", "../k1", "$x", g.l.out+"/k1")
	case 3, 4:
		return g.pick(">", "cat >", ": >>", "cat k1 >", "echo x >", "2>", "cat &>", "exec 3>", "exec 4>", "cat >|", "exec >", "{ cat k1; } >", "exec {v}>", "cat <>") + g.target()
	case 5:
		return "bash -c " + quoted("cat "+f)
	case 6:
		return "exec <" + g.pick("k1", "a/k1") + "\ncat"
	}
	return g.pick("cat ", "cat ", "tee ") + f
}

// assign returns a command that gives a variable a value.
func (g route) assign() string {
	v := g.pick("a", "k1", "c", "..", "a/b", "k", g.l.out)
	switch g.r.IntN(30) {
	case 0:
		return "read x <<< " + v
	case 1:
		return "read -r x y <<< " + quoted(v+" b")
	case 2:
		return g.pick("declare x=", "export x=", "local x=", "readonly x=", "typeset x=", "declare -g x=", "local -x x=", "declare -r x=") + v
	case 3:
		return "printf -v x %s " + v
	case 4:
		return "x=$(echo " + v + ")"
	case 5:
		return ": ${x:=" + v + "}"
	case 6:
		return g.pick("unset x", "x+=1", "x=", "n=1", "n=2", "((n=1))", "let n=1", "unset -v x", "l=k1", "x=a y=$x", "x=$n")
	case 7:
		return "set -- " + v + " " + g.pick("a", "k1", "c")
	case 8:
		return g.pick("shift", "set --", "r=(a k1)", "r+=(c)", "r[0]=a", "mapfile -t r <<< a", "c=cd", "c=pushd", "getopts a x -a", "IFS=1", "IFS=/", "IFS=")
	case 9:
		return g.pick("CDPATH=..", "CDPATH="+g.l.out, "HOME=a", "HOME="+g.l.out, "OLDPWD=a", "PWD=a", "export CDPATH=..", "printf -v CDPATH ..", "declare CDPATH=..", "read CDPATH <<< ..",
			"printf -v HOME %s "+g.l.out, "DIRSTACK[0]=a", "export 'CDPATH=..'", "declare \"HOME="+g.l.out+"\"", "unset HOME", "unset OLDPWD", "HOME+=/a", "PROMPT_COMMAND='cd a'")
	case 10:
		return "eval " + quoted("x="+v)
	case 11:
		return g.pick("x=k1 true", "x=a :", "read -r x < k1", "x=k1 | true", "(x=k1)", "true && x="+v, "x="+v+" & wait", "for x in "+v+"; do :; done", "if x="+v+"; then :; fi")
	case 12:
		return g.pick("set -e", "set -f", "set -u", "shopt -s lastpipe", "set -o pipefail", "shopt -s nullglob", "shopt -s dotglob", "set -T", "set -E", "set -o posix", "set -P", "shopt -s cdable_vars", "set -n", "shopt -s failglob")
	}
	return "x=" + v
}

// name returns the name of a function.
func (g route) name() string {
	return g.pick("f", "f", "f", "g", "g", "cat", "cd", "true", "echo", "command", "export", "builtin", "tee", "eval", "pushd", "local", "test", "trap")
}

func (g route) condition(depth int) string {
	switch g.r.IntN(8) {
	case 0, 1:
		return g.pick("true", "false", "[ -d a ]", "[[ -f k1 ]]", "test -n \"$x\"", ":")
	case 2:
		return "! " + g.move()
	case 3:
		return g.simple(depth)
	}
	return g.pick("true", "false", g.move(), "[ -d a ]")
}

// simple returns one command on one line.
func (g route) simple(depth int) string {
	switch n := g.r.IntN(24); {
	case n < 9:
		return g.touch()
	case n < 15:
		return g.move()
	case n < 17:
		return g.assign()
	case n < 20:
		args := g.pick("", " a", " k1", " a k1", " c") + g.pick("", "", "", " <no", " >o2")
		return g.pick("f", "f", "g", "true", "echo", "command", "cat", "export x", "local x", "trap", "test") + args
	case n == 20:
		return g.pick("return", "break", "exit", "unset -f f", "unset f", "continue", "trap - DEBUG", "trap - EXIT", "return 1", "unset -f cat", "set --", ": $((1/0))", "readonly x\n: ${x:=a}", ": ${x[1/0]}")
	case n == 21:
		return "trap " + quoted(g.list(depth-2)) + " " + g.pick("EXIT", "DEBUG", "ERR", "RETURN", "EXIT DEBUG", "USR1")
	case n == 22:
		return g.pick("trap f EXIT", "trap f DEBUG", "trap g ERR", "trap f RETURN", "trap true DEBUG", "trap -- f EXIT", "trap cat DEBUG")
	}
	return "eval " + quoted(g.list(depth-2))
}

// list returns several statements, one a line.
func (g route) list(depth int) string {
	if depth <= 0 {
		return g.simple(0)
	}
	var lines []string
	for range 1 + g.r.IntN(4) {
		lines = append(lines, g.statement(depth))
	}
	return strings.Join(lines, "\n")
}

func (g route) statement(depth int) string {
	in := func() string { return g.list(depth - 1 - g.r.IntN(2)) }
	switch g.r.IntN(34) {
	case 0, 1, 2:
		return g.name() + "() { " + in() + "\n}" + g.pick("", "", "", " && "+g.simple(depth), " | "+g.simple(depth))
	case 3:
		return g.name() + "() ( " + in() + "\n)"
	case 4:
		return "f() { " + in() + "\n[ \"$1\" = xx ] || f \"${1}x\"\n}\nf ''"
	case 5:
		return "(" + in() + "\n)" + g.pick("", "", " >o2")
	case 6:
		return "{ " + in() + "\n}" + g.pick("", "", " >o2", " <k1", " <no", " &\nwait")
	case 7:
		return g.simple(depth) + " | " + g.pick(g.simple(depth), "{ "+in()+"\n}")
	case 8, 9, 10:
		return g.condition(depth) + " && " + g.pick(g.simple(depth), g.simple(depth), "{ "+in()+"\n}", "{ "+g.move()+" || exit\n}")
	case 11:
		return g.condition(depth) + " || " + g.pick(g.simple(depth), "exit", "exit 1", "return", "{ echo; exit; }", "{ break; exit; }", "exit >no/x", "exit 1 2", "exit && cat k1", "{ "+in()+"\n}")
	case 12:
		return g.move() + " && " + g.condition(depth) + " " + g.pick("&&", "||") + " " + g.pick(g.touch(), g.move()+" && "+g.touch(), "return", "break")
	case 13, 14:
		return "if " + g.condition(depth) + "; then " + in() + "\n" + g.pick("", "else "+g.simple(depth)+"\n", "elif "+g.condition(depth)+"; then "+g.simple(depth)+"\n") + "fi"
	case 15:
		return "for i in " + g.pick("a c", "1 2", "k1", g.dir()+" c", "*", "a") + "; do " + in() + "\ndone"
	case 16:
		return "while " + g.pick("read -r l", "read x", "read -r l; "+g.condition(depth)) + "; do " + in() + "\ndone <<< $'a\\nk1'"
	case 17:
		return "while " + g.condition(depth) + "; do " + in() + "\nbreak\ndone"
	case 18:
		return "until " + g.condition(depth) + "; do " + in() + "\nbreak\ndone"
	case 19:
		return "for ((n=0;n<2;n++)); do " + in() + "\ndone"
	case 20:
		return "case " + g.pick("a", "$x", "k1") + " in (a) " + in() + "\n;" + g.pick(";", "&", ";&") + " (k*) " + in() + "\n;; esac"
	case 21:
		return "eval " + quoted(in())
	case 22:
		return g.pick("bash", "sh", "bash", "env bash", "X=1 bash", "CDPATH=.. bash", "env -C a bash") + " -c " + quoted(in()) + g.pick("", " _ k1 a")
	case 23:
		return "cat <<E >" + g.target() + "\n$x $(" + in() + ")\nE"
	case 24:
		return g.pick("echo $(", "x=$(", "cat $(", ": $(", "local y=$(", "export y=$(", ": ${x:-k}$(") + in() + "\n)"
	case 25:
		return g.pick(". ./s.sh", "source s.sh", "shopt -s expand_aliases; alias cat='cd a; cat'", "cat <("+in()+")", "coproc { "+in()+"\n}\nwait", "true > >("+in()+")", "select x in a; do "+in()+"\nbreak\ndone <<< 1")
	case 26:
		return "trap " + quoted(in()) + " " + g.pick("EXIT", "DEBUG", "ERR", "RETURN")
	}
	return g.simple(depth)
}
