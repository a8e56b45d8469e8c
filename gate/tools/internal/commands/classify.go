// Package commands says what a command does by its words: its risk, what it destroys, runs, shows and sends.
package commands

import (
	"slices"
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// riskOf maps the classes of the table to risks.
var riskOf = [...]permissions.Risk{programs.NoRisk: permissions.Unknown, programs.ReadOnly: permissions.ReadOnly, programs.BuildTest: permissions.BuildTest,
	programs.Write: permissions.Write, programs.Network: permissions.Network, programs.Unknown: permissions.Unknown,
	programs.Destructive: permissions.Destructive, programs.Escalation: permissions.Escalation}

// Classify returns what one effective command may do, from its words alone: effects and files are up to the caller. why
// says what makes it DESTRUCTIVE, as the end of a sentence that begins with "It"; it may be "".
func Classify(c *shellparse.Command) (risk permissions.Risk, category, why string) {
	if len(c.Argv) == 0 {
		return permissions.ReadOnly, kinds.CategoryTerminalRead, ""
	}
	if !c.Argv[0].Known {
		return permissions.Unknown, kinds.CategoryTerminalWrite, ""
	}
	program, args := c.Argv[0].Value, c.Argv[1:]
	risk = Risks(program, args)
	if len(c.Statements) > 0 {
		risk = statementsRisk(program, c.Statements)
	}
	if c.Computes {
		risk = permissions.BuildTest
	}
	switch {
	case len(args) == 1 && OnlyAsks[args[0].Value]:
	case startsAgent(c):
		risk, why = risk.Worse(permissions.Destructive), OtherAgent
	default:
		if why = Destroys(c); why == "" && risk == permissions.Unknown {
			why = goesOn(program, args)
		}
		if why != "" {
			risk = risk.Worse(permissions.Destructive)
		}
	}
	return risk, shellCategory(program, risk), why
}

// OnlyAsks are words that, alone, make programs only tell about themselves.
var OnlyAsks = wording.Set("--help --version -V")

// goOn lists options that mean "do not ask" or "delete" in any program.
var goOn = wording.Set("--force --accept-data-loss --yes --assume-yes --no-input --noinput --no-interaction --non-interactive --purge --delete --hard --prune --auto-approve " +
	"--force-reset --force-delete --overwrite-existing --no-confirm --noconfirm --skip-confirmation --confirm --destroy --wipe --drop --remove-all --delete-all --i-know-what-i-am-doing --really --permanent --nuke --yes-i-really-mean-it")

// goesOn returns which option of goOn an unknown program gets, as the end of a sentence, or "".
func goesOn(program string, args []shellparse.Word) string {
	if Known(program).Has(programs.YesIsHarmless) || strings.HasPrefix(program, "create-") || len(args) > 0 && PlainName(args[0].Value) == "manage.py" {
		return "" // the table knows what they destroy
	}
	for _, a := range args {
		if !a.Known || !strings.HasPrefix(a.Value, "--") {
			continue
		}
		if name, _, _ := strings.Cut(a.Value, "="); goOn[name] {
			return "is told to go on with " + name
		}
	}
	return ""
}

// Sends reports whether a command is for sending data to another machine. What its options send is an effect.
func Sends(c *shellparse.Command) bool {
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return false
	}
	program, args := knownAs(c.Argv[0].Value, c.Argv[1:])
	var n *programs.Command
	found := false
	for n = n.Child(program); n != nil; {
		found = n.Has(programs.Sends)
		next, rest, _ := descend(n, args)
		if next == nil {
			break
		}
		n, args = next, rest[1:]
	}
	return found || posts(c)
}

// posts reports whether a program that fetches addresses is told to send something to another machine.
func posts(c *shellparse.Command) bool {
	program := programs.Canonical(c.Argv[0].Value)
	if !Known(program).Has(programs.SendsQueries) || Known(program).Has(programs.Uploads) {
		return false
	}
	items := strings.HasPrefix(program, "http") || strings.HasPrefix(program, "xh")
	sends, away := false, false
	for i, w := range c.Argv[1:] {
		method := c.Argv[i].Value == "-X" || strings.HasPrefix("--request", c.Argv[i].Value) && len(c.Argv[i].Value) > 4 || items
		switch {
		case sendOption.MatchString(w.Value), method && sendMethod.MatchString(w.Value), items && sendItem.MatchString(w.Value):
			sends = true
		case IsOption(w.Value):
		default:
			away = away || !w.Known || strings.ContainsAny(w.Value, ".:/") && !localAddress.MatchString(w.Value)
		}
	}
	return sends && away
}

var (
	sendOption   = lazyregexp.New(`^(?:-[a-zA-Z]*[dFT]|--(?:data[a-z-]*|form[a-z-]*|json|upload-file|post-data|post-file|body-data|body-file|raw)(?:$|=)|-X(?:POST|PUT|PATCH)|--(?:request|method)=(?i:POST|PUT|PATCH))`)
	sendMethod   = lazyregexp.New(`^(?i:POST|PUT|PATCH)$`)
	sendItem     = lazyregexp.New(`^[\w.-]+(?:=(?:[^=]|$)|:=|@)`)
	localAddress = lazyregexp.New(`^(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)|^[^/:.]*$|^\{`)
)

// Known returns what the table says about a program.
func Known(program string) *programs.Command { return programs.Find(programs.Canonical(program)) }

// knownAs returns the program and the words by which the table knows a command.
func knownAs(program string, args []shellparse.Word) (string, []shellparse.Word) {
	program = programs.Canonical(program)
	if other := programs.Find(program).Like; other != "" {
		if first, rest, ok := strings.Cut(other, " "); ok {
			return first, append([]shellparse.Word{{Value: rest, Known: true}}, args...)
		}
		program = other
	}
	return program, args
}

// Risks returns the risk of a program with these words, by the table.
func Risks(program string, args []shellparse.Word) permissions.Risk {
	program, args = knownAs(program, args)
	root := (*programs.Command)(nil).Child(program)
	if root == nil {
		return permissions.Unknown
	}
	if len(args) == 1 && args[0].Known && OnlyAsks[args[0].Value] {
		return permissions.ReadOnly
	}
	if namesScript(root, args) {
		return permissions.BuildTest
	}
	n := root
	for {
		next, rest, opaque := descend(n, args)
		if opaque {
			return permissions.Unknown
		}
		if next == nil {
			break
		}
		n, args = next, rest[1:]
		if !n.Parent && strings.HasSuffix(n.Name, "*") {
			args = rest // the word that its pattern stands for may be what makes it worse
		}
	}
	switch {
	case n.Risk == programs.NoRisk:
		return permissions.Unknown
	case root.Has(programs.RunsTargets) && !onlyTargets(root, args), n.Has(programs.RunsTargets) && !onlyTargets(n, args):
		return riskWith(n, args).Worse(permissions.Unknown)
	case n.Has(programs.RunsScripts) && runsScript(n, args):
		return permissions.BuildTest
	}
	return riskWith(n, args)
}

// processors is how command lines write the number of processors.
const processors = "$(nproc)"

// namesScript reports whether a package manager is given the name of a script that cannot be a subcommand: yarn
// test:unit, pnpm lint-fix.
func namesScript(n *programs.Command, args []shellparse.Word) bool {
	direct := n.Has(programs.RunsInstalled) || programs.Find(n.Name, "run").Has(programs.RunsScripts)
	return n.Has(programs.PackageManager) && direct && !n.Has(programs.Interpreter) &&
		len(args) > 0 && (strings.Contains(args[0].Value, ":") || isPartOfBuild(args[0].Value)) && runsScript(n, args)
}

// runsScript reports whether the first word that is not an option is a script that builds or tests by convention. Only
// options for less output, or for some packages of the project, may stand before it.
func runsScript(runner *programs.Command, args []shellparse.Word) bool {
	for len(args) > 0 && args[0].Known {
		name, _, attached := strings.Cut(args[0].Value, "=")
		if !packageOptions[name] || runner.Row == nil {
			break
		}
		o := runner.Row.Options.Find(name)
		if o == nil || o.Does != 0 {
			break
		}
		if args = args[1:]; o.Arg == programs.Needed && !attached {
			if len(args) == 0 || !args[0].Known {
				return false
			}
			args = args[1:]
		}
	}
	return len(args) > 0 && args[0].Known && isScript(args[0].Value)
}

// riskWith returns the risk of a command with these words after its name.
func riskWith(n *programs.Command, args []shellparse.Word) permissions.Risk {
	risk := riskOf[n.Risk]
	open := slices.ContainsFunc(args, mayBeAnything)
	onlyWords := open && !slices.ContainsFunc(args, func(w shellparse.Word) bool { return mayBeAnything(w) && !w.NoOption })
	for i := range n.Worse {
		cond := &n.Worse[i]
		to := riskOf[cond.To]
		switch {
		case isWorse(n, cond, args):
			risk = risk.Worse(to)
		case onlyWords && cond.OnlyOptions:
		case open && to.Exceeds(permissions.Unknown):
			risk = risk.Worse(permissions.Unknown) // one of the words may turn out to be what makes it worse
		case open:
			risk = risk.Worse(to)
		}
	}
	return risk
}

// onlyTargets reports whether the operands are targets that build or test by convention. install of mvn counts too: it
// goes into the repository of the user's builds.
func onlyTargets(runner *programs.Command, args []shellparse.Word) bool {
	tasks := runner.Has(programs.RunsTasks)
	for i, a := range args {
		if i > 0 && args[i-1].Known && targetValues[args[i-1].Value] && (a.Known || strings.Trim(a.Value, `"`) == processors) {
			continue
		}
		switch {
		case IsOption(a.Value) && !(tasks && strings.ContainsAny(a.Value, " \t")):
		case !a.Known:
			return false
		case tasks && isTask(a.Value):
		case !tasks && (isScript(a.Value) || strings.Contains(a.Value, "=") || runner.Name == "mvn" && a.Value == "install"):
		default:
			return false
		}
	}
	return true
}

// isTask reports whether a task with its arguments builds or tests: test, core/Test/compile, testOnly a.B. The
// arguments of "all" are tasks themselves.
func isTask(word string) bool {
	name, args, _ := strings.Cut(word, " ")
	if name == "all" && slices.ContainsFunc(strings.Fields(args), func(task string) bool { return !isTask(task) }) {
		return false
	}
	inside := !strings.HasPrefix(name, "/") && !strings.Contains(name, "..")
	builds := scriptNames[name[strings.LastIndexAny(name, "/:")+1:]] || isPartOfBuild(name) || wholeNames[name]
	_, forTests, _ := strings.Cut(args, "-- ")
	return inside && builds && !doesMore(name) && !strings.Contains(args, ";") &&
		!slices.ContainsFunc(strings.Fields(forTests), func(word string) bool { return testReports[word] })
}

// descend finds the subcommand of n among args, and returns the words from it on. opaque reports that an unknown word
// stands where the subcommand must be, or that the table has subcommands and not this one.
func descend(n *programs.Command, args []shellparse.Word) (next *programs.Command, rest []shellparse.Word, opaque bool) {
	if !n.Parent {
		return nil, nil, false
	}
	for i := 0; i < len(args); i++ {
		if !args[i].Known {
			return nil, nil, true
		}
		word := args[i].Value
		if next := n.Child(word); next != nil {
			return next, args[i:], false
		}
		if IsOption(word) {
			if takesNext(n, word) {
				i++
			}
			continue
		}
		// A word that is not a subcommand may also be an operand of a program that works without one.
		return nil, nil, n.Risk == programs.NoRisk || len(n.Worse) == 0
	}
	return nil, nil, false
}

// takesNext reports whether an option before a subcommand of n, or before what n runs, has the next word as its value.
func takesNext(n *programs.Command, option string) bool {
	var o *programs.Option
	switch {
	case n.Row != nil:
		o = n.Row.Options.Find(option)
	case n.Wrapper != nil:
		o = n.Wrapper.Options.Find(option)
	}
	return o != nil && o.Arg == programs.Needed
}

func IsOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// isScript reports whether a script or target of this name builds or tests by convention.
func isScript(name string) bool {
	first, rest, _ := strings.Cut(name, ":")
	return (scriptNames[first] || isPartOfBuild(first)) && !doesMore(rest) || isPartOfBuild(name) || wholeNames[name]
}

// doesMore reports whether a part of a name says, by convention, that the script does more than build or test.
func doesMore(name string) bool {
	return slices.ContainsFunc(nameParts(name), func(p string) bool { return notScriptParts[p] })
}

// isPartOfBuild reports whether a name is one of scriptKinds before or after scriptParts: test-unit, web_lint.
func isPartOfBuild(name string) bool {
	parts := nameParts(name)
	return len(parts) > 1 && (scriptKinds[parts[0]] || scriptKinds[parts[len(parts)-1]]) &&
		!slices.ContainsFunc(parts, func(p string) bool { return !scriptParts[p] && !scriptKinds[p] })
}

// nameParts returns the words in the name of a script.
func nameParts(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_:/", r) })
}

// mayBeAnything reports whether a word depends on the run from its first character on, so that it may turn
// out to be an option.
func mayBeAnything(w shellparse.Word) bool {
	if w.Known {
		return false
	}
	source := strings.TrimLeft(w.Value, `"'`)
	if source == "-j"+processors {
		return false
	}
	return source == "" || strings.IndexByte("$`*?[{~\\-<(", source[0]) >= 0
}

// isWorse reports whether one of the words that make a command worse is among its arguments.
func isWorse(n *programs.Command, c *programs.Worse, args []shellparse.Word) bool {
	list := c.When
	if list[0] == "<second>" {
		operands := 0
		for _, a := range args {
			if !a.Known || !IsOption(a.Value) {
				operands++
			}
		}
		if list = list[1:]; operands < 2 || len(list) == 0 {
			return operands > 1
		}
	}
	for _, want := range list {
		switch want {
		case "<bare>":
			if len(args) == 0 {
				return true
			}
			continue
		case "<operand>":
			if harmless(n, c, args) {
				continue
			}
			for _, a := range args {
				if !a.Known || !IsOption(a.Value) {
					return true
				}
			}
			continue
		}
		for _, a := range args {
			if a.Known && matchesWord(n, want, a.Value) {
				return true
			}
		}
	}
	return false
}

func harmless(n *programs.Command, c *programs.Worse, args []shellparse.Word) bool {
	for _, u := range c.Unless {
		for _, a := range args {
			if a.Known && matchesWord(n, u, a.Value) {
				return true
			}
		}
	}
	return false
}

// matchesWord reports whether an argument of a command is what a row of the table means by want. In doubt it matches,
// because that only raises a risk.
func matchesWord(of *programs.Command, want, arg string) bool {
	switch {
	case strings.HasPrefix(want, "--") && len(want) > 2:
		name, _, _ := strings.Cut(arg, "=")
		return name == want || arg == want || len(name) > 3 && strings.HasPrefix(want, name)
	case len(want) == 2 && want[0] == '-' && want[1] != '-':
		return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.IndexByte(bundled(of, arg), want[1]) >= 0
	case strings.ContainsAny(want, "*?"):
		return Wildcard(want, arg)
	}
	return want == arg
}

// bundled returns the letters of the options that a word bundles, without a value that is attached to the last one. The
// options of a program tell nothing about those of its subcommands.
func bundled(of *programs.Command, arg string) string {
	if of.Row == nil || of.Row.Options == nil || of.Row.Subcommands != nil || of.Parent {
		return arg[1:]
	}
	for i := 1; i < len(arg); i++ {
		if o := of.Row.Options.Find("-" + arg[i:i+1]); o != nil && (o.Arg == programs.Needed || o.Arg == programs.Attached) {
			return arg[1 : i+1]
		}
	}
	return arg[1:]
}

// Wildcard matches "*" and "?" and nothing else. It takes linear time for each star, whatever the text.
func Wildcard(pattern, s string) bool {
	var i, j int
	star, from := -1, 0 // the last star in pattern, and where in s what follows it was tried last
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == s[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// statementsRisk returns the risk of the statements that a database client is given.
func statementsRisk(program string, list []shellparse.Word) permissions.Risk {
	risk := permissions.Network
	if Known(program).Has(programs.LocalDatabase) {
		risk = permissions.ReadOnly
	}
	for _, w := range list {
		if !w.Known {
			return permissions.Unknown
		}
		risk = risk.Worse(ClassifySQL(w.Value))
	}
	return risk
}

func shellCategory(program string, r permissions.Risk) string {
	versions := Known(program).Has(programs.VersionControl)
	switch {
	case versions && r == permissions.ReadOnly:
		return kinds.CategoryGitRead
	case r == permissions.Network:
		return kinds.CategoryNetwork
	case versions:
		return kinds.CategoryGitWrite
	case r == permissions.ReadOnly:
		return kinds.CategoryTerminalRead
	}
	return kinds.CategoryTerminalWrite
}
