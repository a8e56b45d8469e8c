package embedded

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"callgate/internal/testserver/lab"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(m.Run())
}

// program is a real program that reads a language.
type program struct {
	language string
	argv     []string // the text replaces TEXT
}

// programs lists the programs that are asked for a second opinion. Programs that are not installed are skipped.
var programs = []program{
	{"awk", []string{"mawk", "TEXT", "input", "input"}},
	{"awk", []string{"gawk", "TEXT", "input", "input"}},
	{"awk", []string{"original-awk", "TEXT", "input"}},
	{"awk", []string{"busybox", "awk", "TEXT", "input"}},
	{"sed", []string{"sed", "TEXT", "input"}},
	{"sed", []string{"sed", "-n", "-E", "TEXT", "input", "input"}},
	{"sed", []string{"sed", "--posix", "-s", "TEXT", "input"}},
	{"sed", []string{"busybox", "sed", "TEXT", "input"}},
	{"jq", []string{"jq", "TEXT", "data.json"}},
	{"jq", []string{"jq", "-n", "TEXT"}},
	{"yq", []string{"yq", "TEXT", "data.json"}},
	{"sql", []string{"sqlite3", "x.db", "TEXT"}},
	{"python", []string{"python3", "-I", "-c", "TEXT", "input"}},
}

// sources lists pieces of texts besides the tables: pieces that leave a trace, and pieces that could hide one.
var sources = map[string][]string{
	"awk": {`system("canary")`, `"canary" | getline x`, `print "x" > "out"`, `print "x" >> "out"`, `print "x" | "canary"`, `print "x" > $1`, `getline x < "secret"; print x`,
		`while ((getline x < "secret") > 0) print x`, `print ENVIRON["SECRET"]`, `ARGV[2] = "secret"`, `printf "x" > "out"`, `@include "secret"`, `close("x")`,
		`"`, `/`, `/"/`, `/}/`, `/[/]/`, `/[^]/]/`, `/[]/]/`, `/[[:alpha:]/]/`, `/\//`, `#`, "\n", `\`, "\\\n", `;`, `{`, `}`, `(`, `)`, `,`, ` `, `x=`, `~`, `!`, `?`, `:`, `&&`, `||`, `if (1) `, `while (i++ < 2) `,
		`for (k in a) `, `do `, `else `, `BEGIN{`, `END{`, `function f(x) {`, `f(1)`, `print `, `printf `, `getline `, `length `, `a[1]`, `$1`, `NF`, `i++ `, `1`, ` / `, `/=`, `/= `, `%`, `> `, `< `, `>`, `|`, `in a`, `"x"`, `"a\"b"`, `'`, "`", `return `, `x /2/ `, `-`, `\"`},
	"sed": {`w out`, `e canary`, `s/a/canary/e`, `1e canary`, `s/a/b/w out`, `r secret`, `R secret`, `W out`, `a\`, `i\`, `c\`, `a x`, "\n", `;`, `{`, `}`, `:a `, `ta `, `b`, `s/`, `/`, `|`, `,`, `\`, `\/`, `[`, `]`, `[^`, `[]`, `[/]`, `[[:alpha:]]`, `[[:alpha:]/]`,
		`p`, `d`, `n`, `N`, `g`, `1`, `$`, `!`, ` `, `y/`, `#`, `I`, `M`, `s,`, `s|`, `&`, `\n`, `q`, `=`, `z`, `F`, `l`, "\\\n", `s/x/`, `\%`, `+1`, `~2`, `0,`},
	"jq": {`env`, `$ENV`, `env.SECRET`, `$ENV.SECRET`, `input_filename`, `"\(env)"`, `"\($ENV)"`, `def env: 1;`, `def f: env;`, `def f(x): x;`, `f(env)`, `{env}`, `{env: 1}`, `{a: env}`, `{$ENV}`, `{(env): 1}`, `{a: if 1, env, 2 then 1 else 2 end}`, `import "x" as x;`, `include "x";`, `$__prog_args`,
		`.`, `|`, `,`, `;`, `:`, `(`, `)`, `[`, `]`, `{`, `}`, `"`, `\(`, `\"`, `#`, "\n", `if `, ` then `, ` else `, ` end`, ` as $x `, `$x`, `reduce `, `foreach `, `try `, `catch `, `label $f | `, `break $f`, `?//`, `..`, `.a`, `.env`, `."env"`, `@text `, `@sh "`, `tostring`, `to_entries`, `map(`, `//`, `=`, `|=`, `-`, ` `, `getpath(["a"])`, `$ ENV`, `. as {a: $x, b: [$y]} | `, `limit(1; `, `debug`, `error`, `::`, `$__loc__`},
	"python": {`import os`, `os.system('canary')`, `open('out', 'w')`, `open('secret').read()`, `print(open('secret').read())`, `eval("open('out', 'w')")`, `exec("import os; os.system('canary')")`, `__import__('os').system('canary')`, `import subprocess`, `subprocess.run(['canary'])`, `getattr(os, 'system')('canary')`,
		`print(os.environ)`, `'{0.environ}'.format(os)`, `{eval("open('out','w')")}`, `f'`, `f"`, `f"""`, `rf'`, `b'`, `"`, `'`, `"""`, `\`, `\'`, `\"`, "\\\n", `{`, `}`, `{{`, `}}`, `{x!r:`, `:{`, `#`, "\n", `;`, `(`, `)`, `[`, `]`, `,`, ` `, `.`, `=`, `:`, ` as `, `x`, `x = `, `p = 'secret'`, `open(p).read()`, `for p in ['input']:`, ` for x in `, `lambda x: `, `def f(x): `,
		`import json`, `json.`, `from os import `, `path`, `import json as os`, `print`, `print = `, `open`, `= open`, `str`, `type(x)`, `('out', 'w')`, `Path('out')`, `from pathlib import Path`, `.write_text('x')`, `.replace('out')`, `.format(os)`, `.__globals__`, `sys.path`, `import sys`, `sys.modules['os'].system('canary')`, `del x`, `1`, `0x1`, `1.`, `if 1: `, `else `, `yield `, `*`, `**`, `->`, `:=`, `!=`, `@`, `map(open, ['secret'])`, `list(`, `x.`, `read()`},
	"sql": {`writefile('out','x')`, `"writefile"('out','x')`, "`writefile`('out','x')", `[writefile]('out','x')`, `readfile('secret')`, `"readfile"('secret')`, `[readfile]('secret')`, `load_extension('x')`, `edit('x','canary')`, `attach 'out' as y`, `vacuum into 'out'`, "\n.shell canary\n", "\n.output out\n", `;`, `;.shell canary`,
		`select `, ` from t`, ` from fsdir where path='secret'`, ` from fsdir('.')`, ` from zipfile('x')`, `(`, `)`, `,`, `'`, `"`, "`", `[`, `]`, `--`, `-- `, `/*`, `*/`, "\n", ` as x`, ` where `, `a`, `1`, `*`, ` union `, ` order by `, ` limit `, ` group by `, `case when `, ` then `, ` end`, `with x as (`, ` over (`, ` filter (where `, `cast(`, ` in `, ` between `, ` and `, `insert into t values (`, `update t set a=`, `delete from t`, `drop table t`, `create table u as `, `pragma `, `pragma journal_mode=off`, `pragma user_version=5`, `begin`, `explain `, ` glob `, ` match `, `.`, `x'00'`, ` collate `, ` || `, `count(`, `values (`, ` `, `replace into t values (`, ` returning `, ` into u`},
}

// invent makes a text from the table and the pieces.
func invent(r *rand.Rand, table, pieces []string) string {
	text := ""
	if r.IntN(4) > 0 {
		text = table[r.IntN(len(table))]
	}
	for range 1 + r.IntN(4) {
		piece := pieces[r.IntN(len(pieces))]
		if r.IntN(6) == 0 {
			piece = table[r.IntN(len(table))]
		}
		at := r.IntN(len(text) + 1)
		end := at
		if r.IntN(5) == 0 {
			end = min(len(text), at+r.IntN(8))
		}
		text = text[:at] + piece + text[end:]
	}
	return text
}

// tables returns the texts of testdata by language, and the functions under test.
func tables(t testing.TB) (texts map[string][]string, harmless map[string]func(string) bool) {
	texts = map[string][]string{}
	harmless = map[string]func(string) bool{"sql": func(s string) bool { return SQL(s) == 0 }}
	for name, f := range readers {
		harmless[name] = f
		if name == "python" { // the caller asks about its files
			harmless[name] = func(s string) bool {
				files, ok := Python(s)
				return ok && len(files.Writes) == 0 && !slices.Contains(files.Reads, "secret")
			}
		}
		for _, s := range samples(t, name) {
			texts[name] = append(texts[name], s.Text)
		}
	}
	for _, s := range statements(t) {
		texts["sql"] = append(texts["sql"], s.Text)
	}
	return texts, harmless
}

func newLab(t testing.TB) *lab.Lab {
	var prepare [][]string
	if lab.Has("sqlite3") {
		prepare = append(prepare, []string{"sqlite3", "x.db", "create table t (a, b); insert into t values (1, 'x'), (2, 'y'); create table u (id, t_id);"})
	}
	return lab.New(t, map[string]string{
		"input": "out a b 7\nx/y \"z\" 1000\n\nfoo bar id\n", "secret": lab.Secret + "\n", "data.json": `{"a": {"b": [1, 2, {"c": "x"}]}, "b": true}` + "\n",
	}, prepare...)
}

// second runs the real programs on a harmless text. It returns the number of runs.
func second(t testing.TB, l *lab.Lab, language, text string) (runs int) {
	if strings.ContainsRune(text, 0) {
		return 0
	}
	for _, p := range programs {
		if p.language != language || !lab.Has(p.argv[0]) {
			continue
		}
		argv := slices.Clone(p.argv)
		argv[slices.Index(argv, "TEXT")] = text
		runs++
		if traces, _ := l.Run(t, argv...); len(traces) > 0 {
			t.Errorf("%s %q is harmless, and yet %s", p.argv[0], text, strings.Join(traces, ", "))
		}
	}
	return runs
}

// TestSecondOpinion checks that harmless texts leave no trace when real programs run them. Texts that do leave traces
// show that the lab detects them.
func TestSecondOpinion(t *testing.T) {
	l := newLab(t)
	for _, c := range []program{
		{"awk", []string{"awk", `BEGIN{system("canary")}`}}, {"awk", []string{"awk", `BEGIN{print "x" > "out"}`}}, {"awk", []string{"awk", `BEGIN{getline < "secret"; print}`}},
		{"awk", []string{"awk", `BEGIN{print ENVIRON["SECRET"]}`}}, {"sed", []string{"sed", "1e canary", "input"}}, {"sed", []string{"sed", "w /tmp/x", "input"}},
		{"jq", []string{"jq", "-n", "env"}}, {"sql", []string{"sqlite3", "x.db", ".shell canary"}}, {"sql", []string{"sqlite3", "x.db", "drop table t"}},
		{"python", []string{"python3", "-c", "open('out', 'w')"}}, {"python", []string{"python3", "-c", "import subprocess; subprocess.run(['canary'])"}}, {"python", []string{"python3", "-c", "print(open('secret').read())"}},
		{"", []string{"bash", "-c", "rm input"}}, {"", []string{"bash", "-c", "canary"}},
	} {
		if !lab.Has(c.argv[0]) {
			continue
		}
		if traces, out := l.Run(t, c.argv...); len(traces) == 0 {
			t.Errorf("%q leaves no trace; it printed %s", c.argv, out)
		}
	}
	texts, harmless := tables(t)
	for name, f := range harmless {
		t.Run(name, func(t *testing.T) {
			every := max(1, map[string]int{"yq": 6, "python": 4}[name]) // these take long to start
			for n, text := range texts[name] {
				if f(text) && n%every == 0 {
					second(t, l, name, text)
				}
			}
			pieces := sources[name]
			if name == "yq" {
				pieces = sources["jq"]
			}
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			tried, found, want := 0, 0, 60
			switch name {
			case "jq", "python":
				want = 30
			case "yq":
				want = 8
			}
			for ; tried < 100_000 && found < want; tried++ {
				if text := invent(r, texts[name], pieces); f(text) {
					found++
					second(t, l, name, text)
				}
			}
			if found < want {
				t.Errorf("of %d texts that were made up %d are harmless: too few to say anything", tried, found)
			}
		})
	}
}

// FuzzSecondOpinion is TestSecondOpinion as a fuzz target.
func FuzzSecondOpinion(f *testing.F) {
	texts, harmless := tables(f)
	languages := []string{"awk", "sed", "jq", "yq", "sql", "python"}
	for n, name := range languages {
		for _, text := range texts[name][:2] { // the test above runs them all
			f.Add(byte(n), uint64(0), text)
		}
	}
	l := newLab(f) // each process of the fuzzer has its own
	f.Fuzz(func(t *testing.T, language byte, seed uint64, text string) {
		name := languages[int(language)%len(languages)]
		pieces := sources[name]
		if name == "yq" {
			pieces = sources["jq"]
		}
		if seed > 0 { // make many texts from this one
			r := rand.New(rand.NewPCG(seed, 0))
			for range 100 {
				if s := invent(r, append(texts[name], text), pieces); harmless[name](s) {
					second(t, l, name, s)
				}
			}
			return
		}
		if harmless[name](text) {
			second(t, l, name, text)
		}
	})
}
