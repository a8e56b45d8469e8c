package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/script"
)

// evaluated reports whether a word may be a variable name with a subscript, which a builtin evaluates as arithmetic:
// the subscript can run commands. An unknown name can be one.
func evaluated(w word.Word) bool {
	return !w.Known || strings.IndexByte(w.Text, '[') >= 0
}

// evaluates reports a problem: a builtin evaluates a word.
func evaluates(a *walk.Walker, c *walk.Call, w word.Word) {
	a.Found.Problem("dynamic", c.Name+" evaluates "+findings.Quote(w.Text)+", which can run code.")
}

// inspectTest handles test and [. -v and -R evaluate subscripts, and in ksh and zsh so do -eq and similar operators;
// bash accepts only numbers there. An unknown word may be such an operator, or if split, also the operand.
func inspectTest(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	end := len(c.Argv)
	if c.Name == "[" {
		end--
	}
	for i := 1; i < end; i++ {
		w := c.Argv[i]
		if w.Known && strings.IndexByte(w.Text, '[') >= 0 && strings.ContainsAny(w.Text, "$`") && (compares(c.Argv, i-1) || compares(c.Argv, i+1)) {
			evaluates(a, c, w)
		}
		operator := !w.Known && !w.Safe() && !w.Files
		if operator && w.Many && len(w.Globs) == 0 && !tame(a, w) {
			evaluates(a, c, w)
		}
		if i+1 < end && (operator || w.Known && (w.Text == "-v" || w.Text == "-R")) && evaluated(c.Argv[i+1]) {
			evaluates(a, c, c.Argv[i+1])
		}
	}
}

// compares reports whether the word at i compares numbers.
func compares(argv []word.Word, i int) bool {
	return i < len(argv) && argv[i].Known && slices.Contains([]string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}, argv[i].Text)
}

// tame reports whether a word is a variable that the text does not set, or sets only to numbers.
func tame(a *walk.Walker, w word.Word) bool {
	m := plainVariable.FindStringSubmatch(w.Text)
	if m == nil || a.Shell.Once[word.Anything] > 0 {
		return false
	}
	name := m[1] + m[2]
	return a.Shell.Counts(name) || !a.Shell.Assigned[name] && a.Shell.Once[name] == 0
}

var plainVariable = lazyregexp.New(`^(?:\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(?::?-)?\})$`)

// namesOption handles an option with a value, of a builtin whose operands are variable names.
func namesOption(a *walk.Walker, c *walk.Call, option byte, value word.Word) {
	if option == 'a' || option == 'p' {
		a.Words.Forget(value)
	}
	switch {
	case option == 'C':
		callback(a, c, value)
	case option != 'a' && (option != 'p' || c.Name != "wait"):
	case evaluated(value), option == 'a' && a.Words.Evaluates(value.Text):
		evaluates(a, c, value)
	default:
		a.Words.Sets(value.Text, word.Word{})
	}
}

// inspectNames handles builtins whose operands are variable names: read, unset, mapfile, getopts, wait -p.
func inspectNames(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	takes := map[string]string{"read": "adinNptu", "mapfile": "dnOsucC", "readarray": "dnOsucC", "unset": "", "getopts": "", "wait": "p"}[c.Name]
	skip := 0
	if c.Name == "getopts" {
		skip = 1
	}
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		if w.Known && len(w.Text) > 1 && w.Text[0] == '-' {
			k := 1 + strings.IndexAny(w.Text[1:], takes)
			if k == 0 {
				continue
			}
			v := word.Lit(w.Text[k+1:])
			if v.Text == "" && i+1 < len(c.Argv) {
				i++
				v = c.Argv[i]
			}
			namesOption(a, c, w.Text[k], v)
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if c.Name == "wait" {
			if !w.Safe() { // it may be -p
				a.Words.Forget(word.Word{})
			}
			continue
		}
		if c.Name == "unset" {
			delete(a.Shell.Funcs, w.Text)
		} else if in := c.Sc.Input.Text; !in.Known {
			a.Shell.Copies(w.Text, in.Text)
		}
		a.Words.Forget(w)
		if evaluated(w) || c.Name != "unset" && c.Name != "getopts" && a.Words.Evaluates(w.Text) {
			evaluates(a, c, w)
		} else {
			a.Words.Sets(w.Text, word.Word{})
		}
	}
}

// callback runs the text that a builtin calls later.
func callback(a *walk.Walker, c *walk.Call, v word.Word) {
	in := c.Inner(c.Argv, c.Name+" -C")
	in.Reads, in.Writes = nil, nil
	a.RunWords(in, []word.Word{v})
	a.Found.Problem("dynamic", c.Name+" calls "+findings.Quote(v.Text)+" with words that are not known.")
}

// inspectNumber handles builtins that take a number. zsh evaluates it as arithmetic.
func inspectNumber(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if a.Words.Dialect == script.Zsh && !w.IsNumber() {
			evaluates(a, c, w)
		}
	}
}

// fields matches the fields of a format: the letter of each is in group 1.
var fields = lazyregexp.New(`%(?:%|[-+ #0'.0-9hlLqjzt]*(.))`)

// formatsNumbers handles the words of printf that fields for numbers get. zsh and ksh evaluate them as arithmetic.
func formatsNumbers(a *walk.Walker, c *walk.Call, format word.Word, words []word.Word) {
	var letters []byte
	for _, m := range fields.FindAllStringSubmatch(format.Text, -1) {
		letters = append(letters, m[1]...)
	}
	plain := format.Known && !strings.ContainsAny(string(letters), "*$")
	for i, w := range words {
		if plain && (len(letters) == 0 || strings.IndexByte("sbqcT(", letters[i%len(letters)]) >= 0) {
			continue
		}
		subscript := w.Known && strings.Contains(w.Text, "[") && strings.ContainsAny(w.Text, "$`")
		if subscript || a.Words.Dialect == script.Zsh && !w.IsNumber() && !(w.Known && decimal.MatchString(w.Text)) {
			evaluates(a, c, w)
		}
	}
}

// decimal matches a number with a fraction or an exponent, one in hexadecimal digits, and a character behind a quote.
var decimal = lazyregexp.New(`^(?:[-+]?[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?|0x[0-9a-fA-F]+|['"].)$`)

// wide matches a format field that is wide enough to fill a disk.
var wide = lazyregexp.New(`%[^a-zA-Z%]*[0-9]{10}`)

// inspectPrintf handles printf -v, which assigns, and fields wide enough to fill a disk.
func inspectPrintf(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if len(c.Argv) < 2 {
		return
	}
	w := c.Argv[1]
	if wide.MatchString(w.Text) {
		c.EffectAt("writes without end", w)
	}
	at := 1
	switch t := w.Text; {
	case t == "-v":
		at = 3
	case t == "--", strings.HasPrefix(t, "-v"):
		at = 2
	}
	if at < len(c.Argv) {
		formatsNumbers(a, c, c.Argv[at], c.Argv[at+1:])
	}
	if !w.Known {
		if strings.HasPrefix(w.Head, "-v") {
			evaluates(a, c, w)
		}
		if !w.Safe() && !w.Files {
			c.Effect("word " + w.Text)
		}
		return
	}
	if !strings.HasPrefix(w.Text, "-v") {
		return
	}
	v := word.Lit(w.Text[2:])
	if v.Text == "" && len(c.Argv) > 2 {
		v = c.Argv[2]
	}
	a.Words.Forget(v)
	if evaluated(v) || a.Words.Evaluates(v.Text) {
		evaluates(a, c, v)
	} else {
		a.Words.Sets(v.Text, word.Word{})
	}
}

// inspectLet handles let reached as a command, and the arithmetic of other builtins.
func inspectLet(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if !w.Known || strings.ContainsAny(w.Text, "[$`") {
			evaluates(a, c, w)
		}
	}
}

// inspectSet records the shell options that run or reveal something.
func inspectSet(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if len(c.Argv) == 1 {
		c.Effect("prints the environment")
	}
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		if !w.Known && !w.Safe() {
			c.Effect("word " + w.Text)
			return
		}
		if w.Text == "--" || w.Text == "-" || len(w.Text) < 2 || w.Text[0] != '-' && w.Text[0] != '+' {
			for _, v := range c.Argv[i:] {
				a.Shell.Gives("@", v)
			}
			return
		}
		for k := 1; k < len(w.Text); k++ {
			switch w.Text[k] {
			case 'x', 'v':
				if a.Shell.Assigned["PS4"] {
					a.Found.Problem("dynamic", "set -x expands PS4, which can run code.")
				}
			case 'o':
				if i++; i < len(c.Argv) {
					setsOption(c, c.Argv[i].Text)
				}
			default:
				if !harmlessLetter(a.Words.Dialect, w.Text[0], w.Text[k]) {
					c.Effect("option " + w.Text[:1] + w.Text[k:k+1])
				}
			}
		}
	}
}

// setsOption records an option named by set -o.
func setsOption(c *walk.Call, name string) {
	if !harmlessSet[name] && name != "xtrace" && name != "verbose" {
		c.Effect("option -o " + name)
	}
}

// inspectState records builtins that change what later words mean, or store commands for later.
func inspectState(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if len(c.Argv) == 1 {
		return
	}
	poison := func(text string, poisons func(w word.Word) bool) {
		if slices.ContainsFunc(c.Argv[1:], poisons) {
			a.Found.Poison(text)
		}
	}
	switch c.Name {
	case "alias":
		inspectAlias(a, c)
	case "hash":
		poison("hash", func(w word.Word) bool { return !w.Known || strings.HasPrefix(w.Text, "-p") })
	case "enable":
		poison("enable", func(w word.Word) bool { return !w.Known || strings.HasPrefix(w.Text, "-") })
	case "shopt":
		poison("shopt "+word.JoinTexts(c.Argv[1:]), func(w word.Word) bool { return !w.Known || !strings.HasPrefix(w.Text, "-") && !harmlessSet[w.Text] })
	case "jobs":
		inspectJobs(a, c)
	case "history":
		inspectHistory(c)
	default:
		inspectStored(a, c)
	}
}

// inspectAlias analyses what aliases run.
func inspectAlias(a *walk.Walker, c *walk.Call) {
	for _, w := range c.Argv[1:] {
		name, val, ok := strings.Cut(w.Text, "=")
		if !ok && w.Known {
			continue
		}
		a.Found.Poison("alias " + name)
		if w.Known {
			in := c.Inner(c.Argv, "alias "+name)
			in.Reads, in.Writes = nil, nil
			a.Words.Fresh(func() { a.RunText(in, val) })
		}
	}
}

// inspectJobs analyses what jobs -x runs.
func inspectJobs(a *walk.Walker, c *walk.Call) {
	for i, w := range c.Argv[1:] {
		switch {
		case !w.Known && !w.Safe():
			c.EffectAt("word "+w.Text, w)
		case !w.Known || len(w.Text) < 2 || w.Text[0] != '-':
			return
		case strings.Contains(w.Text, "x") && i+2 < len(c.Argv):
			in := c.Inner(c.Argv[i+2:], "jobs -x")
			in.Reads, in.Writes = nil, nil
			a.Run(in)
			return
		}
	}
}

func inspectHistory(c *walk.Call) {
	for _, w := range c.Argv[1:] {
		if !w.Known || strings.Trim(w.Text, "-wanrsp") == "" {
			c.Effect("option " + w.Text)
		}
	}
	if !c.Argv[1].Known {
		c.Effect("builtin " + c.Name)
	}
}

// inspectStored analyses builtins that store a command, such as complete -C.
func inspectStored(a *walk.Walker, c *walk.Call) {
	for i, w := range c.Argv[1:] {
		if !w.Known || strings.HasPrefix(w.Text, "-") {
			c.Effect("option " + w.Text)
		}
		if c.Name != "complete" && c.Name != "compgen" || !w.Known || w.Text != "-C" && w.Text != "-W" || i+2 >= len(c.Argv) {
			continue
		}
		if v := c.Argv[i+2]; v.Known && w.Text == "-C" {
			callback(a, c, v)
		} else if !v.Known || strings.ContainsAny(v.Text, "$`") {
			evaluates(a, c, v)
		}
	}
	c.Effect("builtin " + c.Name)
}
