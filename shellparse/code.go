package shellparse

import (
	"regexp"
	"strings"
)

// language is how an interpreter takes code.
type language struct {
	opts   *optset
	names  map[string]bool // names that code may use and still be harmless
	python bool
}

var pythonOptions = mustOptions("-c=c -m=M -W= -X= --check-hash-based-pycs= -b -B -d -E -i -I -O -OO -P -q -s -S -u -v -V -VV -x -h --help --version")

var languages = map[string]*language{}

func init() {
	python := &language{opts: pythonOptions, names: pythonNames, python: true}
	for _, n := range strings.Fields("python python2 python3 pypy pypy3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14") {
		languages[n] = python
	}
	js := &language{names: jsNames, opts: mustOptions("-e,--eval=c -p,--print=c -pe=c -r,--require=x --import=x --loader=x --experimental-loader=x -c,--check " +
		"-i,--interactive --inspect?! --inspect-brk?! --env-file=r --env-file-if-exists=r --test --watch " +
		"--watch-path= --run=x --input-type= -C,--conditions= --experimental-default-type= --openssl-config=x " +
		"--redirect-warnings=w --cpu-prof-dir=t --cpu-prof --heap-prof --heapsnapshot-signal= --diagnostic-dir=t " +
		"--report-dir=t --trace-event-file-pattern=w --build-snapshot --snapshot-blob=! " +
		"--experimental-sea-config=x --icu-data-dir=x --max-old-space-size? --allow-fs-write? " +
		"--allow-child-process --permission --no-warnings --experimental-strip-types --test-reporter=f " +
		"--test-reporter-destination=w --test-name-pattern= --unhandled-rejections= --stack-trace-limit= " +
		"-v,--version -h,--help")}
	languages["node"], languages["nodejs"], languages["bun"] = js, js, js
	languages["deno"] = &language{names: jsNames, opts: mustOptions("--eval=c")}
	languages["perl"] = &language{names: perlNames, opts: mustOptions("-e=c -E=c -M=L -m=L -I=x -i?m -x? -d? -D? -F= -l# -0# -C# -n -p -a -w -W -X -s -S -t -T -u -U -v -V? -c " +
		"-h")}
	languages["ruby"] = &language{names: rubyNames, opts: mustOptions("-e=c -r=L -I=x -C=d -i?m -x? -E= -F= -K= -T# -W# -0# -l -n -p -a -c -d -s -S -v -w -y -h --disable= " +
		"--enable= --encoding= --jit --yjit --version")}
	languages["php"] = &language{names: phpNames, opts: mustOptions("-r=c -B=c -R=c -E=c -F=x -f=x -c=x -d=! -z=x -S=! -t=! -a -l -m -n -i -v -s -w -H -h --ini --rf= --rc= " +
		"--re= --version")}
	languages["lua"] = &language{names: luaNames, opts: mustOptions("-e=c -l=L -i -v -E -W -")}
	languages["luajit"] = languages["lua"]
	none := &language{opts: mustOptions("-e,--eval,--expression,-E,--execute=c -c,--command=c -p,--print=c -f=x -i -q -r=x -l=x -g=c -x=c"), names: map[string]bool{}}
	for _, n := range strings.Fields("Rscript R julia elixir iex erl groovy scala kotlin kotlinc jshell ghci runghc ocaml guile racket sbcl " +
		"clisp tclsh wish expect octave maxima gnuplot swipl gprolog gforth osascript psc coffee ts-node tsx jsc " +
		"qjs pwsh raku crystal nim v") {
		languages[n] = none
	}
	for n := range languages {
		inspectors[n] = inspectLanguage
	}
}

// runtimeCommands are subcommands of bun and deno, which rows describe.
var runtimeCommands = set("test install i run build add fmt lint check task")

// inspectLanguage looks at interpreters: what their code can do, and where it comes from.
func inspectLanguage(a *analysis, c *call, _ *scanned) {
	l := languages[c.name]
	args := c.argv[1:]
	if c.name == "bun" || c.name == "deno" {
		if len(args) > 0 && args[0].known && runtimeCommands[args[0].text] {
			return
		}
		if c.name == "deno" && len(args) > 1 && args[0].text == "eval" {
			c.effect("code " + texts(args[1:]))
			return
		}
	}
	s := l.opts.scan(args, stylePOSIX)
	code := false
	for _, h := range s.hits {
		a.apply(h, c)
		switch h.opt.does {
		case 'm':
			c.effect("option " + h.name)
		case 'c':
			code = true
			if !h.value.known || !l.harmless(a, h.value.text, c) {
				c.effect("code " + h.value.text)
			}
		case 'M':
			code = true
			if !h.value.known || !pythonModules[h.value.text] {
				c.effect("module " + h.value.text)
			}
			if h.value.text == "pip" && len(s.operands) > 1 && s.operands[0].text == "install" {
				c.effect("package " + texts(s.operands[1:]))
			}
			if h.value.text == "timeit" || h.value.text == "cProfile" || h.value.text == "trace" || h.value.text == "runpy" {
				c.effect("module " + h.value.text)
			}
		case 'L':
			if name, _, _ := strings.Cut(strings.TrimPrefix(h.value.text, "-"), "="); !harmlessLibraries[name] {
				c.effect("library " + h.value.text)
			}
		}
		if h.name == "-i" && l.python {
			c.effect("option -i")
		}
	}
	if s.vague != "" && !code {
		c.effect("word " + s.vague)
	}
	if code {
		if c.name == "perl" {
			for _, w := range s.operands {
				// <> opens a file whose name is "id|" by running id.
				if !w.known && !w.safe() && !w.files || strings.ContainsAny(w.text, "|<>") {
					c.effect("word " + w.text)
				}
			}
		}
		return
	}
	switch {
	case len(s.operands) == 0:
		if c.sc.input.kind == inputPipe || c.sc.input.kind == inputFile && len(args) == 0 {
			c.effect("runs its standard input")
		}
	case s.operands[0].known && (s.operands[0].text == "-" || s.operands[0].text == "/dev/stdin" || strings.HasPrefix(s.operands[0].text, "/dev/fd/")):
		c.effect("runs its standard input")
	case !s.operands[0].known:
		c.effect("word " + s.operands[0].text)
	default:
		c.reads = a.file(c.reads, s.operands[0], c.name, c.sc)
	}
}

var (
	codeString = regexp.MustCompile("\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*'")
	codeName   = regexp.MustCompile(`[A-Za-z_$@%][\w$]*`)
	codeOpen   = regexp.MustCompile(`\bopen\(\s*("[^"\\]*"|'[^'\\]*')\s*(,\s*["']rb?["']\s*)?(,\s*encoding\s*=\s*("[^"]*"|'[^']*')\s*)?\)`)
	// codeRequire reads data: a JSON file holds no code.
	codeRequire = regexp.MustCompile(`\brequire\(\s*("\.{0,2}/[\w./-]+\.json"|'\.{0,2}/[\w./-]+\.json')\s*\)`)
	// pythonVersion asks an installed module for its version or place.
	pythonVersion = regexp.MustCompile(`^\s*import (\w+)\s*(?:;\s*print\(\s*(\w+)\.(?:__version__|__file__|VERSION|version)\s*\)\s*)$`)
	codeIndex     = regexp.MustCompile(`[\w$)\]]\s*\[[^\]]*[^\]0-9:\-\s][^\]]*\]`)
	codeBound     = regexp.MustCompile(`(?:\b(?:const|let|var|for|lambda|as|my)\s+|[({\s,;]|^)\(?\[?([A-Za-z_]\w*)\]?\)?\s*(?:=[^=]|\bin\b|\bof\b|=>|,\s*\w+\)\s*=>)`)
)

// harmless says that code only computes and prints: every name in it is on the list of its language or bound
// by itself, and nothing in it builds names or code at run time.
func (l *language) harmless(a *analysis, code string, c *call) bool {
	if len(l.names) == 0 || len(code) > 2000 || strings.ContainsAny(code, "`\\") && strings.Contains(code, "`") {
		return false
	}
	if l.python {
		if m := pythonVersion.FindStringSubmatch(code); m != nil && !dangerousNames[m[1]] && m[2] == m[1] {
			return true
		}
		code = codeOpen.ReplaceAllStringFunc(code, func(m string) string {
			name := codeString.FindString(m)
			c.reads = a.file(c.reads, lit(strings.Trim(name, `"'`)), c.name, c.sc)
			return "0"
		})
		if regexpFString.MatchString(code) {
			return false
		}
	} else if l != languages["ruby"] && l != languages["perl"] && codeIndex.MatchString(codeString.ReplaceAllString(code, "S")) {
		return false
	} else if l == languages["node"] {
		code = codeRequire.ReplaceAllStringFunc(code, func(m string) string {
			c.reads = a.file(c.reads, lit(strings.Trim(codeString.FindString(m), `"'`)), c.name, c.sc)
			return "0"
		})
	}
	if l == languages["perl"] {
		code = perlMatch.ReplaceAllString(code, "$1 1 $2")
	}
	bare := codeString.ReplaceAllString(code, " ")
	if strings.ContainsAny(bare, "\"'#") {
		return false
	}
	bound := map[string]bool{}
	for _, m := range codeBound.FindAllStringSubmatch(bare, -1) {
		bound[m[1]] = true
	}
	for _, n := range codeName.FindAllString(bare, -1) {
		if !l.names[n] && !(len(n) == 1 || bound[n] && !dangerousNames[n] && !strings.HasPrefix(n, "__")) {
			return false
		}
	}
	return true
}

// perlMatch is a match or a substitution that neither interpolates nor evaluates.
var perlMatch = regexp.MustCompile("(^|if |unless |and |or |not |[~(!;{])\\s*(?:m?/(?:[^/{}$@`\\\\]|\\\\.)*/|(?:s|tr|y)/(?:[^/{}$@`\\\\]|" +
	"\\\\.)*/(?:[^/{}$@`\\\\]|\\\\.)*/)[gimsxp]*(\\W|$)")

var regexpFString = regexp.MustCompile(`\b[fF][rR]?["']`)
