package inspect

import (
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// harmlessSettings lists git settings that change what is shown or recorded, and execute nothing. An entry that ends in
// a dot covers everything with that prefix.
var harmlessSettings = []string{"user.name", "user.email", "author.", "committer.", "color.", "advice.", "log.", "column.", "core.quotepath", "core.autocrlf",
	"core.safecrlf", "core.filemode", "core.ignorecase", "core.abbrev", "core.commentchar", "core.longpaths", "init.defaultbranch", "pull.rebase", "pull.ff", "push.default",
	"push.autosetupremote", "merge.conflictstyle", "merge.ff", "diff.algorithm", "diff.renames", "diff.context", "diff.mnemonicprefix", "diff.noprefix", "diff.colormoved",
	"fetch.prune", "fetch.parallel", "rebase.autostash", "rebase.autosquash", "status.", "commit.gpgsign", "tag.gpgsign", "commit.verbose", "gc.auto", "index.", "pack.", "feature.", "http.lowspeedlimit", "http.lowspeedtime", "http.postbuffer", "rerere.enabled", "blame.date", "blame.coloring", "blame.showemail", "blame.showroot", "blame.blankboundary", "format.pretty", "safe.bareRepository", "branch.sort", "tag.sort", "versionsort.", "i18n."}

// gitSetting records one name=value of git -c, unless it is harmless, and parses what it runs, such as a shell alias.
func gitSetting(a *walk.Walker, w word.Word, c *walk.Call) {
	text := w.Text
	if !w.Known {
		text = w.Head
	}
	name, val, _ := strings.Cut(text, "=")
	lower := strings.ToLower(name)
	for _, h := range harmlessSettings {
		if h = strings.ToLower(h); lower == h || strings.HasSuffix(h, ".") && strings.HasPrefix(lower, h) {
			return
		}
	}
	if (lower == "core.pager" || lower == "core.editor") && (val == "cat" || val == "true" || val == ":" || val == "less") && w.Known {
		return
	}
	c.Effect("git -c " + text)
	script := val
	if strings.HasPrefix(lower, "alias.") {
		if script = strings.TrimPrefix(val, "!"); script == val {
			return
		}
	}
	// What the setting runs is recorded for deny rules. The effect keeps every rule from allowing it.
	if w.Known && strings.ContainsRune(script, ' ') {
		in := c.Child(c.Argv, "git -c "+name)
		mark := len(a.Found.Script.Problems)
		a.Words.Fresh(func() { a.RunText(in, script) })
		a.Found.Script.Problems = a.Found.Script.Problems[:mark]
	}
}

// runGit runs the command that git runs for a subcommand: bisect run, submodule foreach.
func runGit(a *walk.Walker, c *walk.Call) bool {
	takeGlobals(a, c)
	if len(c.Argv) < 3 || !c.Argv[1].Known || !c.Argv[2].Known {
		return false
	}
	var rest []word.Word
	via := 3
	switch sub := c.Argv[1].Text; {
	case sub == "bisect" && c.Argv[2].Text == "run":
		rest = c.Argv[3:]
	case sub == "submodule":
		i := slices.IndexFunc(c.Argv, func(w word.Word) bool { return w.Known && w.Text == "foreach" })
		if i < 0 {
			return false
		}
		for i++; i < len(c.Argv) && c.Argv[i].Known && strings.HasPrefix(c.Argv[i].Text, "-"); i++ {
		}
		rest, via = c.Argv[i:], i
	default:
		return false
	}
	if len(rest) == 0 {
		return false
	}
	a.Emit(c)
	in := c.Child(rest, word.JoinTexts(c.Argv[:via]))
	in.Sc.Effects = c.Sc.Effects
	if c.Argv[1].Text == "bisect" || len(rest) > 1 {
		a.Run(in)
	} else {
		a.Words.Fresh(func() { a.RunWords(in, rest) })
	}
	return true
}

// The functions below handle subcommands whose operands matter.

// firstOperand returns the first word after the subcommand that is not an option, or "".
func firstOperand(c *walk.Call) string {
	for _, w := range c.Argv[2:] {
		if !strings.HasPrefix(w.Text, "-") {
			return w.Text
		}
	}
	return ""
}

func inspectGit(_ *walk.Walker, c *walk.Call, _ *word.Scanned) { showsSetting(c) }

func inspectGitVar(_ *walk.Walker, c *walk.Call, _ *word.Scanned) {
	if firstOperand(c) == "" {
		c.Operates("shows all settings")
	}
}

func inspectGitPush(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		text := w.Text
		if !w.Known {
			text = w.Head
		}
		if strings.HasPrefix(text, "+") || strings.HasPrefix(text, ":") && len(text) > 1 {
			c.EffectAt("refspec "+w.Text, w)
		}
	}
	gitURLs(c, s.Operands)
}

func inspectGitFetch(a *walk.Walker, c *walk.Call, s *word.Scanned) { gitURLs(c, s.Operands) }

func inspectGitClone(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	gitURLs(c, s.Operands)
	if n := len(s.Operands); n > 0 {
		dir := s.Operands[n-1]
		if n == 1 {
			dir.Text = strings.TrimSuffix(path.Base(dir.Text), ".git")
		}
		c.Writes = a.Words.File(c.Writes, dir, "git", c.Sc)
	}
}

func inspectGitRemote(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	gitURLs(c, s.Operands)
	inspectGitLoss(a, c, s)
}

// inspectGitCheckout tells paths from branches: with a path, checkout overwrites files. A word that may be either is
// left to callers that can look at the files.
func inspectGitCheckout(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		if isPathspec(w) {
			c.EffectAt("discards changes", w)
		}
	}
	if s.Dashes {
		c.EffectAt("discards changes", word.Lit("--"))
	} else if n := len(s.Operands); n > 1 {
		if _, creates := s.Find("-b", "--orphan", "-t"); !creates {
			c.EffectAt("discards changes", s.Operands[n-1])
		}
	}
}

// isPathspec reports whether a word can only name files to git, because no branch can have that name.
func isPathspec(w word.Word) bool {
	if !w.Known {
		return len(w.Globs) > 0
	}
	return w.Text == "." || word.HasPrefix(w.Text, ":", "./", "../", "/", "~/") || strings.HasSuffix(w.Text, "/") ||
		strings.ContainsAny(w.Text, "*?[")
}

func inspectGitRestore(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	_, staged := s.Find("-S", "--staged")
	if _, worktree := s.Find("-W", "--worktree"); !staged || worktree || s.Unknown != "" || s.Vague != "" {
		c.Operates("discards changes")
	}
}

// gitLosses lists operations that lose something, or change where something goes.
var gitLosses = word.Set("remote/remove remote/rm remote/rename remote/set-url remote/prune remote/add remote/set-head " +
	"remote/set-branches stash/drop stash/clear worktree/remove worktree/prune worktree/move " +
	"reflog/expire reflog/delete notes/remove notes/prune lfs/install lfs/prune lfs/migrate bisect/replay " +
	"bisect/visualize bisect/view")

func inspectGitLoss(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	first := firstOperand(c)
	switch name := c.Argv[1].Text + "/" + first; {
	case gitLosses[name]:
		c.Operates(c.Argv[1].Text + " " + first)
	case (name == "worktree/add" || name == "bundle/create") && len(s.Operands) > 1:
		c.Writes = a.Words.File(c.Writes, s.Operands[1], "git", c.Sc)
	}
}

func inspectGitRef(_ *walk.Walker, c *walk.Call, s *word.Scanned) {
	if len(s.Operands) > 1 {
		c.EffectAt("sets "+s.Operands[0].Text, s.Operands[1])
	}
}

func inspectGitConfig(a *walk.Walker, c *walk.Call, _ *word.Scanned) { gitConfig(a, c, c.Argv[2:]) }

// magic matches the magic that git reads before a path.
var magic = lazyregexp.New(`^:(?:/|\((?:top|glob|icase|,)*\))`)

// inspectGitAdd records what becomes part of the repository, and so goes wherever the repository goes.
func inspectGitAdd(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range s.Operands {
		if p := magic.ReplaceAllString(w.Text, ""); w.Known {
			if strings.Contains(magic.FindString(w.Text), "icase") {
				c.EffectAt("path "+w.Text, w) // rules do not compare names without case
			}
			if strings.ContainsAny(p, "*?[") { // git expands it, and includes hidden names
				if base := path.Base(p); base != "*" && base != "**" {
					for _, name := range []string{".env", ".env.local", ".npmrc", ".netrc", "id_rsa"} {
						if ok, err := path.Match(base, name); ok && err == nil {
							c.Reads = a.Words.File(c.Reads, word.Lit(path.Join(path.Dir(strings.ReplaceAll(p, "*", "x")), name)), "git", c.Sc)
						}
					}
				}
				c.Reads = a.Words.File(c.Reads, word.Word{Text: p, Globs: []string{p}}, "git", c.Sc)
			} else if path.Clean(p) != "." { // for the whole directory git leaves out ignored files
				c.Reads = a.Words.File(c.Reads, word.Lit(p), "git", c.Sc)
			}
		} else if len(w.Globs) > 0 {
			c.Reads = a.Words.File(c.Reads, w, "git", c.Sc)
		}
	}
}

func inspectGitApply(a *walk.Walker, c *walk.Call, s *word.Scanned) { gitApply(a, c, s) }

func inspectGitWrite(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if slices.ContainsFunc(s.Hits, func(h word.Hit) bool { return h.Opt.Does == 'p' }) {
		return // it changes only the index
	}
	for _, w := range s.Operands {
		c.Writes = a.Words.File(c.Writes, w, "git", c.Sc)
	}
}

func inspectGitShow(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	gitPaths(a, c, s.Operands)
	for _, h := range s.Hits {
		if h.Opt.Name == "-L" && h.Has { // lines of a file: 1,5:file, :function:file
			if i := strings.LastIndexByte(h.Value.Text, ':'); i >= 0 || !h.Value.Known {
				a.Reads(c, word.Word{Text: h.Value.Text[i+1:], Known: h.Value.Known})
			}
		}
	}
}

func inspectGitInit(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if len(s.Operands) > 0 {
		c.Writes = a.Words.File(c.Writes, s.Operands[0], "git", c.Sc)
	}
}

// gitURLs records transports that run a program, and addresses that git reads as options.
func gitURLs(c *walk.Call, ops []word.Word) {
	for _, w := range ops {
		text := w.Text
		if !w.Known {
			text = w.Head
		}
		scheme, _, ok := strings.Cut(text, "::")
		if ok && scheme != "" && !strings.ContainsAny(scheme, "/.@") {
			c.EffectAt("transport "+scheme, w)
		}
		if strings.HasPrefix(text, "fd::") || strings.Contains(text, "://-") || strings.Contains(text, "@-") {
			c.EffectAt("address "+text, w)
		}
	}
}

// gitPaths records the files that revision:path operands and plain paths show.
func gitPaths(a *walk.Walker, c *walk.Call, ops []word.Word) {
	for _, w := range ops {
		if !w.Known {
			continue
		}
		_, p, ok := strings.Cut(w.Text, ":")
		if !ok {
			p = w.Text
		}
		for _, prefix := range []string{"(top)", "!", "^"} {
			if ok {
				p = strings.TrimPrefix(p, prefix)
			}
		}
		if p == "" || p == "HEAD" || strings.Contains(p, "..") && !strings.Contains(p, "/") {
			continue
		}
		c.Reads = a.Words.File(c.Reads, word.Lit(p), "git", c.Sc)
	}
}

// harmlessSections lists the sections of git settings that hold no credential.
var harmlessSections = word.Set("user author alias branch color core diff merge pull push fetch init commit advice log status column gui rebase rerere tag stash pager remote submodule init")

// showsSettings records that git config shows several settings, which may include credentials.
func showsSettings(c *walk.Call, args []word.Word, sub string) {
	pattern, many := "", sub == "list"
	for i, w := range args {
		switch {
		case w.Text == "-l" || w.Text == "--list":
			many = true
		case w.Text == "--get-regexp" || w.Text == "--regexp" || strings.HasPrefix(w.Text, "--get-url"):
			many = true
			if i+1 < len(args) && args[i+1].Known {
				pattern = strings.TrimLeft(args[i+1].Text, "^(")
			}
		}
	}
	section := pattern[:len(pattern)-len(strings.TrimLeft(pattern, "abcdefghijklmnopqrstuvwxyz"))]
	if many && (!harmlessSections[section] || strings.Contains(pattern, "|") || word.SecretName(pattern)) {
		c.Effect("shows settings that can hold credentials")
	}
}

// readsConfig reports whether an option makes git config show settings.
func readsConfig(option string) bool {
	return strings.HasPrefix(option, "--get") || option == "-l" || option == "--list"
}

// gitConfig records settings that are written: hooks, filters, aliases and helpers execute later.
func gitConfig(a *walk.Walker, c *walk.Call, args []word.Word) {
	reads, n, sub := false, 0, ""
	for i := 0; i < len(args); i++ {
		w := args[i]
		if !w.Known && !w.Safe() {
			c.Effect("setting " + w.Text)
			return
		}
		switch t := w.Text; {
		case readsConfig(t) || strings.HasPrefix(t, "--show-") && n == 0 && len(args) == 1:
			reads = true
		case configValues[t]:
			if i++; i < len(args) && (t == "-f" || t == "--file") {
				c.Reads = a.Words.File(c.Reads, args[i], "git", c.Sc)
			}
		case t == "-e" || t == "--edit":
			c.Effect("option " + t)
		case t == "--add" || word.HasPrefix(t, "--unset", "--re", "--rename"):
			n += 2
		case strings.HasPrefix(t, "-"):
		default:
			if n == 0 {
				sub = t
			}
			n++
		}
	}
	gitSettings(c, args, sub, n, reads)
}

// gitSettings records what git config does with n words that are no options. reads: an option makes it show settings.
func gitSettings(c *walk.Call, args []word.Word, sub string, n int, reads bool) {
	if reads || sub == "list" || sub == "get" {
		n = 1
	}
	switch n {
	case 0:
	case 1:
		showsSettings(c, args, sub)
	case 2, 3:
		c.Operates("setting " + word.JoinTexts(args))
	default:
		c.Effect("setting")
	}
}

// configValues lists the options of git config that take a value.
var configValues = word.Set("-f --file --blob --type --default --comment")
