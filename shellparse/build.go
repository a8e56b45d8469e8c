package shellparse

import (
	"slices"
	"strings"
)

// inspectCompiler notes options that come from a file, and agents that are loaded.
func inspectCompiler(_ *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		if hasPrefix(w.text, "@", "-javaagent", "-agentpath", "-agentlib", "-Xbootclasspath", "-XX:On", "-XX:Flags",
			"-XX:VMOptionsFile", "-Xplugin", "-J", "-Xrunjdwp", "--patch-module") {
			c.effectAt("option "+w.text, w)
		}
	}
}

// inspectMaven notes goals that start programs.
func inspectMaven(_ *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		if strings.Contains(w.text, "exec") && strings.Contains(w.text, ":") || strings.Contains(w.text, "antrun") ||
			hasPrefix(w.text, "deploy", "release") {
			c.effectAt("goal "+w.text, w)
		}
	}
}

// runMake moves make's -C out of the words, so that a rule names the target: make -C sub test is make test.
func runMake(a *analysis, c *call) bool {
	for i := 1; i < len(c.argv); {
		w := c.argv[i]
		n, v := 0, word{}
		switch {
		case !w.known:
		case (w.text == "-C" || w.text == "--directory") && i+1 < len(c.argv):
			n, v = 2, c.argv[i+1]
		case strings.HasPrefix(w.text, "-C"):
			n, v = 1, lit(w.text[2:])
		case strings.HasPrefix(w.text, "--directory="):
			n, v = 1, lit(w.text[len("--directory="):])
		}
		if n == 0 {
			i++
			continue
		}
		a.chdir(v, c)
		c.globals = append(c.globals, c.argv[i:i+n]...)
		c.argv = slices.Concat(c.argv[:i], c.argv[i+n:])
	}
	return false
}

// inspectMake notes variables that are set on the command line.
func inspectMake(a *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		text := w.text
		if !w.known {
			text = w.head
		}
		name, val, ok := strings.Cut(text, "=")
		switch {
		case ok && (strings.ContainsAny(name, "!:?+$") || strings.ContainsAny(val, "$`")):
			c.effectAt("variable "+w.text, w)
		case ok:
			if e := a.envEffect(name, word{text: val, known: w.known}); e != "" || strings.HasSuffix(name, "FLAGS") {
				c.effectAt("variable "+name, w)
			}
		case strings.Contains(text, "$(") || strings.HasPrefix(text, ".") && strings.ToUpper(text) == text && len(text) > 2:
			c.effectAt("target "+text, w)
		}
	}
	if c.sc.input.kind != inputNone {
		if v, ok := s.find("-f", "--file", "--makefile"); ok && v.text == "-" {
			c.runsInput()
		}
	}
}

// loaders are options that test runners and bundlers behind a script load code or write files by.
var loaders = set("--globalsetup --globalteardown --setupfiles --setupfilesafterenv --require --import --loader " +
	"--config --plugin --rulesdir --resolver --transform --runner --testrunner --testenvironment --preset " +
	"--reporter --reporters --rootdir --root --exec --script-shell --node-options --outputfile " +
	"--output-file --outdir --out-dir --parser --env-file --resolve-plugins-relative-to --eval --inspect " +
	"--modulenamemapper --snapshotserializers --testsequencer --snapshotresolver --watchplugins --haste " +
	"--dependencyextractor --custom-formatter --hook --project-root --environment --formatter --format=.")

// inspectNpm looks at what is handed on to the program behind a script.
func inspectNpm(a *analysis, c *call, s *scanned) {
	c.showsSetting()
	if len(c.argv) < 2 || c.name == "bun" {
		return
	}
	if c.argv[1].text == "pack" {
		if !slices.ContainsFunc(c.argv, func(w word) bool { return w.text == "--dry-run" || strings.HasPrefix(w.text, "--pack-destination") }) {
			a.writes(c, lit("."))
		}
		for _, w := range s.operands {
			if !w.known || !hasPrefix(w.text, ".", "/") {
				c.operates("package " + w.text)
			}
		}
	}
	start := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "--" })
	if start < 0 {
		if c.name == "npm" {
			return
		}
		start = 1
	}
	for _, w := range c.argv[start+1:] {
		if !w.known {
			if !w.safe() {
				c.effectAt("word "+w.text, w)
			}
			continue
		}
		name, _, _ := strings.Cut(strings.ToLower(w.text), "=")
		if w.text == "-r" || w.text == "-c" || w.text == "-e" {
			c.effectAt("option "+w.text, w)
		}
		if loaders[name] {
			c.effectAt("option "+w.text, w)
		}
	}
}

func inspectCargo(_ *analysis, c *call, _ *scanned) {
	start := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "--" })
	if start < 0 {
		return
	}
	for _, w := range c.argv[start+1:] {
		if w.known && (strings.HasPrefix(w.text, "--logfile") || strings.HasPrefix(w.text, "-C") || strings.HasPrefix(w.text, "-Clinker")) {
			c.effectAt("option "+w.text, w)
		}
	}
}

// fetchesPackages are subcommands of go whose operands may be packages that are fetched.
var fetchesPackages = set("run install get")

// inspectGo notes programs that come from elsewhere.
func inspectGo(_ *analysis, c *call, s *scanned) {
	if len(c.argv) < 2 {
		return
	}
	switch c.argv[1].text {
	case "tool":
		if _, page := s.find("-html"); page {
			if _, file := s.find("-o"); !file {
				c.effect("opens a page")
			}
		}
	case "run", "install", "get", "list", "doc", "mod":
		for i, w := range s.operands {
			if strings.Contains(w.text, "@") || !w.known && fetchesPackages[c.argv[1].text] {
				c.operates("package " + w.text)
			}
			if i == 0 && c.argv[1].text == "run" {
				break
			}
		}
	}
}
