package shellparse

import (
	"path"
	"strings"

	"callgate/shellparse/programs"
)

// What code does that an interpreter is given is not known, whichever way it gets in: as an argument, from a here-document,
// a here-string, a pipe, or a file on its standard input. A script that a word names is a file of its own, which can be
// read.

// languageOf returns the language of an interpreter, wherever it lies and whatever its version, nil if it is not one.
func languageOf(name string) *programs.Language {
	if l := programs.Find(programs.Canonical(name)).Language; l != nil {
		return l
	}
	whole := name
	if name = path.Base(name); name != whole {
		if l := programs.Find(programs.Canonical(name)).Language; l != nil {
			return l
		}
		whole = name
	}
	name = strings.TrimSuffix(name, "-dbg")
	end := len(name)
	if end > 1 && (name[end-1] == 't' || name[end-1] == 'd' || name[end-1] == 'm') && name[end-2] >= '0' && name[end-2] <= '9' {
		end-- // a build of another kind
	}
	for end > 0 && (name[end-1] >= '0' && name[end-1] <= '9' || name[end-1] == '.' || name[end-1] == '-') {
		end--
	}
	if end == len(whole) {
		return nil
	}
	return programs.Find(programs.Canonical(name[:end])).Language
}

// runtimeCommands are subcommands of bun and deno, which rows describe.
var runtimeCommands = set("test install i run build add fmt lint check task")

// takesCode notes that the first words name a command which is given code.
func (a *analysis) takesCode(c *call) {
	if programs.Find(path.Base(c.name)).Has(programs.RunsSource) && c.sc.input.kind != inputNone {
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
	if len(words) > 1 && words[0].known && words[1].known && programs.Find(programs.Canonical(path.Base(words[0].text)), words[1].text).Has(programs.TakesCode) ||
		len(c.argv) > 1 && c.argv[1].known && programs.Find(programs.Canonical(path.Base(c.name)), c.argv[1].text).Has(programs.TakesCode) {
		c.effectAt("code "+texts(c.argv[1:]), words[1])
	}
}

// inspectLanguage looks at interpreters: whether they are given code, and where the script lies that they run.
func (a *analysis) inspectLanguage(l *programs.Language, c *call) {
	args := c.argv[1:]
	if (c.name == "bun" || c.name == "deno") && len(args) > 0 && args[0].known && runtimeCommands[args[0].text] {
		for _, w := range args[1:] {
			if w.known && standardInput(w.text) {
				c.runsInput()
			}
		}
		return
	}
	s := (*optset)(l.Options).scan(args, programs.POSIX)
	code := false
	for _, h := range s.hits {
		a.apply(h, c)
		code = c.takesCode(h, &s) || code
	}
	if code {
		return
	}
	if s.vague != "" {
		c.effectAt("word "+s.vague, word{text: s.vague})
	}
	for _, w := range s.operands {
		if w.known && standardInput(w.text) && programs.Find(path.Base(c.name)).Has(programs.RunsOperands) {
			c.runsInput()
		}
	}
	a.interprets(c, &s)
}

// interprets notes what an interpreter runs that was given no code: a file, or its input.
func (a *analysis) interprets(c *call, s *scanned) {
	switch {
	case s.dashes && c.name == "php" && c.sc.input.kind != inputNone: // what follows are the arguments of what it reads
		c.runsInput()
	case len(s.operands) == 0:
		if c.sc.input.kind != inputNone && !onlyAsks(c.argv[1:]) {
			c.runsInput()
		}
	case s.operands[0].known && standardInput(s.operands[0].text):
		c.runsInput()
	case !s.operands[0].known:
		c.effectAt("word "+s.operands[0].text, s.operands[0])
	default:
		c.op = c.upTo(hit{value: s.operands[0], has: true})
		a.reads(c, s.operands[0])
	}
}

// takesCode notes what an option of an interpreter executes, and says that it is code in place of a script.
func (c *call) takesCode(h hit, s *scanned) bool {
	switch h.opt.Does {
	case 'm':
		c.effectOf("option "+h.name, h)
	case 'c':
		c.op = c.upTo(hit{name: h.name})
		c.operates("code " + h.value.text)
		return true
	case 'M':
		if !h.value.known || !pythonModules[h.value.text] {
			c.effectOf("module "+h.value.text, h)
		}
		if h.value.text == "pip" && len(s.operands) > 1 && s.operands[0].text == "install" {
			c.effectAt("package "+texts(s.operands[1:]), s.operands[0])
		}
		return true
	case 'L':
		if name, _, _ := strings.Cut(strings.TrimPrefix(h.value.text, "-"), "="); !harmlessLibraries[name] {
			c.effectOf("library "+h.value.text, h)
		}
	}
	return false
}

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
