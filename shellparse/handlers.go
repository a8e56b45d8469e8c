package shellparse

import (
	"slices"
	"strings"
)

// handlers analyse the programs whose words no table describes. A handler returns true when it recorded the
// command, false when the command is to be looked at like any other.
var handlers map[string]func(*analysis, *call) bool

func init() {
	// Set here because the handlers run commands, and commands run handlers.
	handlers = map[string]func(*analysis, *call) bool{
		"env": runEnv, "genv": runEnv, "command": runCommand, "exec": runExec, "eval": runEval, "trap": runTrap,
		"xargs": runXargs, "gxargs": runXargs, "parallel": runParallel, "find": runFind, "gfind": runFind, "fd": runFd, "fdfind": runFd,
		"bash": runShell, "sh": runShell, "dash": runShell, "zsh": runShell, "ksh": runShell, "mksh": runShell, "ash": runShell,
		"rbash": runShell, "fish": runShell, "tcsh": runShell, "csh": runShell, "yash": runShell, "elvish": runShell, "nu": runShell,
		"source": runSource, ".": runSource, "su": runSu, "runuser": runSu, "ssh": runSSH, "flock": runFlock, "script": runScript,
		"watch": runWatch, "cd": runCd, "pushd": runCd, "popd": runCd, "coproc": runExec,
		"tmux": runTmux, "screen": runScreen, "nix-shell": runNix, "nix": runNix, "start-stop-daemon": runDaemon,
		"git": runGit, "docker": runContainer, "podman": runContainer, "nerdctl": runContainer,
		"make": runMake, "gmake": runMake, "concurrently": runTexts, "run-p": runTexts, "run-s": runTexts,
	}
	for _, n := range strings.Fields("python python2 python3 pypy pypy3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14") {
		handlers[n] = runModule
	}
	handlers["gotestsum"] = runGotestsum
	inspectors["ps"] = inspectPs
}

// runGotestsum runs go test with the words after --.
func runGotestsum(a *analysis, c *call) bool {
	i := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "--" })
	if i < 0 {
		return false
	}
	a.emit(c)
	in := c.inner(append([]word{lit("go"), lit("test")}, c.argv[i+1:]...), texts(c.argv[:i]))
	in.reads, in.writes, in.outer = nil, nil, nil
	a.run(in)
	return true
}

// jsonTool are the options of json.tool before its operands.
var jsonTool = mustOptions("--indent= --sort-keys --no-ensure-ascii --json-lines --tab --no-indent --compact")

// runModule notes the files of modules that show one: json.tool takes the name of a result as well.
func runModule(a *analysis, c *call) bool {
	i := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "-m" })
	if i < 0 || i+1 >= len(c.argv) || !c.argv[i+1].known {
		return false
	}
	args := c.argv[i+2:]
	switch c.argv[i+1].text {
	case "json.tool":
		for n, w := range jsonTool.scan(args, styleGNU).operands {
			if n == 0 {
				c.reads = a.file(c.reads, w, c.name, c.sc)
			} else {
				c.writes = a.file(c.writes, w, c.name, c.sc)
			}
		}
	case "tokenize", "dis":
		for _, w := range jsonTool.scan(args, styleGNU).operands {
			c.reads = a.file(c.reads, w, c.name, c.sc)
		}
	default:
		a.runTool(c, i+1)
	}
	return false
}

// runTool looks at a module that is a program too, pytest say, as at that program: what its options do, the module's
// do. Rules for the program that deny hold for the module.
func (a *analysis) runTool(c *call, at int) {
	if a.tables.programs[c.argv[at].text] == nil {
		return
	}
	inner := c.inner(c.argv[at:], texts(c.argv[:at]))
	inner.reads, inner.writes, inner.outer = nil, nil, nil
	inner.sc.effects, inner.sc.denyOnly = nil, true
	mark := len(a.script.Commands)
	a.run(inner)
	for i := mark; i < len(a.script.Commands); i++ {
		for _, e := range a.script.Commands[i].Effects {
			addEffect(&c.effects, e.behind(at, i == mark && len(a.script.Commands[i].Argv) == len(c.argv)-at))
		}
		c.writes = append(c.writes, a.script.Commands[i].Writes...)
		a.script.Commands[i].Writes = nil
	}
}

// psValues are the letters of ps that take the rest of the word, or the next one, as their value.
const psValues = "oOkptqUNgG"

// inspectPs notes that ps is asked for environments: e in the letters without a dash, E with one. Letters with
// a dash that make no sense with it are read as those without.
func inspectPs(_ *analysis, c *call, _ *scanned) {
	skip := false
	for _, w := range c.argv[1:] {
		letters, dash := strings.CutPrefix(w.text, "-")
		switch {
		case skip:
			skip = false
			continue
		case dash && strings.HasPrefix(letters, "-"):
			name, _, attached := strings.Cut(letters, "=")
			skip = !attached && name != "-forest" && name != "-no-headers" && name != "-headers" && name != "-help" && name != "-version"
			continue
		case !w.known && !w.safe():
			c.effect("word " + w.text)
			continue
		}
		if dash && (strings.Contains(letters, "E") || strings.Contains(letters, "e") && strings.ContainsAny(letters, "xu")) {
			if i := strings.IndexAny(letters, psValues+"u"); i < 0 || strings.ContainsAny(letters[:i], "eE") || letters[i] == 'u' && strings.ContainsAny(letters[i:], "eE") {
				c.effect("prints the environment")
			}
		}
		values := psValues
		if dash {
			values += "uC"
		}
		for i := 0; i < len(letters); i++ {
			if strings.IndexByte(values, letters[i]) >= 0 {
				skip = i == len(letters)-1
				break
			}
			if letters[i] == 'e' && !dash {
				c.effect("prints the environment")
			}
		}
	}
}

func mustOptions(s string) *optset {
	set, err := compileOptions(s)
	if err != nil {
		panic(err) // a constant of this package
	}
	return set
}
