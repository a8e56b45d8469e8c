package inspect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// inspectCompiler records options from a file, loaded agents, and words passed to the programs that a compiler starts.
func inspectCompiler(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	var preprocessor, linker []word.Word
	for i, w := range c.Argv[1:] {
		if attachedFile(a, c, w) {
			continue
		}
		switch before := c.Argv[i].Text; {
		case i > 0 && before == "-Xpreprocessor":
			preprocessor = append(preprocessor, w)
			continue
		case i > 0 && handsToLinker[before]:
			linker = append(linker, w)
			continue
		}
		if name, passed, ok := strings.Cut(w.Text, "="); ok && handsToLinker[name] {
			linker = append(linker, word.Lit(passed))
		} else if passed, ok := strings.CutPrefix(w.Text, "-Wl,"); ok {
			linker = append(linker, parts(passed)...)
		} else if passed, ok := strings.CutPrefix(w.Text, "-Wa,"); ok {
			linker = append(linker, parts(passed)...)
		} else if passed, ok := strings.CutPrefix(w.Text, "-Wp,"); ok {
			preprocessor = append(preprocessor, parts(passed)...)
		}
		if word.HasPrefix(w.Text, "@", "-javaagent", "-agentpath", "-agentlib", "-Xbootclasspath", "-XX:On", "-XX:Flags",
			"-XX:VMOptionsFile", "-Xplugin", "-J", "-Xrunjdwp", "--patch-module") {
			c.EffectAt("option "+w.Text, w)
		}
	}
	for _, w := range preprocessor {
		attachedFile(a, c, w)
	}
	linked := word.JoinTexts(linker)
	if linkerLoads.MatchString(linked) || slices.ContainsFunc(linker, func(w word.Word) bool { return leadsOut(a, c, w) }) {
		c.Effect("options for the linker or assembler " + linked)
	}
	for _, h := range append(linkerOptions.Scan(linker, programs.Long).Hits, preprocessorOptions.Scan(preprocessor, programs.Long).Hits...) {
		apply(a, h, c)
	}
}

// handsToLinker lists the compiler options whose value is a word for the linker or the assembler.
var handsToLinker = word.Set("-Xlinker --for-linker -Xassembler --for-assembler")

// parts splits an option at its commas into words.
func parts(list string) (words []word.Word) {
	for text := range strings.SplitSeq(list, ",") {
		words = append(words, word.Lit(text))
	}
	return words
}

// The options of the programs that a compiler starts.
var (
	linkerOptions       = word.MustOptions("-error-handling-script,-mllvm=x -Map,-dependency-file,-out-implib,-time-trace=w -T,-dT,-R,-c,-mri-script,-version-script,-dynamic-list,-just-symbols=r")
	preprocessorOptions = word.MustOptions("-load,-plugin,-fplugin,-fpass-plugin,-mllvm=x -include,-imacros,-ivfsoverlay=r -dependency-file,-header-include-file,-serialize-diagnostic-file=w -MD,-MMD,-MF,-o=w -MT= -MQ= -D= -U= -I= -idirafter= -iquote= -isystem=")
)

// attachedFiles maps compiler options whose file may follow without a sign to what they do with it.
var attachedFiles = map[string]byte{"-MF": 'w', "-MJ": 'w', "-include": 'r', "-imacros": 'r'}

// attachedFile records the file of such an option. It reports whether the word is one.
func attachedFile(a *walk.Walker, c *walk.Call, w word.Word) bool {
	for option, does := range attachedFiles {
		name, ok := strings.CutPrefix(w.Text, option)
		if !ok || name == "" || strings.HasPrefix(name, "-") || name[0] == '=' {
			continue
		}
		if file := (word.Word{Text: name, Known: w.Known}); does == 'w' {
			a.Writes(c, file)
		} else {
			a.Reads(c, file)
		}
		return true
	}
	return false
}

// linkerLoads matches words that make the linker load code, read more words from a file, or write another file.
var linkerLoads = lazyregexp.New(`(?:^| )(?:@|-{1,2}(?:plugin|load-pass-plugin|lto_library|output)|-o)`)

// makeManner matches options of make that say how it works, not on what.
var makeManner = lazyregexp.New(`^(?:-j[0-9]*|-[ksBwO]|--(?:jobs|output-sync)(?:=.*)?|--(?:keep-going|silent|quiet|always-make|no-print-directory|trace))$`)

// runMake moves make's -C and the options that makeManner matches out of the words, so that a rule names the target:
// make -j4 -C sub test is make test.
func runMake(a *walk.Walker, c *walk.Call) bool {
	for i := 1; i < len(c.Argv); {
		w, n := c.Argv[i], 1
		next := word.Word{}
		if i+1 < len(c.Argv) {
			next = c.Argv[i+1]
		}
		switch {
		case !w.Known:
			n = 0
		case (w.Text == "-C" || w.Text == "--directory") && i+1 < len(c.Argv):
			n = 2
			chdir(a, next, c)
		case strings.HasPrefix(w.Text, "-C"):
			chdir(a, word.Lit(w.Text[2:]), c)
		case strings.HasPrefix(w.Text, "--directory="):
			chdir(a, word.Lit(w.Text[len("--directory="):]), c)
		case !makeManner.MatchString(w.Text):
			n = 0
		case w.Text == "-j" && next.Known && strings.Trim(next.Text, "0123456789") == "" && next.Text != "":
			n = 2
		}
		if n == 0 {
			i++
			continue
		}
		c.Globals = append(c.Globals, c.Argv[i:i+n]...)
		c.Argv = slices.Concat(c.Argv[:i], c.Argv[i+n:])
	}
	return false
}

// Conventional targets that remove build results, and variables and values that choose no folder.
var (
	cleaning = lazyregexp.New(`(?i)clean|clobber|purge|mrproper|wipe|\bnuke|rebuild|\breset`)
	manners  = lazyregexp.New(`^(?:V|Q|VERBOSE|CC|CXX|CROSS_COMPILE|ARCH|PLATFORM|OS|BUILD_?TYPE|CONFIG|CONFIGURATION|PROFILE|MODE)$`)
	plain    = lazyregexp.New(`^[A-Za-z0-9_+@-][A-Za-z0-9_.+@-]*$`)
	switches = lazyregexp.New(`^(?:[0-9]+|yes|no|true|false|on|off)$`)
)

// chooses reports whether a variable may choose which folder a target removes, other than one that builds fill. For
// most variables nobody knows what a makefile does with them; an empty one can turn build/x into /x.
func chooses(a *walk.Walker, c *walk.Call, name, value string) bool {
	switch {
	case switches.MatchString(value), plain.MatchString(value) && (manners.MatchString(name) || a.Words.Tables.EnvHarmless(name)):
		return false
	}
	return strings.HasPrefix(value, "~") || !generated(a, c, value)
}

// makeEnvironment records environment variables that make takes over: a makefile's NAME ?= keeps them, and a recipe has
// their text in its commands.
func makeEnvironment(a *walk.Walker, c *walk.Call, cleans bool) {
	risky := func(name, value string) bool {
		return cleans && chooses(a, c, name, value) || expands(value) ||
			!a.Words.Tables.EnvKnown(name) && (starts(a, c, name, value) || leadsOut(a, c, word.Lit(value)))
	}
	for _, e := range c.Sc.Env {
		if e.Value.Known && risky(e.Name, e.Value.Value) || cleans && !e.Value.Known {
			c.Effect("variable " + e.Name)
		}
	}
	names := maps.Clone(a.Shell.Exported)
	for name, values := range a.Shell.Given {
		if (cleans || names[name]) && slices.ContainsFunc(values, func(value string) bool { return risky(name, value) }) {
			c.Effect("variable " + name)
		}
		delete(names, name)
	}
	for name := range names {
		if cleans && !a.Words.Tables.EnvHarmless(name) {
			c.Effect("variable " + name)
		}
	}
}

// Variables that start programs in makefiles by convention, and values that do: a program with its words, a script.
var (
	starters = lazyregexp.New(`(?i)(?:^|_)(?:(?:test)?runner|run|exec|cmd|command|prefix|wrapper|launcher|interpreter|emulator|sudo|prog|program|with|hook|script)s?$`)
	started  = lazyregexp.New(`^\s*(?:\S*/)?(?:(?:sudo|doas|env|sh|bash|zsh|dash|python[0-9.]*|node|ruby|perl|php|rm|mv|cp|xargs|find|curl|wget|ssh|` +
		`docker|podman|npx|nice|time|eval|exec|dd|tee|ln|chmod|chown|kill|git|npm|yarn|pnpm|pip3?|uv|go|cargo)\s|\S+\.(?:sh|bash|zsh)(?:\s|$))`)
)

// starts reports whether a variable may start a program.
func starts(a *walk.Walker, c *walk.Call, name, value string) bool {
	return started.MatchString(value) || starters.MatchString(name) && value != "" && !switches.MatchString(value) && !generated(a, c, value)
}

// inspectMake records variables passed to make, on the command line and before it.
func inspectMake(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	cleans := slices.ContainsFunc(s.Operands, func(w word.Word) bool { return !strings.Contains(w.Text, "=") && cleaning.MatchString(w.Text) })
	makeEnvironment(a, c, cleans)
	for _, w := range s.Operands {
		text := w.Text
		if !w.Known {
			text = w.Head
		}
		if name, val, ok := strings.Cut(text, "="); ok {
			makeVariable(a, c, w, name, val, cleans)
		} else if strings.Contains(text, "$(") || strings.HasPrefix(text, ".") && strings.ToUpper(text) == text && len(text) > 2 {
			c.EffectAt("target "+text, w)
		}
	}
	if c.Sc.Input.Kind != word.InputNone {
		if v, ok := s.Find("-f", "--file", "--makefile"); ok && v.Text == "-" {
			c.RunsInput()
		}
	}
}

// expands reports whether a recipe may run a variable's value, or what make expands it to.
func expands(value string) bool { return strings.ContainsAny(value, "$`;|&<>\n") }

// makeVariable records a variable passed to make, unless it is harmless. cleans: a target removes build results.
func makeVariable(a *walk.Walker, c *walk.Call, w word.Word, name, val string, cleans bool) {
	switch {
	case starts(a, c, name, val),
		cleans && (!w.Known || chooses(a, c, name, val)),
		strings.ContainsAny(name, "!:?+$"), expands(val), leadsOut(a, c, word.Lit(val)):
		c.EffectAt("variable "+w.Text, w)
	case strings.HasSuffix(name, "FLAGS"), a.Words.EnvEffect(name, word.Word{Text: val, Known: w.Known}) != "":
		c.EffectAt("variable "+name, w)
	}
}

// loaders lists options by which test runners and bundlers behind a script load code or write files.
var loaders = word.Set("--globalsetup --globalteardown --setupfiles --setupfilesafterenv --require --import --loader " +
	"--config --plugin --rulesdir --resolver --transform --runner --testrunner --testenvironment --preset " +
	"--reporter --reporters --rootdir --root --exec --script-shell --node-options --outputfile " +
	"--output-file --outdir --out-dir --parser --env-file --resolve-plugins-relative-to --eval --inspect " +
	"--modulenamemapper --snapshotserializers --testsequencer --snapshotresolver --watchplugins --haste " +
	"--execargv --nodeoption --nodearguments --dependencyextractor --custom-formatter --hook --project-root --environment --formatter --format=.")

// builtin lists the reporters that test runners include.
var builtin = word.Set("basic default dot github-actions html html-spa json junit lcov lcovonly line list min nyan progress spec summary tap tap-flat text text-summary verbose")

// Options after a script whose value may begin with a slash but names no file: patterns of test names, and where a site
// is served. tests matches scripts that run tests.
var (
	selects = word.Set("-t -g --grep --testnamepattern --test-name-pattern --testpathpattern --testpathpatterns --testpathignorepatterns")
	served  = word.Set("--base --base-href --public-path --publicpath")
	tests   = lazyregexp.New(`^(?:t|tests?|unit|e2e|integration)(?:[:_-].*)?$`)
)

// namesNoFile reports whether the word at this index names tests or an address.
func namesNoFile(c *walk.Call, at int) bool {
	script := c.Argv[1].Text
	if script == "run" || script == "run-script" {
		script = c.Argv[2].Text
	}
	name, _, attached := strings.Cut(c.Argv[at].Text, "=")
	if !attached {
		name = c.Argv[at-1].Text
	}
	name = strings.ToLower(name)
	return (served[name] || selects[name] && tests.MatchString(script)) && !strings.Contains(c.Argv[at].Text, "..")
}

// inspectNpm checks the words passed on to the program behind a script.
func inspectNpm(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	showsSetting(c)
	if len(c.Argv) < 2 || c.Name == "bun" && c.Argv[1].Text != "run" {
		return
	}
	if c.Argv[1].Text == "pack" {
		packs(a, c, s)
	}
	for _, h := range s.Hits {
		if h.Opt.Last == "--filter" && h.Value.Known && leadsOut(a, c, word.Lit(strings.Trim(h.Value.Text, "!{}^."))) {
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
	}
	start := handsOn(c)
	if start < 0 {
		return
	}
	for i, w := range c.Argv[start+1:] {
		switch {
		case leadsOut(a, c, w) && !namesNoFile(c, start+1+i), !w.Known && !w.Safe():
			c.EffectAt("word "+w.Text, w)
		case w.Known && loadsCode(w.Text):
			c.EffectAt("option "+w.Text, w)
		}
	}
}

// loadsCode reports whether an option of a program behind a script names code, or a file that names code.
func loadsCode(option string) bool {
	name, value, _ := strings.Cut(strings.ToLower(option), "=")
	switch {
	case option == "-r", option == "-c", option == "-e":
		return true
	case strings.HasPrefix(name, "--reporter") && builtin[value]:
		return false
	}
	return loaders[name] || strings.HasPrefix(name, "--") && loaders["--"+strings.ReplaceAll(name, "-", "")]
}

// packs records the archive and the sources of npm pack.
func packs(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if !slices.ContainsFunc(c.Argv, func(w word.Word) bool {
		return w.Text == "--dry-run" || strings.HasPrefix(w.Text, "--pack-destination")
	}) {
		a.Writes(c, word.Lit("."))
	}
	for _, w := range s.Operands {
		if !w.Known || !word.HasPrefix(w.Text, ".", "/") {
			c.Operates("package " + w.Text)
		}
	}
}

// handsOn returns the index of the word after which words go to the program behind a script; negative if there is none.
func handsOn(c *walk.Call) int {
	start := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "--" })
	switch {
	case start >= 0, c.Name == "npm":
		return start
	case c.Name == "pnpm" && c.Argv[1].Text == "run" && len(c.Argv) > 2 && c.Argv[2].Text == "-r":
		return 2 // -r: in all packages; after the name of a script it belongs to the script
	}
	return 1
}

// inspectCargo checks the words that cargo passes to the test, the lint or the compiler.
func inspectCargo(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	start := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "--" })
	if start < 0 {
		return
	}
	reads := []string{"--logfile", "-C"}
	if c.Argv[1].Text == "clippy" { // the compiler gets them
		reads = append(reads, "@", "--codegen", "--extern", "-L", "-Z", "--emit", "--out-dir", "--sysroot", "-o")
	}
	for _, w := range c.Argv[start+1:] {
		if w.Known && word.HasPrefix(w.Text, reads...) || leadsOut(a, c, w) {
			c.EffectAt("option "+w.Text, w)
		}
	}
}

var (
	stripped = lazyregexp.New(`^(-[sw]|\s)*$`)
	setting  = lazyregexp.New(`(^|\s)-X[ =]([\w./-]+=[\w.:/+-]*|'[\w./-]+=[\w.:/+-]*')(\s|$)`)
)

// plainLinking reports whether flags of Go's linker only drop debug data, or, in a build, only set text variables.
func plainLinking(flags word.Word, builds bool) bool {
	rest := flags.Text
	for builds && setting.MatchString(rest) {
		rest = setting.ReplaceAllString(rest, " ")
	}
	return flags.Known && stripped.MatchString(rest)
}

// fetchesPackages lists the go subcommands whose operands may be packages to fetch.
var fetchesPackages = word.Set("run install get")

// inspectGo records packages that come from elsewhere.
func inspectGo(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	if len(c.Argv) < 2 {
		return
	}
	switch c.Argv[1].Text {
	case "tool":
		if _, page := s.Find("-html"); page {
			if _, file := s.Find("-o"); !file {
				c.Effect("opens a page")
			}
		}
	case "run", "install", "get", "list", "doc", "mod":
		for i, w := range s.Operands {
			if strings.Contains(w.Text, "@") || !w.Known && fetchesPackages[c.Argv[1].Text] {
				c.Operates("package " + w.Text)
			}
			if i == 0 && c.Argv[1].Text == "run" {
				break
			}
		}
	}
}

// inspectGolangci records revisions that git would read as options.
func inspectGolangci(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, h := range s.Hits {
		if h.Has && h.Opt.Last == "--new-from-rev" && (!h.Value.Known || strings.HasPrefix(h.Value.Text, "-")) {
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
	}
}

// plainFlag matches a compiler option that warns, optimizes, debugs or defines, and neither loads nor runs anything.
var plainFlag = lazyregexp.New(`^(?:-O[0-3sgz]?|-g[0-9a-z]*|-W[a-zA-Z][a-zA-Z0-9=+-]*|-std=[a-z0-9+]+|-[DU][A-Za-z_]\w*(?:=[\w.]*)?|-m[a-z0-9=.-]+|` +
	`-pthread|-pedantic|-f(?:PIC|PIE|no-[a-z-]+|sanitize[a-z=,-]*|stack-[a-z-]+|omit-frame-pointer|lto|exceptions|visibility=hidden))$`)

// inspectMeson records the build folder, and options by which compilers and linkers load code.
func inspectMeson(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for i, w := range s.Operands {
		if i > 0 && s.Operands[0].Text == "setup" && w.Text != "." {
			a.Writes(c, w) // either of the two folders may be the build folder
		}
	}
	for _, h := range s.Hits {
		name, value, _ := strings.Cut(h.Value.Text, "=")
		if h.Opt.Last != "-D" || !strings.HasSuffix(name, "_args") {
			continue
		}
		flags := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,'[]\"", r) })
		if !h.Value.Known || slices.ContainsFunc(flags, func(flag string) bool { return !plainFlag.MatchString(flag) }) {
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
	}
}

// inspectCompiled records the folder beside Python sources into which their compiled form is written. Without an
// operand compileall compiles everything installed.
func inspectCompiled(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		switch {
		case !w.Known:
		case w.Text == "-":
			c.EffectAt("files that its input names", w)
		case c.Name == "py_compile" || strings.HasSuffix(w.Text, ".py"):
			a.Writes(c, word.Lit(path.Join(path.Dir(w.Text), "__pycache__")))
		default:
			a.Writes(c, word.Lit(path.Join(w.Text, "__pycache__")))
		}
	}
	if len(s.Operands) == 0 && c.Name == "compileall" {
		c.Effect("compiles what is installed")
	}
}
