//go:build unix

package shellparse

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lab is a directory in which a real bash runs texts. Its PATH holds programs that only record how they were called,
// and the wrappers that start others.
type lab struct {
	bash, dir, bin string
	runs           int
}

var stubs = strings.Fields("probe alpha beta shred ls git cat rm sed awk make npm")

func newLab(t testing.TB) *lab {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir, err := os.MkdirTemp("", "shellparse")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A program left in the background may still write its record.
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("%s is left behind", dir)
	})
	l := &lab{bash: bash, dir: dir}
	l.bin = filepath.Join(l.dir, "bin")
	if err := os.Mkdir(l.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	// A record is one line and one write, so that concurrent programs do not mix their records.
	stub := "#!" + bash + "\nprintf -v r '%s\\037' \"${0##*/}\" \"$@\"\nprintf '%s\\036' \"${r//$'\\n'/$'\\035'}\" >>\"$PROBE_LOG\"\n"
	for _, name := range stubs {
		if err := os.WriteFile(filepath.Join(l.bin, name), []byte(stub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name := range strings.FieldsSeq("env timeout nice nohup xargs find bash sh stdbuf setsid ionice flock true base64") {
		if p, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(p, filepath.Join(l.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// run runs a text and returns the recorded calls.
func (l *lab) run(t testing.TB, text string) [][]string {
	t.Helper()
	// Each run has its own log, because programs started in the background can outlive the run.
	l.runs++
	work := filepath.Join(l.dir, fmt.Sprint("work", l.runs))
	log := filepath.Join(work, ".log")
	if err := os.MkdirAll(filepath.Join(work, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.bash, "--norc", "--noprofile", "-c", text)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + l.bin, "HOME=" + work, "LC_ALL=C.UTF-8", "PROBE_LOG=" + log}
	cmd.WaitDelay = time.Second
	// The text runs in its own process group, which is killed at the end with everything in the background.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // the exit status does not matter
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group is usually gone
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var calls [][]string
	for rec := range bytes.SplitSeq(data, []byte{0x1e}) {
		if len(rec) > 0 {
			text := strings.ReplaceAll(strings.TrimSuffix(string(rec), "\x1f"), "\x1d", "\n")
			calls = append(calls, strings.Split(text, "\x1f"))
		}
	}
	return calls
}

// explains reports whether the analysis lists a call: the same program, with words that agree as far as they are known.
func explains(s *Script, argv []string) bool {
	for _, c := range s.Commands {
		words := c.Argv
		if len(c.Globals) > 0 {
			words = append(append(append([]Word{}, words[0]), c.Globals...), words[1:]...)
		}
		ok := true
		for i, w := range words {
			if !w.Known {
				ok = i > 0
				break
			}
			if i >= len(argv) || w.Value != argv[i] {
				ok = false
				break
			}
			if i == len(words)-1 && len(argv) > len(words) {
				ok = false
			}
		}
		if ok {
			return true
		}
	}
	return false
}

func (l *lab) check(t *testing.T, text string) int {
	t.Helper()
	s := Parse(text, Options{})
	calls := l.run(t, text)
	if len(s.Problems) > 0 {
		return len(calls)
	}
	for _, argv := range calls {
		if !explains(s, argv) {
			t.Errorf("bash ran %q, which the analysis does not list, for\n%s%s", argv, text, describe(s))
		}
	}
	return len(calls)
}

// hazardous matches texts that a test must not run, whatever programs are in the PATH: builtins reach processes, and
// redirections reach files outside.
var hazardous = regexp.MustCompile(`kill|/dev/[a-z]|/usr|/bin|/etc|/tmp|/proc|>\s*["$~/]|sudo|\bsu\b|exec\s*>|wait|history|while true|>\||ulimit|fc |trap|coproc|enable`)

// TestDifferential runs the corpus with a real bash. All that really ran must be listed, or the text must have a
// problem.
func TestDifferential(t *testing.T) {
	l := newLab(t)
	ran := 0
	for _, c := range readCorpus(t, "testdata/bypass.jsonl") {
		_, class, _ := strings.Cut(c.ID, "-")
		switch class {
		case "sep", "sub", "heredoc", "parsediff", "obf", "eval-builtin", "wrap", "env":
		default:
			continue
		}
		if c.Shell != "" || hazardous.MatchString(c.Cmd) || strings.ContainsRune(c.Cmd, 0) {
			continue
		}
		ran += l.check(t, c.Cmd)
	}
	for _, text := range fragments {
		ran += l.check(t, text)
	}
	if ran < 100 {
		t.Errorf("only %d programs ran: the test proves nothing", ran)
	}
	t.Logf("%d programs ran", ran)
}

// fragments lists texts with constructs that a random grammar rarely makes.
var fragments = []string{
	"a=(probe 'x y'); \"${a[@]}\"", "set -- probe x; \"$@\"", "read q <<< probe; $q r", "printf -v q %s probe; $q", "while read -r l; do probe $l; done <<< 'a b'",
	"for ((i=0;i<2;i++)); do alpha $i; done", "function f2 { beta \"$1\"; }; f2 z", "trap 'probe t' EXIT", "(trap 'probe u' EXIT)", "source <(echo probe s)", "until probe; do break; done",
	"cat <<-E\n\tx $(probe h)\n\tE", "cat <<'E'\n$(probe no)\nE", "x=(probe); ${x[0]} y", "probe ${v#a} ${v/1/2} ${#v} $?", "unset v; probe $v", "v=a; v+=b; probe $v", "v=a; (v=b; probe $v)", "v=probe; f3() { v=alpha; }; f3; $v",
	"declare q=probe; $q", "x=1; probe $((x+1))", "eval 'v=2'; probe $v", "IFS=,; v=a,b; probe $v", "v='*'; probe $v", "alias probe='alpha'; probe", "command probe a | while read -r l; do beta; done", "echo 'probe p' | bash", "bash <<< 'probe b'", "bash -s <<E\nprobe $v\nE",
	"probe() { alpha \"$@\"; }; probe 1", "probe() { command probe 2; }; probe; unset -f probe; probe 3", "beta | { probe; bash; }", "find . -maxdepth 0 -exec probe {} \\;", "find . -maxdepth 0 -exec bash -c 'alpha \"$0\"' {} \\;", "printf 'a b' | xargs -n1 probe", "printf 'x' | xargs -I% probe -%-",
	"cat <<E\n$(probe 'a\\\nb')\nE", "cat <<E\n$(probe $'a\\\nb')\nE", "x=\"`probe 'a\\\nb'`\"", "cat <<E\n$(echo '\nE\nprobe x\n: ' )\nE", "cat <<EF\nE\\\nF\nprobe x\nEF", "cat <<-E\n\t$(probe '\n\tx')\n\tE",
	"probe ~nobodye\\ f ~\\root/x ~ro\\\not ~'root'", "env -S 'probe a b'", "env -C sub probe", "timeout -k 1 2 probe", "exec -a z probe 1", "{ exec 3>&1; probe; }", "[[ -n $(probe) || 1 -eq 1 ]] && alpha", "case $(probe) in *) beta;; esac", "! probe & alpha", "coproc probe", "time -p { probe; }",
}

// grammar makes random texts whose programs are all harmless.
type grammar struct{ r *rand.Rand }

func (g grammar) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g grammar) word(depth int) string {
	switch g.r.IntN(22) {
	case 0:
		return "'a b'"
	case 1:
		return `"c $v d"`
	case 2:
		return `\e\ f`
	case 3:
		return `$'g\x41\n\101\u00e9'`
	case 4:
		return "{h,i}"
	case 5:
		return "{1..3}"
	case 6:
		return "j\\\nk"
	case 7:
		return `"l\$\"\m"`
	case 8:
		return "$v"
	case 9:
		return `"$w"`
	case 10:
		return "${v:-n}"
	case 11:
		return "$((1+2))"
	case 12, 13:
		if depth > 0 {
			return "$(" + g.text(depth-1) + ")"
		}
		return "o"
	case 14:
		if depth > 0 {
			return `"$(` + g.text(depth-1) + `)"`
		}
		return "''"
	case 15:
		if depth > 0 {
			return "<(" + g.simple(depth-1) + ")"
		}
		return "p=q"
	case 16:
		return "*.none"
	case 17:
		return "x{,y}z"
	case 18:
		return "`beta q`"
	case 19:
		return "a'b'\"c\"\\d"
	case 20:
		return "${v}r${w}"
	}
	return g.pick("{01..03}", "{a..e..2}", "{3..1}", "{-1..1}", "{1..2}{a,b}", "{,a}", "{a,{b,c}}", `\{a,b}`, "{a,b", "{a..}", "{'a',b}", "{a}{b,c}", "{$v,x}", "{a,b}'{c,d}'", "{a\\,b,c}", "@{1}", "~nobody", "~/x", "a:~/x", "$'a'b", "$\"a\"", "[a-c]*", "?x", "a=~/x", "-x", "--long=1", "plain", "/a/b", "a:b", "-", "--", "#no", "a#b", "!", "[", "]", "=", "a=b")
}

func (g grammar) simple(depth int) string {
	var b strings.Builder
	if g.r.IntN(6) == 0 {
		b.WriteString(g.pick("V=1 ", "V='a b' W=2 ", "V+=x "))
	}
	b.WriteString(g.pick("probe", "alpha", "beta", "'probe'", "pro''be", `\alpha`, "env probe", "command alpha", "timeout 9 beta", "nice probe", "env -u Q A=1 alpha",
		"eval probe", "$p", "nohup alpha", "xargs -n1 probe <<< z", "bash -c 'alpha \"$@\"' _", "exec probe", "builtin eval alpha", "stdbuf -o L beta"))
	for range g.r.IntN(4) {
		b.WriteByte(' ')
		b.WriteString(g.word(depth))
	}
	switch g.r.IntN(9) {
	case 0:
		b.WriteString(" > out")
	case 1:
		b.WriteString(" 2>&1")
	case 2:
		b.WriteString(" <<< \"$v\"")
	}
	return b.String()
}

func (g grammar) text(depth int) string {
	if depth <= 0 {
		return g.simple(0)
	}
	switch g.r.IntN(20) {
	case 0:
		return g.text(depth-1) + " && " + g.text(depth-1)
	case 1:
		return g.text(depth-1) + " || " + g.text(depth-1)
	case 2:
		return g.text(depth-1) + "; " + g.text(depth-1)
	case 3:
		return g.text(depth-1) + " | " + g.text(depth-1)
	case 4:
		return "(" + g.text(depth-1) + ")"
	case 5:
		return "{ " + g.text(depth-1) + "; }"
	case 6:
		return "if " + g.text(depth-1) + "; then " + g.text(depth-1) + "; else " + g.text(depth-1) + "; fi"
	case 7:
		return "for i in " + g.word(depth-1) + " b; do " + g.text(depth-1) + "; done"
	case 8:
		return "case " + g.word(0) + " in (plain) " + g.text(depth-1) + ";; *) " + g.text(depth-1) + ";; esac"
	case 9:
		return "fn() { " + g.text(depth-1) + "; }; fn"
	case 10:
		return "v=1; w='a b'; p=probe; " + g.text(depth-1)
	case 11:
		return "! " + g.simple(depth-1)
	case 12:
		return "eval '" + strings.ReplaceAll(g.simple(0), "'", `'\''`) + "'"
	case 13:
		return "bash -c '" + strings.ReplaceAll(g.text(depth-1), "'", `'\''`) + "'"
	case 14:
		return g.simple(depth-1) + " # " + g.pick("comment", "it's", "a; beta") + "\n" + g.text(depth-1)
	case 15:
		return "cat <<E\n" + g.word(depth-1) + " $(" + g.simple(0) + ")\nE\n" + g.text(depth-1)
	case 16:
		return "[[ " + g.pick("a", "$v", `"$w"`) + " == " + g.pick("a", "*", `"$(alpha s)"`) + " ]] && " + g.text(depth-1)
	case 17:
		return "time " + g.simple(depth-1)
	case 18:
		return g.pick(fragments...)
	}
	return g.simple(depth)
}

// mutate inserts characters with a meaning in shells at random places.
func (g grammar) mutate(s string) string {
	special := []string{"$", "`", "\\", "\"", "'", "\n", ";", "&", "|", "(", ")", "{", "}", "<", ">", "#", "!", "*", "[", "]", "~", "=", " ", "\t", "\\\n", "$(", "${", "$((", "$'", "$\"", "<<", "<<<", "<(", "((", "))", "[[", "]]", ";;", "&&", "||", ",", ":", "-", "+", "@", "%", "^", "?", "EOF\n", "!("}
	for range 1 + g.r.IntN(3) {
		i := g.r.IntN(len(s) + 1)
		switch g.r.IntN(3) {
		case 0, 1:
			s = s[:i] + special[g.r.IntN(len(special))] + s[i:]
		default:
			j := min(len(s), i+1+g.r.IntN(2))
			s = s[:i] + s[j:]
		}
	}
	return s
}

// TestDifferentialRandom runs random texts with a real bash.
func TestDifferentialRandom(t *testing.T) {
	l := newLab(t)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CALLGATE_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	g := grammar{rand.New(rand.NewPCG(seed, 1))}
	limit := 4 * time.Second
	if testing.Short() {
		limit = time.Second
	}
	texts, ran := 0, 0
	for end := time.Now().Add(limit); time.Now().Before(end); texts++ {
		text := g.text(1 + g.r.IntN(3))
		if texts%2 == 1 {
			text = g.mutate(text)
		}
		if hazardous.MatchString(text) {
			continue
		}
		ran += l.check(t, text)
		if t.Failed() {
			break
		}
	}
	t.Logf("seed %d: %d texts, %d programs ran", seed, texts, ran)
}

func init() {
	generated = func() (texts []string) {
		g := grammar{rand.New(rand.NewPCG(1, 1))}
		for range 2000 {
			texts = append(texts, g.mutate(g.text(1+g.r.IntN(3))))
		}
		return texts
	}
}
