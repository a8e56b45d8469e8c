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

// outputFolder is the name of a folder that builds and tests fill, by custom.
var outputFolder = lazyregexp.New(`(?i)^[._]?(?:build|dist|outp?u?t?s?|target|te?mp|coverage|cov|htmlcov|reports?|results?|artifacts?|cache|` +
	`site|nyc_output|(?:(?:build|dist|out|coverage|tmp)[-_.][\w.-]+)|(?:[\w.-]+[-_.](?:reports?|results?|outputs?|coverage|artifacts?|cache)))$`)

// generated says that a path is a folder of the project that builds and tests fill, or lies in one: nobody misses what is
// in it.
func generated(a *walk.Walker, c *walk.Call, folder string) bool {
	if folder == "" || strings.ContainsAny(folder, " \t\n") || a.Outside(word.JoinDirs(c.Sc.Dirs, folder)) {
		return false
	}
	return slices.ContainsFunc(strings.Split(path.Clean(folder), "/"), outputFolder.MatchString)
}

// namesInput are parts of the names of options whose value is not written.
var namesInput = strings.Fields("config ignore exclude include skip filter rule dict allow baseline input source env root path-mode")

// builds says that a program builds, tests or checks a project: what nothing is known of may write its results.
func builds(c *walk.Call) bool {
	return c.Facts().Risk == programs.BuildTest || c.Is(programs.Collector|programs.Configured|programs.ProjectTool|programs.RunsProject)
}

// mayWrite notes a file that an option which nothing is known of may write: one that lies in a hidden folder, is hidden
// itself, or has a name that others obey. Other tools obey many of those.
func mayWrite(a *walk.Walker, c *walk.Call, option string, v word.Word) {
	lower := strings.ToLower(option)
	if !v.Known || !builds(c) || slices.ContainsFunc(namesInput, func(part string) bool { return strings.Contains(lower, part) }) {
		return
	}
	for part := range strings.FieldsFuncSeq(v.Text, func(r rune) bool { return strings.ContainsRune(":=,;", r) }) {
		if hidden(part) || obeyed.MatchString(part) {
			a.Writes(c, word.Lit(part))
		}
	}
}

// hidden says that a path begins with a hidden folder, or names a hidden file.
func hidden(p string) bool {
	first, _, _ := strings.Cut(path.Clean(p), "/")
	return len(first) > 2 && first[0] == '.' && first[1] != '.' && first != ".venv"
}

// obeyed are files without a dot before their names that tools, agents and servers obey, and folders of others' code.
var obeyed = lazyregexp.New(`(?:^|/)(?:(?:CLAUDE|AGENTS|GEMINI)\.md|Jenkinsfile(?:\..*)?|(?:vendor|node_modules|site-packages|venv|gradle/wrapper)(?:/.*)?|` +
	`[^/]*\.code-workspace|opencode\.json|rust-toolchain(?:\.toml)?|mise\.toml|bunfig\.toml|(?:lefthook|simple-git-hooks|lint-staged|captain)[^/]*|prek\.toml|hk\.pkl|` +
	`(?:azure-pipelines|cloudbuild|appveyor|buildspec|bitbucket-pipelines|codemagic|bitrise|wercker|shippable|codeship|screwdriver|codefresh|buildkite)[^/]*\.(?:ya?ml|json))$`)

// mayWriteBehind is mayWrite for words behind options which nothing is known of: they may be their values.
func mayWriteBehind(a *walk.Walker, c *walk.Call, row *programs.Row) {
	for i := 1; i+1 < len(c.Argv); i++ {
		option, value := c.Argv[i], c.Argv[i+1]
		if option.Known && len(option.Text) > 1 && option.Text[0] == '-' && row.Options.Find(option.Text) == nil {
			mayWrite(a, c, option.Text, value)
		}
	}
}
