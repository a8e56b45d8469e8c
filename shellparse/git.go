package shellparse

import (
	"path"
	"slices"
	"strings"
)

// harmlessSettings are git settings that change what is shown or recorded, and execute nothing. An entry that
// ends in a dot covers what begins with it.
var harmlessSettings = []string{"user.name", "user.email", "author.", "committer.", "color.", "advice.", "log.", "column.", "core.quotepath", "core.autocrlf",
	"core.safecrlf", "core.filemode", "core.ignorecase", "core.abbrev", "core.commentchar", "core.longpaths", "init.defaultbranch", "pull.rebase", "pull.ff", "push.default",
	"push.autosetupremote", "merge.conflictstyle", "merge.ff", "diff.algorithm", "diff.renames", "diff.context", "diff.mnemonicprefix", "diff.noprefix", "diff.colormoved",
	"fetch.prune", "fetch.parallel", "rebase.autostash", "rebase.autosquash", "status.", "commit.gpgsign", "tag.gpgsign", "commit.verbose", "gc.auto", "index.", "pack.", "feature.", "http.lowspeedlimit", "http.lowspeedtime", "http.postbuffer", "rerere.enabled", "blame.", "format.pretty", "safe.bareRepository", "branch.sort", "tag.sort", "versionsort.", "i18n."}

// gitSetting looks at one name=value of git -c: a shell alias is run as a script, a harmless setting passes.
func (a *analysis) gitSetting(w word, c *call) {
	text := w.text
	if !w.known {
		text = w.head
	}
	name, val, _ := strings.Cut(text, "=")
	lower := strings.ToLower(name)
	for _, h := range harmlessSettings {
		if h = strings.ToLower(h); lower == h || strings.HasSuffix(h, ".") && strings.HasPrefix(lower, h) {
			return
		}
	}
	if (lower == "core.pager" || lower == "core.editor") && (val == "cat" || val == "true" || val == ":" || val == "less") && w.known {
		return
	}
	c.effect("git -c " + text)
	script := val
	if strings.HasPrefix(lower, "alias.") {
		if script = strings.TrimPrefix(val, "!"); script == val {
			return
		}
	}
	// What the setting runs is recorded for deny rules; the effect keeps every rule from allowing it.
	if w.known && strings.ContainsRune(script, ' ') {
		in := c.child(c.argv, "git -c "+name)
		mark := len(a.script.Problems)
		a.fresh(func() { a.script1(in, script) })
		a.script.Problems = a.script.Problems[:mark]
	}
}

// runGit runs what git runs for a subcommand: bisect run, submodule foreach.
func runGit(a *analysis, c *call) bool {
	a.takeGlobals(c)
	if len(c.argv) < 3 || !c.argv[1].known || !c.argv[2].known {
		return false
	}
	var rest []word
	via := 3
	switch sub := c.argv[1].text; {
	case sub == "bisect" && c.argv[2].text == "run":
		rest = c.argv[3:]
	case sub == "submodule":
		i := slices.IndexFunc(c.argv, func(w word) bool { return w.known && w.text == "foreach" })
		if i < 0 {
			return false
		}
		for i++; i < len(c.argv) && c.argv[i].known && strings.HasPrefix(c.argv[i].text, "-"); i++ {
		}
		rest, via = c.argv[i:], i
	default:
		return false
	}
	if len(rest) == 0 {
		return false
	}
	a.emit(c)
	in := c.child(rest, texts(c.argv[:via]))
	in.sc.effects = c.sc.effects
	if c.argv[1].text == "bisect" || len(rest) > 1 {
		a.run(in)
	} else {
		a.fresh(func() { a.scriptWords(in, rest) })
	}
	return true
}

// The functions below look at subcommands whose operands matter.

// firstOperand is the first word behind the subcommand that is no option, "" for none.
func (c *call) firstOperand() string {
	for _, w := range c.argv[2:] {
		if !strings.HasPrefix(w.text, "-") {
			return w.text
		}
	}
	return ""
}

func inspectGit(_ *analysis, c *call, _ *scanned) { c.showsSetting() }

func inspectGitVar(_ *analysis, c *call, _ *scanned) {
	if c.firstOperand() == "" {
		c.operates("shows all settings")
	}
}

func inspectGitPush(a *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		text := w.text
		if !w.known {
			text = w.head
		}
		if strings.HasPrefix(text, "+") || strings.HasPrefix(text, ":") && len(text) > 1 {
			c.effectAt("refspec "+w.text, w)
		}
	}
	a.gitURLs(c, s.operands)
}

func inspectGitFetch(a *analysis, c *call, s *scanned) { a.gitURLs(c, s.operands) }

func inspectGitClone(a *analysis, c *call, s *scanned) {
	a.gitURLs(c, s.operands)
	if n := len(s.operands); n > 0 {
		dir := s.operands[n-1]
		if n == 1 {
			dir.text = strings.TrimSuffix(path.Base(dir.text), ".git")
		}
		c.writes = a.file(c.writes, dir, "git", c.sc)
	}
}

func inspectGitRemote(a *analysis, c *call, s *scanned) {
	a.gitURLs(c, s.operands)
	inspectGitLoss(a, c, s)
}

// inspectGitCheckout tells paths from branches: with a path, checkout overwrites files.
func inspectGitCheckout(_ *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		if w.text == "." || w.text == "./" || w.text == ":/" {
			c.effectAt("discards changes", w)
		}
	}
	if s.dashes {
		c.effectAt("discards changes", lit("--"))
	} else if n := len(s.operands); n > 1 {
		if _, creates := s.find("-b", "--orphan", "-t"); !creates {
			c.effectAt("discards changes", s.operands[n-1])
		}
	}
}

func inspectGitRestore(_ *analysis, c *call, s *scanned) {
	_, staged := s.find("-S", "--staged")
	if _, worktree := s.find("-W", "--worktree"); !staged || worktree || s.unknown != "" || s.vague != "" {
		c.operates("discards changes")
	}
}

// gitLosses are operations that lose something, or change where something goes.
var gitLosses = set("remote/remove remote/rm remote/rename remote/set-url remote/prune remote/add remote/set-head " +
	"remote/set-branches stash/drop stash/clear worktree/remove worktree/prune worktree/move " +
	"reflog/expire reflog/delete notes/remove notes/prune lfs/install lfs/prune lfs/migrate bisect/replay " +
	"bisect/visualize bisect/view")

func inspectGitLoss(a *analysis, c *call, s *scanned) {
	first := c.firstOperand()
	switch name := c.argv[1].text + "/" + first; {
	case gitLosses[name]:
		c.operates(c.argv[1].text + " " + first)
	case (name == "worktree/add" || name == "bundle/create") && len(s.operands) > 1:
		c.writes = a.file(c.writes, s.operands[1], "git", c.sc)
	}
}

func inspectGitRef(_ *analysis, c *call, s *scanned) {
	if len(s.operands) > 1 {
		c.effectAt("sets "+s.operands[0].text, s.operands[1])
	}
}

func inspectGitConfig(a *analysis, c *call, _ *scanned) { a.gitConfig(c, c.argv[2:]) }

// inspectGitAdd notes what becomes part of the repository, and goes wherever that goes.
func inspectGitAdd(a *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		if p := strings.TrimPrefix(w.text, ":/"); w.known {
			if path.Clean(p) != "." { // what git ignores stays out
				c.reads = a.file(c.reads, lit(p), "git", c.sc)
			}
		} else if len(w.globs) > 0 {
			c.reads = a.file(c.reads, w, "git", c.sc)
		}
	}
}

func inspectGitApply(a *analysis, c *call, s *scanned) { a.gitApply(c, s) }

func inspectGitWrite(a *analysis, c *call, s *scanned) {
	for _, w := range s.operands {
		c.writes = a.file(c.writes, w, "git", c.sc)
	}
}

func inspectGitShow(a *analysis, c *call, s *scanned) { a.gitPaths(c, s.operands) }

func inspectGitInit(a *analysis, c *call, s *scanned) {
	if len(s.operands) > 0 {
		c.writes = a.file(c.writes, s.operands[0], "git", c.sc)
	}
}

// gitURLs notes transports that run a program, and addresses that git reads as options.
func (a *analysis) gitURLs(c *call, ops []word) {
	for _, w := range ops {
		text := w.text
		if !w.known {
			text = w.head
		}
		scheme, _, ok := strings.Cut(text, "::")
		if ok && scheme != "" && !strings.ContainsAny(scheme, "/.@") {
			c.effectAt("transport "+scheme, w)
		}
		if strings.HasPrefix(text, "fd::") || strings.Contains(text, "://-") || strings.Contains(text, "@-") {
			c.effectAt("address "+text, w)
		}
	}
}

// gitPaths notes the files that revision:path operands and plain paths show.
func (a *analysis) gitPaths(c *call, ops []word) {
	for _, w := range ops {
		if !w.known {
			continue
		}
		_, p, ok := strings.Cut(w.text, ":")
		if !ok {
			p = w.text
		}
		for _, prefix := range []string{"(top)", "/", "!", "^"} {
			if ok && prefix != "/" {
				p = strings.TrimPrefix(p, prefix)
			}
		}
		if p == "" || p == "HEAD" || strings.Contains(p, "..") && !strings.Contains(p, "/") {
			continue
		}
		c.reads = a.file(c.reads, lit(p), "git", c.sc)
	}
}

// harmlessSections are those of settings that hold no credential.
var harmlessSections = set("user author alias branch color core diff merge pull push fetch init commit advice log status column gui rebase rerere tag stash pager remote submodule init")

// showsSettings notes that git config shows several settings, among which credentials may be.
func (a *analysis) showsSettings(c *call, args []word, sub string) {
	pattern, many := "", sub == "list"
	for i, w := range args {
		switch {
		case w.text == "-l" || w.text == "--list":
			many = true
		case w.text == "--get-regexp" || w.text == "--regexp" || strings.HasPrefix(w.text, "--get-url"):
			many = true
			if i+1 < len(args) && args[i+1].known {
				pattern = strings.TrimLeft(args[i+1].text, "^(")
			}
		}
	}
	section := pattern[:len(pattern)-len(strings.TrimLeft(pattern, "abcdefghijklmnopqrstuvwxyz"))]
	if many && (!harmlessSections[section] || strings.Contains(pattern, "|") || secretName(pattern)) {
		c.effect("shows settings that can hold credentials")
	}
}

// readsConfig reports whether an option has git config show settings.
func readsConfig(option string) bool {
	return strings.HasPrefix(option, "--get") || option == "-l" || option == "--list"
}

// gitConfig notes settings that are written: hooks, filters, aliases and helpers execute later.
func (a *analysis) gitConfig(c *call, args []word) {
	reads, n, sub := false, 0, ""
	for i := 0; i < len(args); i++ {
		w := args[i]
		if !w.known && !w.safe() {
			c.effect("setting " + w.text)
			return
		}
		switch t := w.text; {
		case readsConfig(t) || strings.HasPrefix(t, "--show-") && n == 0 && len(args) == 1:
			reads = true
		case configValues[t]:
			if i++; i < len(args) && (t == "-f" || t == "--file") {
				c.reads = a.file(c.reads, args[i], "git", c.sc)
			}
		case t == "-e" || t == "--edit":
			c.effect("option " + t)
		case t == "--add" || hasPrefix(t, "--unset", "--re", "--rename"):
			n += 2
		case strings.HasPrefix(t, "-"):
		default:
			if n == 0 {
				sub = t
			}
			n++
		}
	}
	a.gitSettings(c, args, sub, n, reads)
}

// gitSettings notes what git config does with n words that are no options; reads says that an option has it show settings.
func (a *analysis) gitSettings(c *call, args []word, sub string, n int, reads bool) {
	if reads || sub == "list" || sub == "get" {
		n = 1
	}
	switch n {
	case 0:
	case 1:
		a.showsSettings(c, args, sub)
	case 2, 3:
		c.operates("setting " + texts(args))
	default:
		c.effect("setting")
	}
}

// configValues are options of git config that take a value.
var configValues = set("-f --file --blob --type --default --comment")
