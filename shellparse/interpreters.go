package shellparse

import (
	"path"
	"strings"
)

// language is how an interpreter takes code. What code does is not known, whichever way it gets in: as an argument,
// from a here-document, a here-string, a pipe, or a file on its standard input. A script that a word names is a file
// of its own, which can be read.
type language struct {
	opts   *optset
	python bool
}

var pythonOptions = mustOptions("-c=c -m=M -W= -X= --check-hash-based-pycs= -b -B -d -E -i:x -I -O -OO -P -q -s -S -u -v -V -VV -x -h --help --version")

var languages = map[string]*language{}

func init() {
	python := &language{opts: pythonOptions, python: true}
	add := func(l *language, names string) {
		for _, n := range strings.Fields(names) {
			languages[n] = l
		}
	}
	add(python, "python python2 python3 pypy pypy3 jython micropython ipython bpython ptpython xonsh hy sage")
	add(&language{opts: mustOptions("-e,--eval=c -p,--print=c -pe=c -r,--require=x --import=x --loader=x --experimental-loader=x -c,--check " +
		"-i,--interactive:x --inspect?! --inspect-brk?! --env-file=r --env-file-if-exists=r --test --watch " +
		"--watch-path= --run=x --input-type= -C,--conditions= --experimental-default-type= --openssl-config=x " +
		"--redirect-warnings=w --cpu-prof-dir=t --cpu-prof --heap-prof --heapsnapshot-signal= --diagnostic-dir=t " +
		"--report-dir=t --trace-event-file-pattern=w --build-snapshot --snapshot-blob=! " +
		"--experimental-sea-config=x --icu-data-dir=x --max-old-space-size? --allow-fs-write? " +
		"--allow-child-process --permission --no-warnings --experimental-strip-types --test-reporter=f " +
		"--test-reporter-destination=w --test-name-pattern= --unhandled-rejections= --stack-trace-limit= " +
		"-v,--version -h,--help")}, "node nodejs bun")
	add(&language{opts: mustOptions("--eval=c --eval-file=x")}, "deno")
	add(&language{opts: mustOptions("-e=c -E=c -M=L -m=L -I=x -i?m -x? -d? -D? -F= -l# -0# -C# -n -p -a -w -W -X -s -S -t -T -u -U -v -V? -c " +
		"-h")}, "perl")
	add(&language{opts: mustOptions("-e=c -r=L -I=x -C=d -i?m -x? -E= -F= -K= -T# -W# -0# -l -n -p -a -c -d -s -S -v -w -y -h --disable= " +
		"--enable= --encoding= --jit --yjit --version")}, "ruby jruby truffleruby irb pry")
	add(&language{opts: mustOptions("-r=c -B=c -R=c -E=c -F=x -f=x -c=x -d=! -z=x -S=! -t=! -a,--interactive:x -l -m -n -i -v -s -w -H -h --ini --rf= --rc= " +
		"--re= --version")}, "php php-cgi hhvm phpdbg")
	add(&language{opts: mustOptions("-e=c -l=L -i:x -v -E -W -")}, "lua luajit texlua fennel")
	add(&language{opts: mustOptions("-e,--eval,--expression,-E,--execute=c -c,--command,--code,-code=c -p,--print=c -batch=c -f=x -i:x -q -r=x -l=x -g=c -x=c")},
		"Rscript R julia elixir iex erl groovy groovysh scala scala-cli kotlin kotlinc jshell ghci runghc runhaskell ocaml guile racket sbcl "+
			"clisp ecl gcl tclsh wish jimsh expect octave maxima gnuplot swipl gprolog gforth osascript psc coffee ts-node tsx jsc "+
			"qjs pwsh raku crystal nim v m4 gm4 clojure clj bb janet gosh csi gsi chibi-scheme newlisp picolisp pike regina rexx gp gap matlab "+
			"wolframscript zx esno babel-node vite-node jiti sucrase-node hugs lolcode gst factor evcxr dyalog apl bqn")
}

// languageOf returns the language of an interpreter, wherever it lies and whatever its version, nil when it is none.
func languageOf(name string) *language {
	if l := languages[name]; l != nil {
		return l
	}
	name = path.Base(name)
	if l := languages[name]; l != nil {
		return l
	}
	name = strings.TrimSuffix(name, "-dbg")
	end := len(name)
	if end > 1 && (name[end-1] == 't' || name[end-1] == 'd' || name[end-1] == 'm') && name[end-2] >= '0' && name[end-2] <= '9' {
		end-- // a build of another kind
	}
	for end > 0 && (name[end-1] >= '0' && name[end-1] <= '9' || name[end-1] == '.' || name[end-1] == '-') {
		end--
	}
	return languages[name[:end]]
}

// runtimeCommands are subcommands of bun and deno, which rows describe.
var runtimeCommands = set("test install i run build add fmt lint check task")

// codeCommands take code, or open a console that reads it: a program or a script, and its subcommand.
var codeCommands = set2("rails runner|rails r|rails console|rails c|rails dbconsole|rails db|hanami console|bundle console|artisan tinker|" +
	"manage.py shell|manage.py shell_plus|manage.py dbshell|manage.py runscript|django-admin shell|django-admin dbshell|flask shell|" +
	"drush php:eval|drush php-eval|drush ev|drush eval|drush php:cli|drush php|drush sql:query|drush sqlq|drush sql:cli|drush sqlc|wp eval|wp shell|" +
	"wp db|jupyter console|jupyter run|jupyter execute|dotnet fsi|dotnet script|dotnet-script eval|cargo script|cargo eval|deno eval|deno repl|deno jupyter|bun exec|" +
	"bun repl|nix eval|nix repl|mix eval|mix run|swift repl|stack eval|stack ghci|stack repl|stack exec|cabal repl|sbt console|rebar3 shell|crystal eval|" +
	"gradle jshell|symfony console|scala-cli repl|dolt sql|cockroach sql|bq query|wrangler d1|turso db|supabase db|prisma db|" +
	"nodetool sjk|spring shell|swift -e|zig eval|lein repl|lein run|ghc -e|ghc --interactive")

func set2(list string) map[string]bool {
	m := map[string]bool{}
	for s := range strings.SplitSeq(list, "|") {
		m[s] = true
	}
	return m
}

// runsSource are compilers that can run at once what they read.
var runsSource = set("java tcc swift dart zig scala go cargo dotnet kotlinc ghc ocamlfind ldc2 rdmd dmd")

// takesCode notes that the first words name a command which is given code.
func (a *analysis) takesCode(c *call) {
	if runsSource[path.Base(c.name)] && c.sc.input.kind != inputNone {
		for _, w := range c.argv[1:] {
			if w.known && standardInput(w.text) {
				c.runsInput()
			}
		}
	}
	words := c.argv
	if languageOf(c.name) != nil && len(words) > 2 {
		words = words[1:] // python3 manage.py shell
	}
	if len(words) > 1 && words[0].known && words[1].known && codeCommands[path.Base(words[0].text)+" "+words[1].text] ||
		len(c.argv) > 1 && c.argv[1].known && codeCommands[path.Base(c.name)+" "+c.argv[1].text] {
		c.effectAt("code "+texts(c.argv[1:]), words[1])
	}
}

// inspectLanguage looks at interpreters: whether they are given code, and where the script lies that they run.
func (a *analysis) inspectLanguage(l *language, c *call) {
	args := c.argv[1:]
	if c.name == "bun" || c.name == "deno" {
		if len(args) > 0 && args[0].known && runtimeCommands[args[0].text] {
			for _, w := range args[1:] {
				if w.known && standardInput(w.text) {
					c.runsInput()
				}
			}
			return
		}
	}
	s := l.opts.scan(args, stylePOSIX)
	code := false
	for _, h := range s.hits {
		a.apply(h, c)
		switch h.opt.does {
		case 'm':
			c.effectOf("option "+h.name, h)
		case 'c':
			code = true
			c.op = c.upTo(hit{name: h.name})
			c.operates("code " + h.value.text)
		case 'M':
			code = true
			if !h.value.known || !pythonModules[h.value.text] {
				c.effectOf("module "+h.value.text, h)
			}
			if h.value.text == "pip" && len(s.operands) > 1 && s.operands[0].text == "install" {
				c.effectAt("package "+texts(s.operands[1:]), s.operands[0])
			}
		case 'L':
			if name, _, _ := strings.Cut(strings.TrimPrefix(h.value.text, "-"), "="); !harmlessLibraries[name] {
				c.effectOf("library "+h.value.text, h)
			}
		}
	}
	if code {
		return
	}
	if s.vague != "" {
		c.effectAt("word "+s.vague, word{text: s.vague})
	}
	for _, w := range s.operands {
		if readsAll[path.Base(c.name)] && w.known && standardInput(w.text) {
			c.runsInput()
		}
	}
	switch {
	case s.dashes && c.name == "php" && c.sc.input.kind != inputNone: // what follows are the arguments of what it reads
		c.runsInput()
	case len(s.operands) == 0:
		if c.sc.input.kind != inputNone && !onlyAsks(args) {
			c.runsInput()
		}
	case s.operands[0].known && standardInput(s.operands[0].text):
		c.runsInput()
	case !s.operands[0].known:
		c.effectAt("word "+s.operands[0].text, s.operands[0])
	default:
		c.op = c.upTo(hit{value: s.operands[0], has: true})
		c.reads = a.file(c.reads, s.operands[0], c.name, c.sc)
	}
}

// readsAll run every file that their operands name.
var readsAll = set("m4 gm4 gnuplot")

// standardInput says that a word stands for what is read from the standard input, or from another descriptor.
func standardInput(s string) bool {
	return s == "-" || hasPrefix(path.Clean(s), "/dev/stdin", "/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/")
}

// pythonModules are modules that python -m runs without executing or serving anything beyond the project.
var pythonModules = set("pytest unittest json.tool mypy ruff black isort flake8 pylint coverage py_compile compileall tabnanny " +
	"venv pip doctest tox nox sphinx build pyright bandit yapf autopep8 pycodestyle pydocstyle pyflakes ast " +
	"dis tokenize calendar this platform sysconfig site django manage alembic behave nose2 green hypothesis " +
	"towncrier mkdocs pre_commit mdformat docformatter vulture")

// harmlessLibraries can be loaded by -M, -r and -l.
var harmlessLibraries = set("strict warnings utf8 feature POSIX List::Util Data::Dumper JSON::PP Time::HiRes Time::Local Text::Wrap " +
	"Scalar::Util json set time date pp yaml bigdecimal digest securerandom open")
