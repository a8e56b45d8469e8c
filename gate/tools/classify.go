package tools

import (
	"slices"
	"strings"

	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// node is the rows of one program or sub-command, compiled.
type node struct {
	risk     permissions.Risk
	known    bool // a row names exactly these words
	sends    bool
	worse    []condition
	children map[string]*node
	prefixes []prefixed // children whose word ends in "*"
}

type prefixed struct {
	prefix string
	node   *node
}

// condition is one "worse" of a row.
type condition struct {
	words  []string
	unless []string
	to     permissions.Risk

	onlyOptions bool // each of the words is an option
}

// riskTable is the compiled table.
var riskTable = compileRows()

func compileRows() *node {
	root := &node{}
	for _, r := range rows {
		parents := []*node{root}
		words := strings.Fields(r.words)
		for _, alternatives := range words {
			var next []*node
			for word := range strings.SplitSeq(alternatives, "|") {
				for _, p := range parents {
					next = append(next, p.child(word))
				}
			}
			parents = next
		}
		for _, n := range parents {
			n.risk, n.known = r.risk, true
			n.sends = n.sends || r.sends
			if r.worse != "" {
				words := strings.Fields(r.worse)
				n.worse = append(n.worse, condition{words, strings.Fields(r.unless), r.to,
					!slices.ContainsFunc(words, func(w string) bool { return !isOption(w) })})
			}
		}
	}
	return root
}

// child returns the node of a further word, which it makes when there is none.
func (n *node) child(word string) *node {
	if prefix, ok := strings.CutSuffix(word, "*"); ok {
		for _, p := range n.prefixes {
			if p.prefix == prefix {
				return p.node
			}
		}
		made := &node{}
		n.prefixes = append(n.prefixes, prefixed{prefix, made})
		return made
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if n.children[word] == nil {
		n.children[word] = &node{}
	}
	return n.children[word]
}

// find returns the node of a further word, nil when the table has none.
func (n *node) find(word string) *node {
	if c, ok := n.children[word]; ok {
		return c
	}
	for _, p := range n.prefixes {
		if strings.HasPrefix(word, p.prefix) {
			return p.node
		}
	}
	return nil
}

// classify says what one effective command may do, from its words alone: effects and files are the
// caller's business. why is what makes it DESTRUCTIVE, as the end of a sentence that begins with "It"; it may be "".
func classify(c *shellparse.Command) (risk permissions.Risk, category, why string) {
	if len(c.Argv) == 0 {
		return permissions.ReadOnly, CategoryTerminalRead, ""
	}
	if !c.Argv[0].Known {
		return permissions.Unknown, CategoryTerminalWrite, ""
	}
	program, args := c.Argv[0].Value, c.Argv[1:]
	risk = risks(program, args)
	if len(c.Statements) > 0 {
		risk = statementsRisk(program, c.Statements)
	}
	switch {
	case len(args) == 1 && onlyAsks[args[0].Value]:
	case startsAgent(c):
		risk, why = risk.Worse(permissions.Destructive), otherAgent
	default:
		if why = destroys(c); why == "" && risk == permissions.Unknown {
			why = goesOn(program, args)
		}
		if why != "" {
			risk = risk.Worse(permissions.Destructive)
		}
	}
	return risk, shellCategory(program, risk), why
}

// onlyAsks are words with which, alone, programs say something of themselves.
var onlyAsks = wordSet("--help --version -V")

// goOn are options that tell a program not to ask, or to delete, whatever program it is.
var goOn = wordSet("--force --accept-data-loss --yes --assume-yes --no-input --noinput --no-interaction --non-interactive --purge --delete --hard --prune --auto-approve " +
	"--force-reset --force-delete --overwrite-existing --no-confirm --noconfirm --skip-confirmation --confirm --destroy --wipe --drop --remove-all --delete-all --i-know-what-i-am-doing --really --permanent --nuke --yes-i-really-mean-it")

// goesOnHarmlessly are programs to which the options of goOn say how to install something or whether to ask about
// that, or which hand them on to a program that is judged by itself.
var goesOnHarmlessly = wordSet("npm npx pnpm pnpx yarn bun bunx deno pip pip3 pipx uv uvx poetry pdm hatch conda mamba cargo rustup gem bundle composer go brew apt apt-get dnf yum apk " +
	"zypper pacman snap flatpak nix nix-env nix-shell choco winget scoop dotnet flutter dart pod git docker podman nerdctl make gmake ninja cmake bazel gradle mvn pre-commit gh xargs ssh code npm-check-updates ncu asdf mise volta rsync man")

// goesOn says which option of goOn a program of which nothing is known gets.
func goesOn(program string, args []shellparse.Word) string {
	if goesOnHarmlessly[program] || strings.HasPrefix(program, "create-") || len(args) > 0 && plainName(args[0].Value) == "manage.py" {
		return "" // what of them destroys is known
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

// sends reports whether a command sends data to another machine by what it is for. What its options send is an effect.
func sends(c *shellparse.Command) bool {
	if len(c.Argv) == 0 || !c.Argv[0].Known {
		return false
	}
	program, args := knownAs(c.Argv[0].Value, c.Argv[1:])
	n, path, found := riskTable.find(program), program, false
	for n != nil {
		found = n.sends
		next, rest, _ := descend(n, path, args)
		if next == nil {
			break
		}
		path += " " + rest[0].Value
		n, args = next, rest[1:]
	}
	return found
}

// knownAs returns the program, and its words, that the table knows a program by.
func knownAs(program string, args []shellparse.Word) (string, []shellparse.Word) {
	program = programs.Canonical(program)
	if other, ok := sameAs[program]; ok {
		if first, rest, ok := strings.Cut(other, " "); ok {
			return first, append([]shellparse.Word{{Value: rest, Known: true}}, args...)
		}
		program = other
	}
	return program, args
}

func risks(program string, args []shellparse.Word) permissions.Risk {
	program, args = knownAs(program, args)
	n := riskTable.find(program)
	if n == nil {
		return permissions.Unknown
	}
	if len(args) == 1 && args[0].Known {
		if onlyAsks[args[0].Value] {
			return permissions.ReadOnly
		}
	}
	path := program
	for {
		next, rest, opaque := descend(n, path, args)
		if opaque {
			return permissions.Unknown
		}
		if next == nil {
			break
		}
		path += " " + rest[0].Value
		n, args = next, rest[1:]
	}
	if !n.known {
		return permissions.Unknown
	}
	risk := n.risk
	open := slices.ContainsFunc(args, mayBeAnything)
	onlyWords := open && !slices.ContainsFunc(args, func(w shellparse.Word) bool { return mayBeAnything(w) && !w.NoOption })
	for _, cond := range n.worse {
		switch {
		case cond.holds(args):
			risk = risk.Worse(cond.to)
		case onlyWords && cond.onlyOptions:
		case open && cond.to.Exceeds(permissions.Unknown):
			risk = risk.Worse(permissions.Unknown) // one of the words may turn out to be what makes it worse
		case open:
			risk = risk.Worse(cond.to)
		}
	}
	switch {
	case targetRunners[program]:
		for i, a := range args {
			if i > 0 && args[i-1].Known && targetValues[args[i-1].Value] && a.Known {
				continue
			}
			if !a.Known || !isOption(a.Value) && !isScript(a.Value) && !strings.Contains(a.Value, "=") {
				risk = risk.Worse(permissions.Unknown)
			}
		}
	case scriptRunners[path]:
		if len(args) > 0 && args[0].Known && isScript(args[0].Value) {
			return permissions.BuildTest
		}
	}
	return risk
}

// descend finds the sub-command of n among args, with the words from it on. opaque says that a word which
// cannot be known stands where the sub-command must be, or that the table has sub-commands and not this one.
func descend(n *node, path string, args []shellparse.Word) (next *node, rest []shellparse.Word, opaque bool) {
	if len(n.children) == 0 && len(n.prefixes) == 0 {
		return nil, nil, false
	}
	takesValue := valueOptions[path]
	for i := 0; i < len(args); i++ {
		if !args[i].Known {
			return nil, nil, true
		}
		word := args[i].Value
		if next := n.find(word); next != nil && (len(next.children) > 0 || next.known || len(next.prefixes) > 0) {
			return next, args[i:], false
		}
		if isOption(word) {
			if takesValue[word] {
				i++
			}
			continue
		}
		// A word that is no sub-command: an operand of a program that works without one, too.
		return nil, nil, !n.known || n.exclusive()
	}
	return nil, nil, false
}

// exclusive reports whether the words of n need a sub-command that the table knows: "git x" is not "git".
func (n *node) exclusive() bool { return len(n.worse) == 0 && len(n.children) > 0 }

func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// isScript reports whether a script or target of this name builds or tests by custom.
func isScript(name string) bool {
	first, _, _ := strings.Cut(name, ":")
	return scriptNames[first]
}

// mayBeAnything reports whether a word depends on the run from its first character on, so that it may turn
// out to be an option.
func mayBeAnything(w shellparse.Word) bool {
	if w.Known {
		return false
	}
	source := strings.TrimLeft(w.Value, `"'`)
	return source == "" || strings.IndexByte("$`*?[{~\\-<(", source[0]) >= 0
}

// holds reports whether one of the words that make a command worse is among its arguments.
func (c condition) holds(args []shellparse.Word) bool {
	list := c.words
	if list[0] == "<second>" {
		operands := 0
		for _, a := range args {
			if !a.Known || !isOption(a.Value) {
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
			if c.harmless(args) {
				continue
			}
			for _, a := range args {
				if !a.Known || !isOption(a.Value) {
					return true
				}
			}
			continue
		}
		for _, a := range args {
			if a.Known && matchesWord(want, a.Value) {
				return true
			}
		}
	}
	return false
}

func (c condition) harmless(args []shellparse.Word) bool {
	for _, u := range c.unless {
		for _, a := range args {
			if a.Known && matchesWord(u, a.Value) {
				return true
			}
		}
	}
	return false
}

// matchesWord reports whether an argument is what a row means by want. It rather matches too much: that
// only raises a risk.
func matchesWord(want, arg string) bool {
	switch {
	case strings.HasPrefix(want, "--") && len(want) > 2:
		name, _, _ := strings.Cut(arg, "=")
		return name == want || arg == want || len(name) > 3 && strings.HasPrefix(want, name)
	case len(want) == 2 && want[0] == '-' && want[1] != '-':
		return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.IndexByte(arg[1:], want[1]) >= 0
	case strings.ContainsAny(want, "*?"):
		return wildcard(want, arg)
	}
	return want == arg
}

// wildcard matches "*" and "?" and nothing else. It takes linear time for each star, whatever the text.
func wildcard(pattern, s string) bool {
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

// statementsRisk judges the statements that a database client is given.
func statementsRisk(program string, list []shellparse.Word) permissions.Risk {
	risk := permissions.Network
	if localDatabases[program] {
		risk = permissions.ReadOnly
	}
	for _, w := range list {
		if !w.Known {
			return permissions.Unknown
		}
		risk = risk.Worse(classifySQL(w.Value))
	}
	return risk
}

// shellCategory returns the category of a command.
func shellCategory(program string, r permissions.Risk) string {
	switch {
	case program == "git" && r == permissions.ReadOnly:
		return CategoryGitRead
	case r == permissions.Network:
		return CategoryNetwork
	case program == "git":
		return CategoryGitWrite
	case r == permissions.ReadOnly:
		return CategoryTerminalRead
	}
	return CategoryTerminalWrite
}
