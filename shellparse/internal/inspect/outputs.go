package inspect

import (
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// outputFolder matches the name of a folder that, by convention, builds and tests fill.
var outputFolder = lazyregexp.New(`(?i)^[._]?(?:build|dist|outp?u?t?s?|target|te?mp|coverage|cov|htmlcov|reports?|results?|artifacts?|cache|` +
	`site|nyc_output|(?:(?:build|dist|out|coverage|tmp)[-_.][\w.-]+)|(?:[\w.-]+[-_.](?:reports?|results?|outputs?|coverage|artifacts?|cache)))$`)

// generated reports whether a path is, or lies in, a project folder that builds and tests fill: nobody misses its
// contents.
func generated(a *walk.Walker, c *walk.Call, folder string) bool {
	if folder == "" || strings.ContainsAny(folder, " \t\n") || a.Outside(word.JoinDirs(c.Sc.Dirs, folder)) {
		return false
	}
	return slices.ContainsFunc(strings.Split(path.Clean(folder), "/"), outputFolder.MatchString)
}

// namesInput lists parts of the names of options whose value is not written.
var namesInput = strings.Fields("config ignore exclude include skip filter rule dict allow baseline input source env root path-mode")

// namesOutput matches the usual names of options whose value is written.
var namesOutput = lazyregexp.New(`(?i)^-o$|(?:^|[-_])(?:out|output|outfile|outdir|dump|export|save|write|dest)(?:[-_]?(?:file|path|dir|directory|folder|to|config))?$`)

// names reports whether a text is a path rather than the name of a format.
func names(text string) bool {
	return strings.Contains(strings.TrimLeft(text, "./"), ".") || strings.Contains(text, "/")
}

// builds reports whether a program builds, tests or checks a project. Its unknown options may name results.
func builds(c *walk.Call) bool {
	return c.Facts().Risk == programs.BuildTest || c.Is(programs.Collector|programs.Configured|programs.ProjectTool|programs.RunsProject)
}

// looks lists options with which a formatter writes nothing, fixes those with which a linter writes.
var (
	looks = word.Set("--check --check-only --check-formatted --diff --dry-run --output=none --output=show")
	fixes = word.Set("--fix --apply")
)

// inspectFormatter records the operands of a formatter as written, unless it only checks them, and those of a linter
// that is told to fix them.
func inspectFormatter(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	told := func(options map[string]bool) bool {
		return slices.ContainsFunc(c.Argv[1:], func(w word.Word) bool { return w.Known && options[w.Text] })
	}
	about, files := c.Facts(), s.Operands
	if about.Inspector != "formatter" && len(files) > 0 {
		about = programs.Find(c.Name, c.Argv[1].Text)
		if files[0].Text == c.Argv[1].Text { // the subcommand
			files = files[1:]
		}
	}
	if !told(looks) && (about.Risk == programs.Write || told(fixes)) {
		word.All(func(w word.Word) { a.Writes(c, w) }, files)
	}
}

// connecting matches the name of an option whose value is an address by convention.
var connecting = lazyregexp.New(`(?i)(?:^|[-_a-z])(?:url|uri|endpoint|webhook|dsn)$|(?:^|[-_])(?:host|hostname|hook|server|proxy|broker|addr|address)$`)

// own matches an address of this machine, or a value that is no address.
var own = lazyregexp.New(`^(?:[a-z+]+://)?(?:localhost|127\.[0-9.]+|\[::1\]|0\.0\.0\.0)(?:[:/][^@]*)?$|^(?:[0-9]*|true|false|yes|no|on|off)$`)

// mayDo is mayWrite, and also records that an option may make the program talk to another machine: its value is an
// address, or its name suggests one.
func mayDo(a *walk.Walker, c *walk.Call, option string, v word.Word) {
	mayWrite(a, c, option, v)
	if builds(c) && option != "--" && !own.MatchString(v.Text) && !strings.HasSuffix(option, v.Text) && (strings.Contains(v.Text, "://") || connecting.MatchString(option)) {
		c.EffectAt("option "+option+" "+v.Text, v)
	}
}

// mayWrite records a file that an unknown option may write: any file if the option has the name of an output, else a
// file in a hidden folder, a hidden file, or a file that other tools obey. Other tools obey many hidden files too.
func mayWrite(a *walk.Walker, c *walk.Call, option string, v word.Word) {
	if !v.Known || !builds(c) {
		return
	}
	lower, output := strings.ToLower(option), namesOutput.MatchString(option)
	if !output && slices.ContainsFunc(namesInput, func(part string) bool { return strings.Contains(lower, part) }) {
		return
	}
	for part := range strings.FieldsFuncSeq(v.Text, func(r rune) bool { return strings.ContainsRune(":=,;", r) }) {
		if hidden(part) || obeyed.MatchString(part) || output && names(part) {
			a.Writes(c, word.Lit(part))
		}
	}
}

// hidden reports whether a path begins with a hidden folder, or is a hidden file.
func hidden(p string) bool {
	first, _, _ := strings.Cut(path.Clean(p), "/")
	return len(first) > 2 && first[0] == '.' && first[1] != '.' && first != ".venv"
}

// obeyed matches files without a leading dot that tools, agents and servers obey, and folders of third-party code.
var obeyed = lazyregexp.New(`(?:^|/)(?:(?:CLAUDE|AGENTS|GEMINI)\.md|Jenkinsfile(?:\..*)?|(?:vendor|node_modules|site-packages|venv|gradle/wrapper)(?:/.*)?|` +
	`[^/]*\.code-workspace|opencode\.json|rust-toolchain(?:\.toml)?|mise\.toml|bunfig\.toml|(?:lefthook|simple-git-hooks|lint-staged|captain)[^/]*|prek\.toml|hk\.pkl|` +
	`(?:azure-pipelines|cloudbuild|appveyor|buildspec|bitbucket-pipelines|codemagic|bitrise|wercker|shippable|codeship|screwdriver|codefresh|buildkite)[^/]*\.(?:ya?ml|json))$`)

// mayDoBehind calls mayDo for the values of unknown options, and for the words after them, which may be their values.
// The options of an interpreter belong to what it runs.
func mayDoBehind(a *walk.Walker, c *walk.Call, row *programs.Row) {
	if row == nil && programs.LanguageOf(c.Name) != nil {
		return
	}
	for i, option := range c.Argv[1:] {
		name, value, attached := strings.Cut(option.Text, "=")
		if !option.Known || len(name) < 2 || name[0] != '-' || row != nil && (attached || row.Options.Find(name) != nil) {
			continue
		}
		switch {
		case attached:
			mayDo(a, c, name, word.Lit(value))
		case i+2 < len(c.Argv):
			mayDo(a, c, name, c.Argv[i+2])
		}
	}
}
