package tools

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"callgate/internal/testserver/lab"
	"callgate/internal/testserver/unraced"
	"callgate/permissions"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(unraced.Main(m))
}

// The parts of command lines: a program with its options, a text, files, and what stands around a command. Most parts
// leave a trace in one combination or another.
var (
	linePrograms = []string{"awk", "mawk", "gawk", "awk -F:", "awk -v x=1", "awk -e", "awk -d", "awk -f", "gawk -o", "gawk -i inplace", "gawk -l x", "sed", "sed -n", "sed -E -e", "sed -i", "sed -i.bak", "sed -s -z", "sed -f", "sed -ne",
		"jq", "jq -r", "jq -n", "jq -rf", "jq -L .", "jq --arg a b", "jq --rawfile a secret", "jq --slurpfile a input", "sqlite3 x.db", "sqlite3 -json x.db", "sqlite3 -cmd '.shell canary' x.db", "sqlite3 new.db", "cat", "head -n 1", "sort", "sort -o out", "uniq", "tee",
		"wc -l", "grep -n", "cut -d: -f1", "tr a b", "find .", "find . -name", "ls", "echo", "printf %s", "xargs awk", "xargs", "env", "busybox awk", "timeout 1 sed", "perl -ne", "python3", "python3 -c", "bash", "dc", "bc", "m4", "date", "test -f"}
	lineTexts = []string{`'{print $1}'`, `'BEGIN{system("canary")}'`, `'{print > "out"}'`, `'{print | "canary"}'`, `'p'`, `'1e canary'`, `'w out'`, `'s/a/b/'`, `'s/a/b/w out'`, `'r secret'`, `'1,2p'`, `'.'`, `'.a'`, `'env'`, `'$ENV.SECRET'`, `'select * from t'`,
		`'drop table t'`, `"select writefile('out','x')"`, `'.shell canary'`, `'insert into t values (3,4)'`, `"pragma table_info(t)"`, `'syscmd(canary)'`, `'print 1'`, `x`, `-`, `--`, `""`, `'!canary'`, `$(canary)`, `"$SECRET"`, `$'p'`, `-exec canary {} +`, `-delete`, `-e`, `-n`, `-i`, `p`}
	lineFiles  = []string{"input", "data.json", "input data.json", "secret", "x=1 input", "/dev/null", "in*", ""}
	lineAround = []string{"%s", "%s", "%s", "%s | cat", "cat input | %s", "%s > out", "%s >> out", "%s 2>/dev/null", "%s 2> err", "%s < input", "%s; canary", "%s && ls", "%s &", "(%s)", "{ %s; }", "! %s", "x=$(%s)", "%s <<< 'x'", "%s <<'X'\nsyscmd(canary)\nX", "if %s; then ls; fi", "for f in a b; do %s; done", "cd /tmp && %s", "%s <> out", "%s >| out", "%s &> out", "f() { %s; }; f", "%s 3> out"}
)

// FuzzReadOnlyLeavesNoTrace is TestReadOnlyLeavesNoTrace without end.
func FuzzReadOnlyLeavesNoTrace(f *testing.F) {
	f.Add(uint64(1))
	l := newLab(f)
	f.Fuzz(func(t *testing.T, seed uint64) { leaveNoTrace(t, l, rand.New(rand.NewPCG(seed, 7)), 20) })
}

// TestReadOnlyLeavesNoTrace runs command lines that are READ_ONLY in a real bash. They start no other program, write
// nothing, and print no secret that they were not told to read.
func TestReadOnlyLeavesNoTrace(t *testing.T) {
	leaveNoTrace(t, newLab(t), rand.New(rand.NewPCG(7, 7)), 400)
}

func newLab(t testing.TB) *lab.Lab {
	var prepare [][]string
	if lab.Has("sqlite3") {
		prepare = append(prepare, []string{"sqlite3", "x.db", "create table t (a, b); insert into t values (1, 'x')"})
	}
	return lab.New(t, map[string]string{"input": "canary:b\nx y\n", "data.json": `{"a": [1]}`, "secret": lab.Secret}, prepare...)
}

func leaveNoTrace(t *testing.T, l *lab.Lab, r *rand.Rand, want int) {
	p := project(t, map[string]string{"input": "x", "data.json": "{}", "secret": "x", "x.db": "x"})
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	found := 0
	for tried := 0; tried < 50*want && found < want; tried++ {
		line := pick(linePrograms)
		for range 1 + r.IntN(2) {
			line += " " + pick(lineTexts)
		}
		line = strings.Replace(pick(lineAround), "%s", line+" "+pick(lineFiles), 1)
		if tried%5 == 0 {
			line = strings.Replace(pick(lineAround), "%s", line, 1)
		}
		a := analyze(t, KindShell, p, "command", line)
		if a.Risk != permissions.ReadOnly || len(a.Marks) > 0 || slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool { return len(s.Effects) > 0 || s.Kind == KindWriteFile }) {
			continue
		}
		found++
		traces, out := l.Run(t, "bash", "-c", line)
		for _, trace := range traces {
			if trace == "printed the secret" && (strings.Contains(line, "secret") || strings.Contains(line, "$SECRET")) {
				continue // as it was told
			}
			t.Errorf("%s\nis READ_ONLY, and yet %s; it printed %q", line, trace, out)
		}
	}
	if found < want {
		t.Errorf("%d lines are READ_ONLY: too few to say anything", found)
	}
}
