package embedded

import (
	"bytes"
	"encoding/json"
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
		`import ast; ast.parse('1', filename='a')`:                            {Reads: []string{"a"}},
		`import ast; p = 'a'; ast.parse(open(p).read(), p)`:                   {Reads: []string{"a", "a"}},
		`import sys; open(sys.argv[1])`:                                       {Arguments: true},
		`import zipfile; zipfile.ZipFile('a.zip').read('.env')`:               {Reads: []string{"a.zip"}},
		`import pandas as pd; pd.read_csv('a.csv', sep=';').head()`:           {Reads: []string{"a.csv"}},
		"with open('a') as f, open('b', 'w') as g:\n g.write(f.read())":       {Reads: []string{"a"}, Writes: []string{"b"}},
		"import json\nprint(json.load(open('a'))['b'], json.load(open('c')))": {Reads: []string{"a", "c"}},
	} {
		if got, ok := Python(code); !ok || !reflect.DeepEqual(got, want) {
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
