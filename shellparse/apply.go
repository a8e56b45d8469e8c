package shellparse

import (
	"path"
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// apply notes what an option of a wrapper or program does.
func (a *analysis) apply(h hit, c *call) {
	if h.has && a.applyFile(h, c) {
		return
	}
	switch h.opt.Does {
	case 'x', '!':
		if h.opt.Arg != programs.Needed || h.has {
			c.effectOf("option "+h.name, h)
		}
	case 'U':
		if h.has {
			a.reads(c, h.value)
		}
		c.effectOf("option "+h.name, h)
	case 'F':
		c.effectOf("option "+h.name, h)
	case 'd':
		a.chdir(h.value, c)
	case 'u':
		a.upload(h, c)
	case 'D':
		name, _, _ := strings.Cut(h.value.text, "=")
		if !h.value.known || !harmlessProperty(name) {
			c.effectOf("option "+h.name+name, h)
		}
	case 'k':
		a.gitSetting(h.value, c)
	default:
		if a.hides(h, c) {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	}
}

// hides reports whether the value of an option has an effect that a rule has to name with the words up to it.
func (a *analysis) hides(h hit, c *call) bool {
	v := h.value
	switch h.opt.Does {
	case 'f':
		return h.has && (!v.known || strings.ContainsAny(v.text, "./\\"))
	case 'P':
		return !v.known || !strings.HasPrefix(v.text, "no:")
	case 'X':
		method := strings.ToUpper(v.text)
		return !v.known || method != "GET" && method != "HEAD"
	case 'o':
		return h.has && (!v.known || v.text == "-" || a.outside(joinDirs(c.sc.dirs, v.text)))
	case 'v':
		return a.envEffect(strings.SplitN(v.text, "=", 2)[0], v) != "" || !v.known
	case 'g':
		return !v.known || v.text != ".git" && v.text != "."
	}
	return false
}

// applyFile notes what an option does with the file or the text that its value is, and is false for other options.
func (a *analysis) applyFile(h hit, c *call) bool {
	switch h.opt.Does {
	case 'w', 't':
		if h.opt.Does == 'w' && h.value.known && strings.HasPrefix(h.value.text, "|") {
			c.effectOf("option "+h.name, h)
		}
		a.writes(c, h.value)
	case 'r':
		a.reads(c, h.value)
	case 'l':
		a.reads(c, h.value)
		c.effectOf("files that "+h.value.text+" lists", h)
	case 's':
		inner := c.child(c.argv, c.name+" "+h.name)
		a.fresh(func() { a.scriptWords(inner, []word{h.value}) })
	default:
		return false
	}
	return true
}

// upload notes the file that an argument like @file, name=@file or name=<file names.
func (a *analysis) upload(h hit, c *call) {
	if !h.has {
		c.effectOf("option "+h.name, h)
		return
	}
	v := h.value.text
	i := strings.IndexByte(v, '@')
	eq := strings.IndexByte(v, '=')
	switch {
	case !h.value.known && h.value.head == "":
		c.effectOf("option "+h.name+" "+v, h)
	case i == 0, h.name == "--data-urlencode" && i > 0 && eq < 0, i > 0 && eq == i-1:
		a.reads(c, word{text: v[i+1:], known: h.value.known})
		c.effectOf("option "+h.name+" "+v, h)
	case strings.Contains(v, "=<"):
		a.reads(c, word{text: v[eq+2:], known: h.value.known})
		c.effectOf("option "+h.name+" "+v, h)
	case (h.name == "-b" || h.name == "--cookie") && eq < 0:
		a.reads(c, h.value)
	}
}

// chdir moves a call to another directory.
func (a *analysis) chdir(w word, c *call) {
	if !w.known {
		c.sc.lost = true
		c.effect("directory " + w.text)
		return
	}
	c.sc.enter(w.text)
}

func joinDirs(dirs []string, p string) []string {
	if path.IsAbs(p) {
		return []string{path.Clean(p)}
	}
	out := make([]string, 0, len(dirs))
	for _, d := range dirs {
		if j := path.Join(d, p); !slices.Contains(out, j) {
			out = append(out, j)
		}
	}
	return out
}
