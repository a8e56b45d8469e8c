package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// inspectCompiler notes options that come from a file, and agents that are loaded.
func inspectCompiler(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if passed, ok := strings.CutPrefix(w.Text, "-Wl,"); ok && (linkerLoads.MatchString(passed) || leadsOut(a, c, word.Lit(passed))) {
			c.EffectAt("option "+w.Text, w)
		}
		if word.HasPrefix(w.Text, "@", "-javaagent", "-agentpath", "-agentlib", "-Xbootclasspath", "-XX:On", "-XX:Flags",
			"-XX:VMOptionsFile", "-Xplugin", "-J", "-Xrunjdwp", "--patch-module") {
			c.EffectAt("option "+w.Text, w)
		}
	}
}

// linkerLoads are words for the linker with which it loads code, reads more words from a file, or writes another file.
var linkerLoads = lazyregexp.New(`(?:^|,)(?:@|-{1,2}(?:plugin|load-pass-plugin|lto_library|output)|-o)`)

// inspectMaven notes goals that start programs.
func inspectMaven(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		if strings.Contains(w.Text, "exec") && strings.Contains(w.Text, ":") || strings.Contains(w.Text, "antrun") ||
			word.HasPrefix(w.Text, "deploy", "release") || strings.HasSuffix(w.Text, ":get") {
			c.EffectAt("goal "+w.Text, w)
		}
	}
}

// makeManner are options of make that say how it works, and not on what.
var makeManner = lazyregexp.New(`^(?:-j[0-9]*|-[ksBwO]|--(?:jobs|output-sync)(?:=.*)?|--(?:keep-going|silent|quiet|always-make|no-print-directory|trace))$`)

// runMake moves make's -C and the options of makeManner out of the words, so that a rule names the target:
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

// inspectMake notes variables that are set on the command line.
func inspectMake(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		text := w.Text
		if !w.Known {
			text = w.Head
		}
		name, val, ok := strings.Cut(text, "=")
		switch {
		case ok && (strings.ContainsAny(name, "!:?+$") || strings.ContainsAny(val, "$`;|&<>\n")), ok && leadsOut(a, c, word.Lit(val)):
			c.EffectAt("variable "+w.Text, w)
		case ok:
			if e := a.Words.EnvEffect(name, word.Word{Text: val, Known: w.Known}); e != "" || strings.HasSuffix(name, "FLAGS") {
				c.EffectAt("variable "+name, w)
			}
		case strings.Contains(text, "$(") || strings.HasPrefix(text, ".") && strings.ToUpper(text) == text && len(text) > 2:
			c.EffectAt("target "+text, w)
		}
	}
	if c.Sc.Input.Kind != word.InputNone {
		if v, ok := s.Find("-f", "--file", "--makefile"); ok && v.Text == "-" {
			c.RunsInput()
		}
	}
}

// loaders are options that test runners and bundlers behind a script load code or write files by.
var loaders = word.Set("--globalsetup --globalteardown --setupfiles --setupfilesafterenv --require --import --loader " +
	"--config --plugin --rulesdir --resolver --transform --runner --testrunner --testenvironment --preset " +
	"--reporter --reporters --rootdir --root --exec --script-shell --node-options --outputfile " +
	"--output-file --outdir --out-dir --parser --env-file --resolve-plugins-relative-to --eval --inspect " +
	"--modulenamemapper --snapshotserializers --testsequencer --snapshotresolver --watchplugins --haste " +
	"--dependencyextractor --custom-formatter --hook --project-root --environment --formatter --format=.")

// inspectNpm looks at what is handed on to the program behind a script.
func inspectNpm(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	showsSetting(c)
	if len(c.Argv) < 2 || c.Name == "bun" {
		return
	}
	if c.Argv[1].Text == "pack" {
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
	start := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "--" })
	if start < 0 {
		if c.Name == "npm" {
			return
		}
		start = 1
	}
	for _, w := range c.Argv[start+1:] {
		if !w.Known {
			if !w.Safe() {
				c.EffectAt("word "+w.Text, w)
			}
			continue
		}
		name, _, _ := strings.Cut(strings.ToLower(w.Text), "=")
		if w.Text == "-r" || w.Text == "-c" || w.Text == "-e" {
			c.EffectAt("option "+w.Text, w)
		}
		if loaders[name] {
			c.EffectAt("option "+w.Text, w)
		}
	}
}

func inspectCargo(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	start := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "--" })
	if start < 0 {
		return
	}
	reads := []string{"--logfile", "-C"}
	if c.Argv[1].Text == "clippy" { // the compiler gets them
		reads = append(reads, "--codegen", "--extern", "-L", "-Z", "--emit", "--out-dir", "--sysroot", "-o")
	}
	for _, w := range c.Argv[start+1:] {
		if w.Known && word.HasPrefix(w.Text, reads...) {
			c.EffectAt("option "+w.Text, w)
		}
	}
}

// fetchesPackages are subcommands of go whose operands may be packages that are fetched.
var fetchesPackages = word.Set("run install get")

// inspectGo notes programs that come from elsewhere.
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
