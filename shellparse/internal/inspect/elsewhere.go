package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// optionFiles records words that a program replaces by the contents of a file.
func optionFiles(a *walk.Walker, c *walk.Call) {
	if !c.Is(programs.OptionFiles) && !strings.HasPrefix(c.Name, "llvm-") && !programs.Versioned(c.Name) {
		return
	}
	for _, w := range c.Argv[1:] {
		text := w.Text
		if !w.Known {
			text = w.Head
		}
		at := -1
		if strings.HasPrefix(text, "@") {
			at = 0
		} else if i := strings.Index(text, ",@"); i >= 0 { // -Wl,@file
			at = i + 1
		}
		if at < 0 || at+1 >= len(text) && w.Known {
			continue
		}
		c.EffectAt("options from "+w.Text, w)
		if w.Known {
			a.Reads(c, word.Lit(text[at+1:]))
		}
	}
}

// remote reports whether a word names code in another place: an address, or a package of a registry.
func remote(text string) bool {
	return strings.Contains(text, "://") || word.HasPrefix(text, "npm:", "jsr:", "git+", "github:", "gist:", "data:")
}

// remoteCode records programs that are fetched from elsewhere and run.
func remoteCode(c *walk.Call) {
	switch c.Name {
	case "mvn", "./mvnw", "mvnw":
		for _, w := range c.Argv[1:] {
			if !strings.HasPrefix(w.Text, "-") && strings.Count(w.Text, ":") > 1 {
				c.EffectAt("plugin "+w.Text, w)
			}
		}
		return
	case "pre-commit":
		if len(c.Argv) > 1 && word.HasPrefix(c.Argv[1].Text, "try-repo", "autoupdate") {
			c.Effect("hooks " + word.JoinTexts(c.Argv[1:]))
		}
		return
	case "bazel", "bazelisk", "buck2":
		for _, w := range c.Argv[1:] {
			if strings.HasPrefix(w.Text, "@") && !word.HasPrefix(w.Text, "@//", "@@//") {
				c.Operates("package " + w.Text)
			}
		}
		return
	}
	if !c.Is(programs.RunsAddresses) {
		return
	}
	for _, w := range c.Argv[1:] {
		text := w.Text
		if !w.Known {
			text = w.Head
		}
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if remote(text) {
			c.EffectAt("remote code "+w.Text, w)
			return
		}
	}
}

// passedOn inspects the words after -- as words of the program that receives them.
func passedOn(a *walk.Walker, c *walk.Call) {
	passes := c.Facts().Passes
	if len(c.Argv) > 1 && len(passes) == 0 {
		passes = programs.Find(c.Name, c.Argv[1].Text).Passes
	}
	if len(passes) == 0 {
		return
	}
	at := 1
	for ; at < len(c.Argv); at++ {
		if c.Argv[at].Known && c.Argv[at].Text == "--" {
			break
		}
	}
	if at+1 >= len(c.Argv) {
		return
	}
	for _, p := range passes {
		name, sub, has := strings.Cut(p, ":")
		argv := []word.Word{word.Lit(name)}
		if has {
			argv = append(argv, word.Lit(sub))
		}
		inspectAs(a, c, append(argv, c.Argv[at+1:]...), word.JoinTexts(c.Argv[:at]))
	}
}

// installed inspects a program in a folder that a package manager fills, and a program that such a manager runs, like
// the program of that name. It may be another program, so the findings add to what holds for every path.
func installed(a *walk.Walker, c *walk.Call) {
	if name := programs.Installed(c.Name); name != "" {
		inspectAs(a, c, append([]word.Word{word.Lit(name)}, c.Argv[1:]...), c.Name)
		if programs.Find(programs.Canonical(name)).Handler == "module" {
			runModule(a, c)
		}
	}
	if len(c.Argv) > 1 && c.Argv[1].Known && programs.RunsTool(c.Name, c.Argv[1].Text) {
		inspectAs(a, c, c.Argv[1:], c.Name)
	}
}

// inspectAs inspects argv and adds its effects and files to c.
func inspectAs(a *walk.Walker, c *walk.Call, argv []word.Word, via string) {
	inner := c.Inner(argv, via)
	inner.Name, inner.Sc.Effects, inner.Sc.Dirs = argv[0].Text, nil, c.Sc.Dirs
	inner.Reads, inner.Writes, inner.Outer = nil, nil, nil
	Inspect(a, inner)
	for _, e := range inner.Effects {
		c.Effect(e.Text)
	}
	for _, f := range inner.Writes {
		c.Writes = a.Words.Note(c.Writes, f)
	}
	for _, f := range inner.Reads {
		c.Reads = a.Words.Note(c.Reads, f)
	}
}
