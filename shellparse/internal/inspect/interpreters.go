package inspect

import (
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/embedded"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// runtimeCommands lists the subcommands of bun and deno that have rows.
var runtimeCommands = word.Set("test install i run build add fmt lint check task")

// takesCode records that the first words name a command that takes code.
func takesCode(c *walk.Call) {
	if programs.Find(path.Base(c.Name)).Has(programs.RunsSource) && c.Sc.Input.Kind != word.InputNone {
		for _, w := range c.Argv[1:] {
			if w.Known && standardInput(w.Text) {
				c.RunsInput()
			}
		}
	}
	if c.Is(programs.TakesCode) && len(c.Words.Operands) == 0 && !slices.ContainsFunc(c.Argv[1:], func(w word.Word) bool { return asking[w.Text] }) {
		c.RunsInput() // a console
	}
	words := c.Argv
	if programs.LanguageOf(c.Name) != nil && len(words) > 2 {
		words = words[1:] // python3 manage.py shell
	}
	if len(words) > 1 && words[0].Known && words[1].Known && programs.Find(programs.Canonical(path.Base(words[0].Text)), words[1].Text).Has(programs.TakesCode) ||
		len(c.Argv) > 1 && c.Argv[1].Known && programs.Find(programs.Canonical(path.Base(c.Name)), c.Argv[1].Text).Has(programs.TakesCode) {
		c.EffectAt("code "+word.JoinTexts(c.Argv[1:]), words[1])
	}
}

// asking lists options with which a console only tells about itself.
var asking = word.Set("--help -h -help --version -version --script-version")

// inspectLanguage inspects an interpreter: whether it gets code, and which script it runs.
func inspectLanguage(a *walk.Walker, l *programs.Language, c *walk.Call) {
	if l.Python {
		takesText(c)
	}
	args := c.Argv[1:]
	if (c.Name == "bun" || c.Name == "deno") && len(args) > 0 && args[0].Known && runtimeCommands[args[0].Text] {
		mayRunInput(c, args[1:])
		return
	}
	s := (*word.Options)(l.Options).Scan(args, programs.POSIX)
	code := false
	for _, h := range s.Hits {
		apply(a, h, c)
		if h.Opt.Does == 'c' && (code || !computes(a, c, h)) { // a second one is an argument of the first
			opens(a, l, c, h.Value.Text)
		}
		code = givesCode(c, h, &s) || code
	}
	if code {
		return
	}
	if checks := slices.ContainsFunc(s.Hits, func(h word.Hit) bool { return h.Opt.Does == 'y' }); checks && areFiles(s.Operands) {
		word.All(func(w word.Word) { a.Reads(c, w) }, s.Operands)
		return
	}
	if s.Vague != "" {
		c.EffectAt("word "+s.Vague, word.Word{Text: s.Vague})
	}
	if programs.Find(path.Base(c.Name)).Has(programs.RunsOperands) {
		mayRunInput(c, s.Operands)
	}
	interprets(a, c, &s)
}

// takesText turns a python that reads code from a here-document into python -c. It also joins lines that are whole
// statements into one line, so that a rule for one form holds for the other.
func takesText(c *walk.Call) {
	if in := c.Sc.Input; in.Kind == word.InputText && in.Text.Known && strings.HasSuffix(in.Text.Text, "\n") && (len(c.Argv) == 1 || len(c.Argv) == 2 && c.Argv[1].Known && c.Argv[1].Text == "-") {
		c.Argv = []word.Word{c.Argv[0], word.Lit("-c"), in.Text}
	}
	if len(c.Argv) == 3 && c.Argv[1].Text == "-c" && c.Argv[2].Known {
		lines := strings.FieldsFunc(c.Argv[2].Text, func(r rune) bool { return r == '\n' })
		if !slices.ContainsFunc(lines, func(line string) bool { return !simpleLine.MatchString(line) }) {
			c.Argv = []word.Word{c.Argv[0], c.Argv[1], word.Lit(strings.Join(lines, "; "))}
		}
	}
}

// simpleLine matches a line of Python that consists of whole statements, and begins or ends no block, text or comment.
var simpleLine = lazyregexp.New(`^[a-zA-Z_](?:[^#'"\\]|'[^'\\]*'|"[^"\\]*")*[^:'"#\\(\[{,;\s]$|^[a-zA-Z_](?:[^#'"\\]|'[^'\\]*'|"[^"\\]*")*['"]$`)

// computes records what code in Python uses, if the code is known whole.
func computes(a *walk.Walker, c *walk.Call, h word.Hit) bool {
	if !h.Value.Known || !embedded.IsPython(path.Base(c.Argv[0].Text)) {
		return false
	}
	files, ok := embedded.Python(h.Value.Text)
	if !ok {
		return false
	}
	for _, name := range files.Reads {
		a.Reads(c, word.Lit(name))
	}
	for _, name := range files.Writes {
		a.Writes(c, word.Lit(name))
	}
	if files.Arguments { // all words behind the code
		at := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && strings.HasSuffix(w.Text, h.Value.Text) })
		word.All(func(w word.Word) { a.Reads(c, w) }, c.Argv[at+1:])
	}
	c.Computes, c.Imports = true, files.Imports
	return true
}

// mayRunInput records that one of a program's scripts is its standard input.
func mayRunInput(c *walk.Call, scripts []word.Word) {
	if slices.ContainsFunc(scripts, func(w word.Word) bool { return w.Known && standardInput(w.Text) }) {
		c.RunsInput()
	}
}

// required matches the data files that code for Node.js loads.
var required = lazyregexp.New(`(?:require\(|readFileSync\()['"]([^'"]*\.json)['"]`)

// opened matches the files that Python code opens by name.
var opened = lazyregexp.New(`open\(['"]([^'"]+)['"]`)

// opens records the files that code opens by name.
func opens(a *walk.Walker, l *programs.Language, c *walk.Call, code string) {
	names := opened
	if !l.Python {
		if names = required; c.Name != "node" {
			return
		}
	}
	for _, file := range names.FindAllStringSubmatch(code, -1) {
		a.Reads(c, word.Lit(file[1]))
	}
}

// areFiles reports whether the words are names of files that cannot be options with an effect on a mere check.
func areFiles(words []word.Word) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w word.Word) bool {
		return w.Known || !w.Files || !w.Safe() && word.DoubtOf(&w) != word.Named
	})
}

// interprets records what an interpreter without code runs: a file, or its input.
func interprets(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	switch {
	case s.Dashes && c.Name == "php" && c.Sc.Input.Kind != word.InputNone: // the words after -- are arguments of the script that it reads
		c.RunsInput()
	case len(s.Operands) == 0:
		if c.Sc.Input.Kind != word.InputNone && !onlyAsks(c.Argv[1:]) {
			c.RunsInput()
		}
	case s.Operands[0].Known && standardInput(s.Operands[0].Text):
		c.RunsInput()
	case !s.Operands[0].Known:
		c.EffectAt("word "+s.Operands[0].Text, s.Operands[0])
	default:
		c.Op = c.UpTo(word.Hit{Value: s.Operands[0], Has: true})
		a.Reads(c, s.Operands[0])
	}
}

// givesCode records what an option of an interpreter executes. It reports whether the option replaces a script.
func givesCode(c *walk.Call, h word.Hit, s *word.Scanned) bool {
	switch h.Opt.Does {
	case 'm':
		c.EffectOf("option "+h.Name, h)
	case 'c':
		c.Op = c.UpTo(word.Hit{Name: h.Name})
		c.Operates("code " + h.Value.Text)
		return true
	case 'M':
		if !h.Value.Known || !pythonModules[h.Value.Text] {
			c.EffectOf("module "+h.Value.Text, h)
		}
		if h.Value.Text == "pip" && len(s.Operands) > 1 && s.Operands[0].Text == "install" {
			c.EffectAt("package "+word.JoinTexts(s.Operands[1:]), s.Operands[0])
		}
		return true
	case 'L':
		if name, _, _ := strings.Cut(strings.TrimPrefix(h.Value.Text, "-"), "="); !harmlessLibraries[name] {
			c.EffectOf("library "+h.Value.Text, h)
		}
	}
	return false
}

// standardInput reports whether a word stands for the standard input or another descriptor.
func standardInput(s string) bool {
	return s == "-" || word.HasPrefix(path.Clean(s), "/dev/stdin", "/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/")
}

// pythonModules lists modules that python -m runs without executing or serving anything outside the project.
var pythonModules = word.Set("pytest unittest json.tool mypy ruff black isort flake8 pylint coverage py_compile compileall tabnanny " +
	"venv pip doctest tox nox sphinx build pyright bandit yapf autopep8 pycodestyle pydocstyle pyflakes ast " +
	"dis tokenize calendar this platform sysconfig site django manage alembic behave nose2 green hypothesis " +
	"towncrier mkdocs pre_commit mdformat docformatter vulture")

// harmlessLibraries lists libraries that -M, -r and -l may load.
var harmlessLibraries = word.Set("strict warnings utf8 feature POSIX List::Util Data::Dumper JSON::PP Time::HiRes Time::Local Text::Wrap " +
	"Scalar::Util json set time date pp yaml bigdecimal digest securerandom open")
