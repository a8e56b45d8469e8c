package shellparse

import (
	"regexp"
	"strings"
)

// inspectSed reads sed scripts: the commands that execute or touch files are found by parsing, and what
// does not parse is taken for one.
func inspectSed(a *analysis, c *call, s *scanned) {
	scripts := s.codes()
	if len(scripts) == 0 && len(s.operands) > 0 {
		if _, file := s.find("-f"); !file {
			scripts = s.operands[:1]
		}
	}
	for _, w := range scripts {
		if !w.known {
			c.effect("code " + w.text)
			continue
		}
		a.sedScript(w.text, c)
	}
}

// codes returns the arguments that are code.
func (s *scanned) codes() []word {
	var list []word
	for _, h := range s.hits {
		if h.opt.does == 'c' && h.has {
			list = append(list, h.value)
		}
	}
	return list
}

func (a *analysis) sedScript(s string, c *call) {
	i := 0
	skip := func(set string) {
		for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
			i++
		}
	}
	// delimited passes a part that ends with d and returns false when it does not end.
	delimited := func(d byte) bool {
		class := false
		for ; i < len(s); i++ {
			switch {
			case s[i] == '\\':
				i++
			case s[i] == '\n' && !class:
				return false
			case s[i] == d:
				i++
				return true
			}
		}
		return false
	}
	file := func(write bool) {
		end := strings.IndexByte(s[i:], '\n')
		if end < 0 {
			end = len(s) - i
		}
		name := strings.TrimSpace(s[i : i+end])
		i += end
		if write {
			c.writes = a.file(c.writes, lit(name), "sed", c.sc, true)
			if name == "" || name == "/dev/stdout" {
				c.effect("code " + s)
			}
		} else {
			c.reads = a.file(c.reads, lit(name), "sed", c.sc, false)
		}
	}
	for i < len(s) {
		skip(" \t\n;{}")
		if i >= len(s) {
			return
		}
		// Addresses.
		for n := 0; n < 2; n++ {
			skip(" \t")
			switch {
			case i >= len(s):
			case s[i] >= '0' && s[i] <= '9':
				skip("0123456789~")
			case s[i] == '$':
				i++
			case s[i] == '+' || s[i] == '~':
				i++
				skip("0123456789")
			case s[i] == '/' || s[i] == '\\' && i+1 < len(s):
				d := s[i]
				if d == '\\' {
					i++
					d = s[i]
				}
				i++
				if !delimited(d) {
					c.effect("code " + s)
					return
				}
				skip("IM")
			}
			skip(" \t")
			if i < len(s) && s[i] == ',' && n == 0 {
				i++
				continue
			}
			break
		}
		skip(" \t!")
		if i >= len(s) {
			return
		}
		cmd := s[i]
		i++
		switch cmd {
		case '{', '}', ';', '\n':
		case '#':
			if end := strings.IndexByte(s[i:], '\n'); end >= 0 {
				i += end
			} else {
				return
			}
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		case 'l', 'L', 'q', 'Q':
			skip(" \t0123456789")
		case 'b', 't', 'T', ':':
			skip(" \t")
			for i < len(s) && s[i] != ';' && s[i] != '\n' && s[i] != '}' {
				i++
			}
		case 'a', 'i', 'c':
			for i < len(s) && s[i] != '\n' {
				if s[i] == '\\' {
					i++
				}
				i++
			}
		case 'y', 's':
			if i >= len(s) {
				c.effect("code " + s)
				return
			}
			d := s[i]
			i++
			if !delimited(d) || !delimited(d) {
				c.effect("code " + s)
				return
			}
			if cmd == 's' {
			flags:
				for i < len(s) {
					switch f := s[i]; {
					case f == 'e' || f == 'm' || f == 'M':
						if f == 'e' {
							c.effect("code " + s)
						}
						i++
					case f == 'w':
						i++
						file(true)
					case f == 'g' || f == 'p' || f == 'i' || f == 'I' || f >= '0' && f <= '9':
						i++
					default:
						break flags
					}
				}
			}
		case 'r', 'R':
			file(false)
		case 'w', 'W':
			file(true)
		default: // e, v and what is not known
			c.effect("code " + s)
			return
		}
		// A command ends at a line end, a semicolon or a brace.
		skip(" \t")
		if i < len(s) && strings.IndexByte(";\n}#", s[i]) < 0 && cmd != '{' && cmd != '}' && cmd != ';' {
			c.effect("code " + s)
			return
		}
	}
}

var awkPrint = regexp.MustCompile(`\bprintf?\b[^;}\n]*>`)

// inspectAwk looks for what lets an awk program execute, write, or read other files.
func inspectAwk(_ *analysis, c *call, s *scanned) {
	programs := s.codes()
	if len(programs) == 0 && len(s.operands) > 0 {
		if _, file := s.find("-f", "--file", "-E", "--exec"); !file {
			programs = s.operands[:1]
		}
	}
	for _, w := range programs {
		text := w.text
		if !w.known || strings.Contains(text, "system") || strings.Contains(text, "getline") || strings.Contains(text, "ENVIRON") ||
			strings.Contains(text, "/inet") || strings.Contains(text, "SYMTAB") || strings.Contains(text, "PROCINFO") || awkStripped(text) {
			c.effect("code " + text)
		}
	}
}

// awkStripped says that a program, without its regular expressions and strings, has a pipe, an output
// redirection, an indirect call or a directive.
func awkStripped(s string) bool {
	var b strings.Builder
	last := byte('{')
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case ch == '"' || ch == '/' && strings.IndexByte("(,!~&|{};\n", last) >= 0:
			for i++; i < len(s) && s[i] != ch && s[i] != '\n'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			b.WriteString(" 0 ")
			last = '0'
			continue
		case ch == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			last = '\n'
			b.WriteByte('\n')
			continue
		case ch == '|' && i+1 < len(s) && s[i+1] == '|':
			i++
			last = '|'
			b.WriteString(" or ")
			continue
		case ch == '|' || ch == '@':
			return true
		}
		b.WriteByte(ch)
		if ch != ' ' && ch != '\t' {
			last = ch
		}
	}
	return awkPrint.MatchString(b.String())
}

var jqNames = regexp.MustCompile(`(^|[^.\w"])(env|input_filename|import|include|getpath_env|debug|input_line_number|\$ENV|\$__prog_args|get_search_list|modulemeta)\b|\$ENV\b`)

func inspectJq(a *analysis, c *call, s *scanned) {
	ops := s.operands
	var files []word
	program := -1
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if !w.known && !w.safe() && program < 0 {
			c.effect("code " + w.text)
			return
		}
		switch w.text {
		case "--arg", "--argjson":
			i += 2
			continue
		case "--slurpfile", "--rawfile":
			if i+2 < len(c.argv) {
				files = append(files, c.argv[i+2])
			}
			i += 2
			continue
		case "--args", "--jsonargs":
			i = len(c.argv)
			continue
		case "-f", "--from-file", "-L", "--indent":
			i++
			continue
		}
		if strings.HasPrefix(w.text, "-") && len(w.text) > 1 {
			continue
		}
		if program < 0 {
			program = i
			if !w.known || jqNames.MatchString(w.text) {
				c.effect("code " + w.text)
			}
			continue
		}
		files = append(files, w)
	}
	_ = ops
	for _, f := range files {
		c.reads = a.file(c.reads, f, "jq", c.sc, false)
	}
}

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
	js := &language{names: jsNames, opts: mustOptions("-e,--eval=c -p,--print=c -pe=c -r,--require=x --import=x --loader=x --experimental-loader=x -c,--check -i,--interactive --inspect?! --inspect-brk?! --env-file=r --env-file-if-exists=r --test --watch --watch-path= --run=x --input-type= -C,--conditions= --experimental-default-type= --openssl-config=x --redirect-warnings=w --cpu-prof-dir=t --cpu-prof --heap-prof --heapsnapshot-signal= --diagnostic-dir=t --report-dir=t --trace-event-file-pattern=w --build-snapshot --snapshot-blob=! --experimental-sea-config=x --icu-data-dir=x --max-old-space-size? --allow-fs-write? --allow-child-process --permission --no-warnings --experimental-strip-types --test-reporter=f --test-reporter-destination=w --test-name-pattern= --unhandled-rejections= --stack-trace-limit= -v,--version -h,--help")}
	languages["node"], languages["nodejs"], languages["bun"] = js, js, js
	languages["deno"] = &language{names: jsNames, opts: mustOptions("--eval=c")}
	languages["perl"] = &language{names: perlNames, opts: mustOptions("-e=c -E=c -M=L -m=L -I=x -i?m -x? -d? -D? -F= -l? -0? -C? -n -p -a -w -W -X -s -S -t -T -u -U -v -V? -c -h")}
	languages["ruby"] = &language{names: rubyNames, opts: mustOptions("-e=c -r=L -I=x -C=d -i?m -x? -E= -F= -K= -T? -W? -0? -l -n -p -a -c -d -s -S -v -w -y -h --disable= --enable= --encoding= --jit --yjit --version")}
	languages["php"] = &language{names: phpNames, opts: mustOptions("-r=c -B=c -R=c -E=c -F=x -f=x -c=x -d=! -z=x -S=! -t=! -a -l -m -n -i -v -s -w -H -h --ini --rf= --rc= --re= --version")}
	languages["lua"] = &language{names: luaNames, opts: mustOptions("-e=c -l=L -i -v -E -W -")}
	languages["luajit"] = languages["lua"]
	none := &language{opts: mustOptions("-e,--eval,--expression,-E,--execute=c -c,--command=c -p,--print=c -f=x -i -q -r=x -l=x -g=c -x=c"), names: map[string]bool{}}
	for _, n := range strings.Fields("Rscript R julia elixir iex erl groovy scala kotlin kotlinc jshell ghci runghc ocaml guile racket sbcl clisp tclsh wish expect octave maxima gnuplot swipl gprolog gforth osascript psc coffee ts-node tsx jsc qjs pwsh raku crystal nim v") {
		languages[n] = none
	}
	for n := range languages {
		inspectors[n] = inspectLanguage
	}
}

// inspectLanguage looks at interpreters: what their code can do, and where it comes from.
func inspectLanguage(a *analysis, c *call, _ *scanned) {
	l := languages[c.name]
	args := c.argv[1:]
	if c.name == "bun" || c.name == "deno" {
		if len(args) > 0 && args[0].known && (args[0].text == "test" || args[0].text == "install" || args[0].text == "run" || args[0].text == "build" || args[0].text == "add" || args[0].text == "fmt" || args[0].text == "lint" || args[0].text == "check" || args[0].text == "task" || args[0].text == "i") {
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
		c.reads = a.file(c.reads, s.operands[0], c.name, c.sc, false)
	}
}

var (
	codeString = regexp.MustCompile("\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*'")
	codeName   = regexp.MustCompile(`[A-Za-z_$@%][\w$]*`)
	codeOpen   = regexp.MustCompile(`\bopen\(\s*("[^"\\]*"|'[^'\\]*')\s*(,\s*["']rb?["']\s*)?(,\s*encoding\s*=\s*("[^"]*"|'[^']*')\s*)?\)`)
	codeIndex  = regexp.MustCompile(`[\w$)\]]\s*\[[^\]]*[^\]0-9:\-\s][^\]]*\]`)
	codeBound  = regexp.MustCompile(`(?:\b(?:const|let|var|for|lambda|as|my)\s+|[({\s,;]|^)\(?\[?([A-Za-z_]\w*)\]?\)?\s*(?:=[^=]|\bin\b|\bof\b|=>|,\s*\w+\)\s*=>)`)
)

// harmless says that code only computes and prints: every name in it is on the list of its language or bound
// by itself, and nothing in it builds names or code at run time.
func (l *language) harmless(a *analysis, code string, c *call) bool {
	if len(l.names) == 0 || len(code) > 2000 || strings.ContainsAny(code, "`\\") && strings.Contains(code, "`") {
		return false
	}
	if l.python {
		code = codeOpen.ReplaceAllStringFunc(code, func(m string) string {
			name := codeString.FindString(m)
			c.reads = a.file(c.reads, lit(strings.Trim(name, `"'`)), c.name, c.sc, false)
			return "0"
		})
		if regexpFString.MatchString(code) {
			return false
		}
	} else if codeIndex.MatchString(codeString.ReplaceAllString(code, "S")) {
		return false
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

var regexpFString = regexp.MustCompile(`\b[fF][rR]?["']`)
