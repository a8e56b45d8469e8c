package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// handlers analyse the programs whose words no table describes, by the names that the table gives them. A handler returns
// true when it recorded the command, false when the command is to be looked at like any other.
var handlers map[string]func(*analysis, *call) bool

func init() {
	// Set here because the handlers run commands, and commands run handlers.
	handlers = map[string]func(*analysis, *call) bool{
		"cd":        runCd,
		"command":   runCommand,
		"container": runContainer,
		"daemon":    runDaemon,
		"env":       runEnv,
		"eval":      runEval,
		"exec":      runExec,
		"fd":        runFd,
		"find":      runFind,
		"flock":     runFlock,
		"git":       runGit,
		"gotestsum": runGotestsum,
		"make":      runMake,
		"module":    runModule,
		"nix":       runNix,
		"parallel":  runParallel,
		"ssh":       runSSH,
		"screen":    runScreen,
		"script":    runScript,
		"shell":     runShell,
		"source":    runSource,
		"su":        runSu,
		"texts":     runTexts,
		"tmux":      runTmux,
		"trap":      runTrap,
		"watch":     runWatch,
		"xargs":     runXargs,
	}
	inspectors = map[string]func(*analysis, *call, *scanned){
		"archiver":    inspectArchiver,
		"aws":         inspectAWS,
		"awk":         inspectAwk,
		"calc":        inspectCalc,
		"cargo":       inspectCargo,
		"compiler":    inspectCompiler,
		"container":   inspectContainer,
		"cron":        inspectCron,
		"date":        inspectDate,
		"dd":          inspectDd,
		"declare":     inspectDeclare,
		"env":         inspectEnv,
		"fetch":       inspectFetch,
		"gh":          inspectGh,
		"git":         inspectGit,
		"gitadd":      inspectGitAdd,
		"gitapply":    inspectGitApply,
		"gitcheckout": inspectGitCheckout,
		"gitclone":    inspectGitClone,
		"gitconfig":   inspectGitConfig,
		"gitfetch":    inspectGitFetch,
		"gitinit":     inspectGitInit,
		"gitloss":     inspectGitLoss,
		"gitpush":     inspectGitPush,
		"gitref":      inspectGitRef,
		"gitremote":   inspectGitRemote,
		"gitrestore":  inspectGitRestore,
		"gitshow":     inspectGitShow,
		"gitvar":      inspectGitVar,
		"gitwrite":    inspectGitWrite,
		"go":          inspectGo,
		"hostname":    inspectHostname,
		"jq":          inspectJq,
		"kill":        inspectKill,
		"kubectl":     inspectKubectl,
		"less":        inspectLess,
		"let":         inspectLet,
		"link":        inspectLink,
		"lookup":      inspectLookup,
		"make":        inspectMake,
		"maven":       inspectMaven,
		"mode":        inspectMode,
		"names":       inspectNames,
		"npm":         inspectNpm,
		"openssl":     inspectOpenssl,
		"patch":       inspectPatch,
		"printf":      inspectPrintf,
		"ps":          inspectPs,
		"remove":      inspectRemove,
		"sql":         inspectSQL,
		"sed":         inspectSed,
		"service":     inspectService,
		"set":         inspectSet,
		"state":       inspectState,
		"tar":         inspectTar,
		"test":        inspectTest,
		"transfer":    inspectTransfer,
		"unzip":       inspectUnzip,
		"yq":          inspectYq,
	}
}

// inspectors look at the words of programs for which options and operands do not say enough, likewise.
var inspectors map[string]func(*analysis, *call, *scanned)

// runGotestsum runs go test with the words after --.
func runGotestsum(a *analysis, c *call) bool {
	i := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "--" })
	if i < 0 {
		return false
	}
	a.emit(c)
	in := c.child(append([]word{lit("go"), lit("test")}, c.argv[i+1:]...), texts(c.argv[:i]))
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
		for n, w := range jsonTool.scan(args, programs.GNU).operands {
			if n == 0 {
				a.reads(c, w)
			} else {
				a.writes(c, w)
			}
		}
	case "tokenize", "dis":
		for _, w := range jsonTool.scan(args, programs.GNU).operands {
			a.reads(c, w)
		}
	default:
		a.runTool(c, i+1)
	}
	return false
}

// runTool looks at a module that is a program too, pytest say, as at that program: what its options do, the module's
// do. Rules for the program that deny hold for the module.
func (a *analysis) runTool(c *call, at int) {
	if a.tables.row(c.argv[at].text) == nil {
		return
	}
	inner := c.child(c.argv[at:], texts(c.argv[:at]))
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

// psShowsEnvironment reports whether letters behind a dash ask ps for environments.
func psShowsEnvironment(letters string) bool {
	if !strings.Contains(letters, "E") && !(strings.Contains(letters, "e") && strings.ContainsAny(letters, "xu")) {
		return false
	}
	i := strings.IndexAny(letters, psValues+"u")
	return i < 0 || strings.ContainsAny(letters[:i], "eE") || letters[i] == 'u' && strings.ContainsAny(letters[i:], "eE")
}

// psFlags are options of ps that take no value.
var psFlags = map[string]bool{"-forest": true, "-no-headers": true, "-headers": true, "-help": true, "-version": true}

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
			skip = !attached && !psFlags[name]
			continue
		case !w.known && !w.safe():
			c.effect("word " + w.text)
			continue
		}
		if dash && psShowsEnvironment(letters) {
			c.effect("prints the environment")
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
	set, err := programs.CompileOptions(s)
	if err != nil {
		panic(err) // a constant of this package
	}
	return (*optset)(set)
}
