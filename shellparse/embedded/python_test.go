package embedded

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	"callgate/internal/testserver/lab"
)

func TestPythonFiles(t *testing.T) {
	for code, want := range map[string]PythonFiles{
		`print(1)`:         {},
		`open("a").read()`: {Reads: []string{"a"}},
		`open('a', 'rb')`:  {Reads: []string{"a"}},
		`open('a', mode="w", encoding='utf-8').write('x')`: {Writes: []string{"a"}},
		`open('a', 'r+')`:                                                     {Reads: []string{"a"}, Writes: []string{"a"}},
		`import io; io.open('a', 'ab')`:                                       {Writes: []string{"a"}},
		`from gzip import open as zopen; zopen('a')`:                          {Reads: []string{"a"}},
		`import pathlib; pathlib.Path('a').read_text()`:                       {Reads: []string{"a"}},
		`from pathlib import Path as P; P('a').write_bytes(b'')`:              {Writes: []string{"a"}},
		`from pathlib import Path; Path('.env').exists()`:                     {},
		`p = 'a'; print(f'{open(p).read()}')`:                                 {Reads: []string{"a"}},
		"for p in ('a', 'b'):\n open(p)":                                      {Reads: []string{"a", "b"}},
		"print([len(open(p).read()) for p in ['a', 'b']])":                    {Reads: []string{"a", "b"}},
		`import pathlib; p = pathlib.Path('a'); p.write_text(open(p).read())`: {Reads: []string{"a"}, Writes: []string{"a"}},
		`import ast; ast.parse('1', filename='a')`:                            {Reads: []string{"a"}},
		`import ast; p = 'a'; ast.parse(open(p).read(), p)`:                   {Reads: []string{"a", "a"}},
		`import sys; open(sys.argv[1])`:                                       {Arguments: true},
		`import zipfile; zipfile.ZipFile('a.zip').read('.env')`:               {Reads: []string{"a.zip"}},
		`import pandas as pd; pd.read_csv('a.csv', sep=';').head()`:           {Reads: []string{"a.csv"}},
		"with open('a') as f, open('b', 'w') as g:\n g.write(f.read())":       {Reads: []string{"a"}, Writes: []string{"b"}},
		"import json\nprint(json.load(open('a'))['b'], json.load(open('c')))": {Reads: []string{"a", "c"}},
	} {
		got, ok := Python(code)
		got.Imports = nil
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v %v, want %+v", code, got, ok, want)
		}
	}
}

// pythonNames prints the texts of its input that are code and hold a name that is not listed with them.
const pythonNames = `
import ast, json, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    text, names = json.loads(line)
    try:
        tree = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        continue
    print(text) if {getattr(n, "id", None) or getattr(n, "attr", None) or getattr(n, "arg", None) or names[0] for n in tree} - set(names) - {"x"} else None
`

// TestPythonTokens checks that no name in code escapes pyTokens, as a real Python reads the code: for instance behind a
// quote that ends a text for one of them only.
func TestPythonTokens(t *testing.T) {
	if !lab.Has("python3") {
		t.Skip("python3 is not installed")
	}
	pieces := []string{`f'`, `f"`, `f'''`, `rf'`, `b'`, `'`, `"`, `'''`, `"""`, `\`, `\'`, "\\\n", `{`, `}`, `{{`, `}}`, `!r`, `!r:`, `:`, `:>`, `#`, "\n", `;`, `(`, `)`, `[`, `]`, `,`, ` `, `=`,
		`a1`, `b2`, `c3`, ` + `, `lambda x: `, `{d4}`, `{e5!r}`, `{f6:{g7}}`, `''`, `""`, `1`, `0x1f`, `1.`, `.5`, `1e5`, `\N{DASH}`, `\x7b`, `t'`, `u'`, `rb'`, `if `, `else `, `...`, `!=`, "\t", `\{`, `'a'`, `"a"`, `}'`, `}"`, `'{`, `"{`}
	r := rand.New(rand.NewPCG(1, 2))
	var input bytes.Buffer
	for texts := 0; texts < 5000; {
		text := ""
		for range 1 + r.IntN(9) {
			text += pieces[r.IntN(len(pieces))]
		}
		if list, ok := pyTokens(text); ok {
			if names, ok := namesIn(list); ok {
				line, err := json.Marshal([]any{text, append(names, "x")})
				if err != nil {
					t.Fatal(err)
				}
				input.Write(append(line, '\n'))
				texts++
			}
		}
	}
	cmd := exec.Command("python3", "-I", "-c", pythonNames)
	cmd.Stdin = &input
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v %s", err, out)
	}
}

// pythonBinds prints the texts of its input that are code and bind a name more often than is listed with them, or to
// another text.
const pythonBinds = `
import ast, collections, json, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    text, bound, holds = json.loads(line)
    try:
        tree = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        continue
    binds, values = collections.Counter(), collections.defaultdict(list)
    for n in tree:
        for target in getattr(n, "targets", None) or [getattr(n, "target", None)]:
            if isinstance(target, ast.Name) and not isinstance(n, ast.Delete):
                value = getattr(n, "iter", None) or getattr(n, "value", None)
                values[target.id] += [getattr(e, "value", None) for e in getattr(value, "elts", [value])]
        if isinstance(n, ast.Name):
            binds[n.id] += isinstance(n.ctx, ast.Store)
        elif isinstance(n, ast.arg):
            binds[n.arg] += 1
        elif type(n).__name__ in ("FunctionDef", "ExceptHandler", "MatchAs", "MatchStar"):
            binds[n.name] += n.name is not None
        elif type(n).__name__ == "MatchMapping":
            binds[n.rest] += n.rest is not None
    for name, count in binds.items():
        if count > bound.get(name, 0) or bound.get(name) == 1 and holds.get(name) and holds[name] != values[name]:
            print(repr(text), name, count)
`

// TestPythonBinds checks that bind counts all that binds a name, as a real Python reads the code.
func TestPythonBinds(t *testing.T) {
	if !lab.Has("python3") {
		t.Skip("python3 is not installed")
	}
	// E stands for an expression, T for a target, N for a name.
	grammar := map[byte][]string{
		'N': {"p", "q", "r", "match", "case"},
		'T': {"N", "N", "N, N", "(N)", "(N, N)", "[N, T]", "*N, T", "N[E]", "N[E], N", "N(E).text", "N.text", "(N.text, N)", "N[E:E]"},
		'E': {"N", "N", "1", "'a'", "(N := E)", "(lambda N, *N: E)", "(lambda N=lambda N: E, N=E: E)", "lambda: E", "['a', 'b']", "('a', 'b')", "[E for T in E]", "[N for N in E]", "{N: E for T in E if E}", "f'{(N := 1)}'", "f'{[N for N in N]:{N}}'",
			"E if E else E", "E in E", "N(E, N=E)", "(E)", "[E, E]", "N[E]", "{E: E}", "not E", "N.text"},
		'S': {"T = E", "T = T = E", "N += E", "(N) += E", "N[E] -= E", "N: E = E", "(N): E = E", "N: E", "N[E]: E = E", "N.text: E = E", "for T in E: S", "for N in E: S", "N = 'a'", "N: str = 'a'", "with E as N: S", "with E as T: S", "with (E as N, E as T): S",
			"try: S\nexcept E as N: S\nfinally: S", "def N(N, N: E = E, *N, N=E, **N) -> E: S", "def N(N=E): S", "if E: S", "E", "S; S", "S\nS", "match E:\n case N: S", "match E:\n case [N, *N]: S", "match N, N:\n case {'a': N, **N}: S",
			"match E:\n case N.text | 1 as N: S", "del N", "global N", "import json as N", "from json import load as N", "if 1:\n S\n S", "while E: S\nelse: S", "pass"},
	}
	r := rand.New(rand.NewPCG(1, 3))
	var expand func(text string, depth int) string
	expand = func(text string, depth int) string {
		out := ""
		for i := range len(text) {
			choices := grammar[text[i]]
			if len(choices) == 0 {
				out += text[i : i+1]
				continue
			}
			if depth <= 0 {
				choices = choices[:1]
			}
			out += expand(choices[r.IntN(len(choices))], depth-1)
		}
		return out
	}
	var input bytes.Buffer
	for texts := 0; texts < 4000; {
		text := expand("S", 6)
		list, ok := pyTokens(text)
		reader := newPyReader(list)
		if !ok || len(text) > 300 || !reader.bind(list, 0) || !reader.distinct() {
			continue
		}
		bound := maps.Clone(reader.bound)
		for name := range reader.modules {
			bound[name]++
		}
		line, err := json.Marshal([]any{text, bound, reader.holds})
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
		texts++
	}
	cmd := exec.Command("python3", "-I", "-c", pythonBinds)
	cmd.Stdin = &input
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v %s", err, out)
	}
}

// namesIn returns the names among tokens, and in the texts there. It reports false if these cannot be read.
func namesIn(list []pyToken) (names []string, ok bool) {
	for _, t := range list {
		if t.kind == 'a' {
			names = append(names, t.text)
		}
		for _, hole := range t.holes {
			inner, ok := pyTokens(hole)
			if !ok {
				return nil, false
			}
			more, ok := namesIn(inner)
			if !ok {
				return nil, false
			}
			names = slices.Concat(names, more)
		}
	}
	return names, true
}
