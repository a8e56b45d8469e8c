package inspect

import (
	"maps"
	"slices"
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// xargsOptions lists the options of GNU and BSD xargs.
var xargsOptions = word.MustOptions("-0,--null -a,--arg-file=r -d,--delimiter= -E= -e? --eof? -I= -i? --replace? -J= -L= -l? --max-lines? " +
	"-n,--max-args= -o,--open-tty -P,--max-procs= -p,--interactive --process-slot-var=x -R= " +
	"-r,--no-run-if-empty -S= -s,--max-chars= --show-limits -t,--verbose -x,--exit --help --version")

// runXargs unwraps xargs. Its input becomes unknown words.
func runXargs(a *walk.Walker, c *walk.Call) bool {
	s := xargsOptions.Scan(c.Argv[1:], programs.POSIX)
	at := 1 + s.Rest
	if s.Unknown != "" || s.Vague != "" && !word.AllKnown(c.Argv[1:at]) {
		a.Uncertain(c, 1)
		return true
	}
	for _, h := range s.Hits {
		apply(a, h, c)
	}
	if at >= len(c.Argv) {
		return false // echo
	}
	if in := c.Sc.Input.Text; in.Known {
		a.DeniesOf(in.Text, c.Sc) // its lines become words, and a program may run some of them
	}
	item := c.Sc.Input.List
	token, replaces, always := "", false, true
	for _, h := range s.Hits {
		switch h.Opt.Last {
		case "--arg-file":
			item = word.Word{}
		case "-I", "-J":
			token, replaces = h.Value.Text, true
		case "--no-run-if-empty":
			always = false
		case "-i", "--replace":
			token, replaces = "{}", true
			if h.Has && h.Value.Text != "" {
				token = h.Value.Text
			}
		}
	}
	argv := slices.Clone(c.Argv[at:])
	item.Text, item.Files, item.Many, item.Vanishes = "{}", true, true, always
	if replaces && token != "" {
		word.ReplaceToken(argv, token, item)
	} else {
		argv = append(argv, item)
	}
	inner := c.Inner(argv, word.JoinTexts(c.Argv[:at]))
	inner.Outer = nil
	inner.Sc.Input = &word.Input{Kind: word.InputFile}
	a.Run(inner)
	return true
}

var parallelOptions = word.MustOptions("-j,--jobs= -k,--keep-order -n,--max-args= -N= -I= -a,--arg-file=r -C,--colsep= -d,--delimiter= " +
	"-0,--null --dry-run --eta --bar --progress --halt= --joblog=w --resume --retries= --timeout= --delay= " +
	"--load= --memfree= --nice= --results=t --tag --tagstring= -u,--ungroup --line-buffer,--lb --linebuffer " +
	"--link --no-notice --will-cite --citation -q,--quote -X -m -s= -L= -P,--max-procs= -r,--no-run-if-empty " +
	"-t,--verbose -v -i? --plain --silent --shuf --pipe --block= --recstart= --recend= -S,--sshlogin=! " +
	"--sshloginfile=! --slf=! --trc=! --transferfile=! --return=! --cleanup --basefile=! --env= --rpl=c " +
	"--tmpdir=t --workdir=d --wd=d --semaphore --fg --bg --wait --id= --version --help")

// runParallel parses the words before ::: as the shell text that parallel makes of them.
func runParallel(a *walk.Walker, c *walk.Call) bool {
	s := parallelOptions.Scan(c.Argv[1:], programs.POSIX)
	at := 1 + s.Rest
	if s.Unknown != "" || s.Vague != "" && !word.AllKnown(c.Argv[1:min(at, len(c.Argv))]) {
		a.Uncertain(c, 1)
		return true
	}
	for _, h := range s.Hits {
		apply(a, h, c)
	}
	end := at
	for end < len(c.Argv) && !(c.Argv[end].Known && strings.HasPrefix(c.Argv[end].Text, ":::")) {
		end++
	}
	if at >= end {
		a.Found.Problem("dynamic", "parallel runs the lines that it reads.")
		a.Emit(c)
		if at < len(c.Argv) {
			for _, w := range c.Argv[at:] {
				if w.Known && !strings.HasPrefix(w.Text, ":::") {
					a.RunText(c.Inner(nil, "parallel"), w.Text)
				}
			}
		}
		return true
	}
	// parallel joins its words into a shell text and quotes the arguments in it.
	text := word.JoinTexts(c.Argv[at:end])
	inner := c.Inner(c.Argv[at:end], word.JoinTexts(c.Argv[:at]))
	if !word.AllKnown(c.Argv[at:end]) {
		a.RunWords(inner, c.Argv[at:end])
		return true
	}
	for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}"} {
		text = strings.ReplaceAll(text, mark, `"$PARALLEL_ARGUMENT"`)
	}
	if !strings.Contains(text, "$PARALLEL_ARGUMENT") {
		text += ` "$PARALLEL_ARGUMENT"`
	}
	a.RunText(inner, text)
	return true
}

// findActions maps the expressions of find that do more than look to what they do: '!' destroys, 'w' writes its
// operand, 'l' reads a list of files, 'x' runs a command.
var findActions = map[string]byte{"-delete": '!', "-fprint": 'w', "-fprint0": 'w', "-fprintf": 'w', "-fls": 'w', "-cpio": 'w', "-ncpio": 'w', "-files0-from": 'l',
	"-exec": 'x', "-execdir": 'x', "-ok": 'x', "-okdir": 'x'}

// runFind records find, and each command that its expressions run.
func runFind(a *walk.Walker, c *walk.Call) bool {
	argv := c.Argv
	starts := "."
	var inner []*walk.Call
	var tests []word.Word // the words before the action, without other actions
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		if !w.Known && !w.Safe() && !w.Files {
			c.EffectAt("word "+w.Text, w)
		}
		if i == 1 && w.Safe() {
			starts = w.Text
		}
		if !w.Known {
			argv[i].NoOption = w.NoneOf(maps.Keys(findActions))
			tests = append(tests, w)
			continue
		}
		switch findActions[w.Text] {
		case 0:
			tests = append(tests, w)
		case '!':
			c.EffectAt("option "+w.Text, w)
			c.Writes = a.Words.File(c.Writes, word.Word{Text: starts, Known: !word.IsGlob(starts)}, "find", c.Sc)
		case 'w', 'l':
			if i+1 < len(argv) {
				i++
				if findActions[w.Text] == 'w' {
					c.Writes = a.Words.File(c.Writes, argv[i], "find", c.Sc)
				} else {
					c.Reads = a.Words.File(c.Reads, argv[i], "find", c.Sc)
					c.EffectAt("files that "+argv[i].Text+" lists", argv[i])
				}
			}
		case 'x':
			end := execEnd(argv, i+1)
			if words := slices.Clone(argv[min(i+1, len(argv)):end]); len(words) > 0 {
				via := word.JoinTexts(argv[:i+1])
				if !a.Found.Spend(len(via)) {
					return false
				}
				inner = append(inner, runsFound(a, c, words, via, tests, strings.HasSuffix(w.Text, "dir")))
			}
			i = end
		}
	}
	if len(inner) == 0 {
		return false
	}
	a.Emit(c)
	for _, in := range inner {
		a.Run(in)
	}
	return true
}

// execEnd returns the end of the command, beginning at begin, that an action of find runs.
func execEnd(argv []word.Word, begin int) int {
	end := begin
	for end < len(argv) && !(argv[end].Known && (argv[end].Text == ";" || argv[end].Text == "+" && end > begin && argv[end-1].Text == "{}")) {
		end++
	}
	return end
}

// runsFound returns the command that find runs on files that pass the tests; with within, in the folder of each file.
func runsFound(a *walk.Walker, c *walk.Call, words []word.Word, via string, tests []word.Word, within bool) *walk.Call {
	item := word.Word{Globs: word.Found(tests, false)}
	if within {
		item.Globs = word.FoundNames(tests)
	}
	word.ReplaceToken(words, "{}", item)
	for k := range words {
		if !words[k].Known && strings.Contains(words[k].Text, "{}") {
			words[k].Head += "./"
		}
	}
	in := c.Child(words, via)
	in.Sc.Effects = c.Sc.Effects
	if within {
		in.Sc.EnterAny(word.Folders(tests))
	}
	for _, start := range tests {
		if !within || start.Known && word.HasPrefix(start.Text, "-", "(", "!") {
			break
		}
		if leadsOut(a, c, start) {
			in.Sc.Effects = append(slices.Clip(in.Sc.Effects), script.Effect{Text: "directory " + start.Text})
		}
	}
	return in
}

// fdExec reads a word of fd that may be the option before a command. It returns the option and its attached value.
func fdExec(text string) (name, val string, has, ok bool) {
	name, val, has = strings.Cut(text, "=")
	if name == "-x" || name == "-X" || strings.HasPrefix("--exec-batch", name) && len(name) > 3 {
		return name, val, has, true
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		if k := strings.IndexAny(text, "xX"); k > 0 && !strings.ContainsAny(text[1:k], "dEetcSojM") {
			return name, text[k+1:], text[k+1:] != "", true
		}
	}
	return name, val, has, false
}

// runFd records fd, and the command after -x or -X.
func runFd(a *walk.Walker, c *walk.Call) bool {
	for i := 1; i < len(c.Argv); i++ {
		w := c.Argv[i]
		if !w.Known {
			if !w.Safe() && !w.Files {
				c.EffectAt("word "+w.Text, w)
			}
			continue
		}
		name, val, has, exec := fdExec(w.Text)
		if !exec {
			continue
		}
		words := slices.Clone(c.Argv[i+1:])
		if has {
			words = append([]word.Word{word.Lit(val)}, words...)
		}
		for k := range words {
			if words[k].Known && words[k].Text == ";" {
				words = words[:k]
				break
			}
		}
		if len(words) == 0 {
			c.Effect("option " + name)
			return false
		}
		n := len(words)
		found, _ := word.Searched(c.Argv[:i])
		word.ReplaceToken(words, "{}", word.Word{Globs: found})
		for _, mark := range []string{"{.}", "{/}", "{//}", "{/.}"} {
			word.ReplaceToken(words, mark, word.Word{})
		}
		if word.AllKnown(words) {
			words = append(words, word.Word{Text: "{}", Head: "./", Files: true, Globs: found})
		}
		in := c.Child(words[:max(n, len(words))], word.JoinTexts(c.Argv[:i+1]))
		in.Sc.Effects = c.Sc.Effects
		a.Emit(c)
		a.Run(in)
		return true
	}
	return false
}
