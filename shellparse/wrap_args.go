package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// xargsOptions are those of GNU and BSD xargs.
var xargsOptions = mustOptions("-0,--null -a,--arg-file=r -d,--delimiter= -E= -e? --eof? -I= -i? --replace? -J= -L= -l? --max-lines? " +
	"-n,--max-args= -o,--open-tty -P,--max-procs= -p,--interactive --process-slot-var= -R= " +
	"-r,--no-run-if-empty -S= -s,--max-chars= --show-limits -t,--verbose -x,--exit --help --version")

// runXargs unwraps xargs. What it reads becomes words that are not known.
func runXargs(a *analysis, c *call) bool {
	s := xargsOptions.scan(c.argv[1:], programs.POSIX)
	at := 1 + s.rest
	if s.unknown != "" || s.vague != "" && !allKnown(c.argv[1:at]) {
		a.uncertain(c, 1)
		return true
	}
	for _, h := range s.hits {
		a.apply(h, c)
	}
	if at >= len(c.argv) {
		return false // echo
	}
	if in := c.sc.input.text; in.known {
		a.deniesOf(in.text, c.sc) // its lines become words, of which a program may run some
	}
	item := c.sc.input.list
	token, replaces := "", false
	for _, h := range s.hits {
		switch h.opt.Last {
		case "--arg-file":
			item = word{}
		case "-I", "-J":
			token, replaces = h.value.text, true
		case "-i", "--replace":
			token, replaces = "{}", true
			if h.has && h.value.text != "" {
				token = h.value.text
			}
		}
	}
	argv := slices.Clone(c.argv[at:])
	item.text, item.files, item.many = "{}", true, true
	if replaces && token != "" {
		replaceToken(argv, token, item)
	} else {
		argv = append(argv, item)
	}
	inner := c.inner(argv, texts(c.argv[:at]))
	inner.outer = nil
	inner.sc.input = &input{kind: inputFile}
	a.run(inner)
	return true
}

// replaceToken marks the words in which a program puts the value of item.
func replaceToken(argv []word, token string, item word) {
	for i := range argv {
		w := &argv[i]
		if !w.known || !strings.Contains(w.text, token) {
			continue
		}
		before, after, _ := strings.Cut(w.text, token)
		*w = word{text: w.text, head: before, files: true, split: item.split, tracked: item.tracked && before == ""}
		if strings.Contains(after, token) {
			continue
		}
		for _, g := range item.globs {
			w.globs = append(w.globs, literal(before)+g+literal(after))
		}
	}
}

var parallelOptions = mustOptions("-j,--jobs= -k,--keep-order -n,--max-args= -N= -I= -a,--arg-file=r -C,--colsep= -d,--delimiter= " +
	"-0,--null --dry-run --eta --bar --progress --halt= --joblog=w --resume --retries= --timeout= --delay= " +
	"--load= --memfree= --nice= --results=t --tag --tagstring= -u,--ungroup --line-buffer,--lb --linebuffer " +
	"--link --no-notice --will-cite --citation -q,--quote -X -m -s= -L= -P,--max-procs= -r,--no-run-if-empty " +
	"-t,--verbose -v -i? --plain --silent --shuf --pipe --block= --recstart= --recend= -S,--sshlogin=! " +
	"--sshloginfile=! --slf=! --trc=! --transferfile=! --return=! --cleanup --basefile=! --env= --rpl=c " +
	"--tmpdir=t --workdir=d --wd=d --semaphore --fg --bg --wait --id= --version --help")

// runParallel parses the words before ::: as the shell text that parallel makes of them.
func runParallel(a *analysis, c *call) bool {
	s := parallelOptions.scan(c.argv[1:], programs.POSIX)
	at := 1 + s.rest
	if s.unknown != "" || s.vague != "" && !allKnown(c.argv[1:min(at, len(c.argv))]) {
		a.uncertain(c, 1)
		return true
	}
	for _, h := range s.hits {
		a.apply(h, c)
	}
	end := at
	for end < len(c.argv) && !(c.argv[end].known && strings.HasPrefix(c.argv[end].text, ":::")) {
		end++
	}
	if at >= end {
		a.problem("dynamic", "parallel runs the lines that it reads.")
		a.emit(c)
		if at < len(c.argv) {
			for _, w := range c.argv[at:] {
				if w.known && !strings.HasPrefix(w.text, ":::") {
					a.script1(c.inner(nil, "parallel"), w.text)
				}
			}
		}
		return true
	}
	// parallel joins its words to a shell text, in which the arguments are quoted.
	text := texts(c.argv[at:end])
	inner := c.inner(c.argv[at:end], texts(c.argv[:at]))
	if !allKnown(c.argv[at:end]) {
		a.scriptWords(inner, c.argv[at:end])
		return true
	}
	for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{1}", "{2}", "{3}"} {
		text = strings.ReplaceAll(text, mark, `"$PARALLEL_ARGUMENT"`)
	}
	if !strings.Contains(text, "$PARALLEL_ARGUMENT") {
		text += ` "$PARALLEL_ARGUMENT"`
	}
	a.script1(inner, text)
	return true
}

// findActions are the expressions of find that do more than look, with the number of their operands.
var findActions = map[string]byte{"-delete": '!', "-fprint": 'w', "-fprint0": 'w', "-fprintf": 'w', "-fls": 'w', "-files0-from": 'l',
	"-exec": 'x', "-execdir": 'x', "-ok": 'x', "-okdir": 'x'}

// runFind records find, and each command that its expressions run.
func runFind(a *analysis, c *call) bool {
	argv := c.argv
	starts := "."
	var inner []*call
	var tests []word // what stands before the action, without other actions
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		if !w.known && !w.safe() && !w.files {
			c.effectAt("word "+w.text, w)
		}
		if i == 1 && w.safe() {
			starts = w.text
		}
		if !w.known {
			tests = append(tests, w)
			continue
		}
		switch findActions[w.text] {
		case 0:
			tests = append(tests, w)
		case '!':
			c.effectAt("option "+w.text, w)
			c.writes = a.file(c.writes, word{text: starts, known: !isGlob(starts)}, "find", c.sc)
		case 'w', 'l':
			if i+1 < len(argv) {
				i++
				if findActions[w.text] == 'w' {
					c.writes = a.file(c.writes, argv[i], "find", c.sc)
				} else {
					c.reads = a.file(c.reads, argv[i], "find", c.sc)
					c.effectAt("files that "+argv[i].text+" lists", argv[i])
				}
			}
		case 'x':
			end := execEnd(argv, i+1)
			if words := slices.Clone(argv[min(i+1, len(argv)):end]); len(words) > 0 {
				via := texts(argv[:i+1])
				if !a.spend(len(via)) {
					return false
				}
				inner = append(inner, c.runsFound(words, via, tests, strings.HasSuffix(w.text, "dir")))
			}
			i = end
		}
	}
	if len(inner) == 0 {
		return false
	}
	a.emit(c)
	for _, in := range inner {
		a.run(in)
	}
	return true
}

// execEnd returns where the command ends that an action of find runs, which begins at a place.
func execEnd(argv []word, begin int) int {
	end := begin
	for end < len(argv) && !(argv[end].known && (argv[end].text == ";" || argv[end].text == "+" && end > begin && argv[end-1].text == "{}")) {
		end++
	}
	return end
}

// runsFound is the command that find runs on what passes the tests; within says that it runs in the folder of each file.
func (c *call) runsFound(words []word, via string, tests []word, within bool) *call {
	item := word{}
	if !within {
		item.globs = found(tests, false)
	}
	replaceToken(words, "{}", item)
	for k := range words {
		if !words[k].known && strings.Contains(words[k].text, "{}") {
			words[k].head += "./"
		}
	}
	in := c.child(words, via)
	in.sc.effects = c.sc.effects
	in.sc.lost = in.sc.lost || within
	return in
}

// fdExec reads a word of fd that may be the option before a command: its name, and what is attached to it.
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
func runFd(a *analysis, c *call) bool {
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if !w.known {
			if !w.safe() && !w.files {
				c.effectAt("word "+w.text, w)
			}
			continue
		}
		name, val, has, exec := fdExec(w.text)
		if !exec {
			continue
		}
		words := slices.Clone(c.argv[i+1:])
		if has {
			words = append([]word{lit(val)}, words...)
		}
		for k := range words {
			if words[k].known && words[k].text == ";" {
				words = words[:k]
				break
			}
		}
		if len(words) == 0 {
			c.effect("option " + name)
			return false
		}
		n := len(words)
		for _, mark := range []string{"{}", "{.}", "{/}", "{//}", "{/.}"} {
			replaceToken(words, mark, word{})
		}
		if allKnown(words) {
			words = append(words, word{text: "{}", head: "./", files: true})
		}
		in := c.child(words[:max(n, len(words))], texts(c.argv[:i+1]))
		in.sc.effects = c.sc.effects
		a.emit(c)
		a.run(in)
		return true
	}
	return false
}
