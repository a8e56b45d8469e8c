package inspect

import (
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// apply records what an option of a wrapper or program does.
func apply(a *walk.Walker, h word.Hit, c *walk.Call) {
	if h.Opt == word.Unlisted {
		if !c.Is(programs.PackageManager) && leadsOut(a, c, h.Value) { // a package manager passes it to a script of the project
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
		mayDo(a, c, h.Name, h.Value)
		return
	}
	if h.Opt.Does == 'l' && !h.Has {
		c.Effect("files that its input lists")
		return
	}
	if h.Has && applyFile(a, h, c) {
		return
	}
	switch h.Opt.Does {
	case 'x', '!':
		if h.Opt.Arg != programs.Needed || h.Has {
			c.EffectOf("option "+h.Name, h)
		}
	case 'U':
		if h.Has {
			a.Reads(c, h.Value)
		}
		c.EffectOf("option "+h.Name, h)
	case 'F':
		c.EffectOf("option "+h.Name, h)
	case 'd':
		chdir(a, h.Value, c)
	case 'u':
		upload(a, h, c)
	case 'D':
		property(a, h, c)
	case 'k':
		gitSetting(a, h.Value, c)
	default:
		if hides := hiding[h.Opt.Does]; hides != nil && hides(a, h, c) {
			c.EffectOf("option "+h.Name+" "+h.Value.Text, h)
		}
	}
}

// property records a property passed to a build.
func property(a *walk.Walker, h word.Hit, c *walk.Call) {
	name, _, _ := strings.Cut(h.Value.Text, "=")
	_, address, elsewhere := strings.Cut(h.Value.Text, "://")
	if !h.Value.Known || !harmlessProperty(h.Value.Text) || leadsOut(a, c, h.Value) || elsewhere && !own.MatchString(address) {
		c.EffectOf("option "+h.Name+name, h)
	}
	mayWrite(a, c, name, h.Value)
}

// hiding maps what an option does to a check whether its value has an effect that a rule must name by the words up to
// it.
var hiding = map[byte]func(a *walk.Walker, h word.Hit, c *walk.Call) bool{
	'f': func(_ *walk.Walker, h word.Hit, _ *walk.Call) bool {
		return h.Has && (!h.Value.Known || strings.ContainsAny(h.Value.Text, "./\\"))
	},
	'z': func(_ *walk.Walker, h word.Hit, c *walk.Call) bool {
		return h.Has && !plainLinking(h.Value, len(c.Argv) > 1 && c.Name == "go" && c.Argv[1].Text == "build")
	},
	'P': func(_ *walk.Walker, h word.Hit, _ *walk.Call) bool {
		return !h.Value.Known || !strings.HasPrefix(h.Value.Text, "no:")
	},
	'X': func(_ *walk.Walker, h word.Hit, _ *walk.Call) bool {
		method := strings.ToUpper(h.Value.Text)
		return !h.Value.Known || method != "GET" && method != "HEAD"
	},
	'o': func(a *walk.Walker, h word.Hit, c *walk.Call) bool {
		v := h.Value
		fetched := h.Opt != word.Unlisted && fromElsewhere(v.Text)
		return h.Has && (!v.Known || v.Text == "-" || fetched || leadsOut(a, c, v))
	},
	'v': func(a *walk.Walker, h word.Hit, c *walk.Call) bool {
		name, value, _ := strings.Cut(h.Value.Text, "=")
		return a.Words.EnvEffect(name, h.Value) != "" || !h.Value.Known || strings.Contains(value, "://") || leadsOut(a, c, word.Lit(value))
	},
	'R': func(_ *walk.Walker, h word.Hit, _ *walk.Call) bool {
		return h.Has && (!h.Value.Known || !revision.MatchString(h.Value.Text))
	},
	'g': func(_ *walk.Walker, h word.Hit, _ *walk.Call) bool {
		return !h.Value.Known || h.Value.Text != ".git" && h.Value.Text != "."
	},
}

// repository matches a remote repository as git and Docker spell it without a scheme.
var repository = lazyregexp.New(`^(?:[\w.-]+@[\w.-]+:|[\w-]+(?:\.[\w-]+)+:[^/].*(?:/|\.git)|github\.com/)`)

// revision matches a revision that contains nothing special to a shell.
var revision = lazyregexp.New(`^[\w./~^@{}-]*$`)

// fromElsewhere reports whether a text is the address of something on another machine.
func fromElsewhere(text string) bool {
	return strings.Contains(text, "://") || repository.MatchString(text)
}

// applyFile records what an option does with the file or text in its value. It returns false for other options.
func applyFile(a *walk.Walker, h word.Hit, c *walk.Call) bool {
	switch h.Opt.Does {
	case 'w', 't', 'e':
		if h.Opt.Does == 'e' && !(h.Value.Known && generated(a, c, h.Value.Text)) {
			c.EffectOf("empties "+h.Value.Text, h)
		}
		if h.Opt.Does == 'w' && h.Value.Known && strings.HasPrefix(h.Value.Text, "|") {
			c.EffectOf("option "+h.Name, h)
		}
		a.Writes(c, h.Value)
	case 'W':
		for part := range strings.SplitSeq(h.Value.Text, ",") {
			i := strings.IndexAny(part, ":=")
			if !h.Value.Known || i >= 0 {
				a.Writes(c, word.Word{Text: part[i+1:], Known: h.Value.Known})
			} else if strings.Contains(part, ".") { // a class in a module
				c.EffectOf("option "+h.Name+" "+part, h)
			}
		}
	case 'r':
		a.Reads(c, h.Value)
	case 'l':
		a.Reads(c, h.Value)
		c.EffectOf("files that "+h.Value.Text+" lists", h)
	case 's':
		inner := c.Child(c.Argv, c.Name+" "+h.Name)
		a.Words.Fresh(func() { a.RunWords(inner, []word.Word{h.Value}) })
	default:
		return false
	}
	return true
}

// upload records the file that an argument like @file, name=@file or name=<file names.
func upload(a *walk.Walker, h word.Hit, c *walk.Call) {
	if !h.Has {
		c.EffectOf("option "+h.Name, h)
		return
	}
	v := h.Value.Text
	i := strings.IndexByte(v, '@')
	eq := strings.IndexByte(v, '=')
	switch {
	case !h.Value.Known && h.Value.Head == "":
		c.EffectOf("option "+h.Name+" "+v, h)
	case i == 0, (h.Name == "--data-urlencode" || h.Name == "--url-query") && i > 0 && eq < 0, i > 0 && eq == i-1:
		a.Reads(c, word.Word{Text: v[i+1:], Known: h.Value.Known})
		c.EffectOf("option "+h.Name+" "+v, h)
	case strings.Contains(v, "=<"):
		a.Reads(c, word.Word{Text: v[eq+2:], Known: h.Value.Known})
		c.EffectOf("option "+h.Name+" "+v, h)
	case (h.Name == "-b" || h.Name == "--cookie") && eq < 0:
		a.Reads(c, h.Value)
	}
}

// chdir moves a call to another directory.
func chdir(a *walk.Walker, w word.Word, c *walk.Call) {
	if !w.Known {
		if len(w.Globs) > 0 {
			c.Sc.EnterAny(w.Globs)
		} else {
			c.Sc.Stray()
		}
		if c.Sc.Anywhere || a.Outside(c.Sc.Within) {
			c.Effect("directory " + w.Text)
		}
		return
	}
	if word.PassesUp(w.Text) {
		c.Effect("directory " + w.Text)
	}
	c.Sc.Enter(w.Text)
	c.Sc.Base = c.Sc.Dirs
}
