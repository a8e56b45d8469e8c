package shellparse

import (
	"callgate/shellparse/programs"
	"path"
	"slices"
	"strings"
)

// apply notes what an option of a wrapper or program does.
func (a *analysis) apply(h hit, c *call) {
	switch h.opt.Does {
	case 'x', '!':
		if h.opt.Arg != programs.Needed || h.has {
			c.effectOf("option "+h.name, h)
		}
	case 'w':
		if h.has {
			if h.value.known && strings.HasPrefix(h.value.text, "|") {
				c.effectOf("option "+h.name, h)
			}
			c.writes = a.file(c.writes, h.value, c.name, c.sc)
		}
	case 't':
		if h.has {
			c.writes = a.file(c.writes, h.value, c.name, c.sc)
		}
	case 'r':
		if h.has {
			c.reads = a.file(c.reads, h.value, c.name, c.sc)
		}
	case 'l':
		if h.has {
			c.reads = a.file(c.reads, h.value, c.name, c.sc)
			c.effectOf("files that "+h.value.text+" lists", h)
		}
	case 'd':
		a.chdir(h.value, c)
	case 'u':
		a.upload(h, c)
	case 'f':
		if h.has && (!h.value.known || strings.ContainsAny(h.value.text, "./\\")) {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	case 'P':
		if !h.value.known || !strings.HasPrefix(h.value.text, "no:") {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	case 'X':
		if v := strings.ToUpper(h.value.text); !h.value.known || v != "GET" && v != "HEAD" {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	case 'F':
		c.effectOf("option "+h.name, h)
	case 'o':
		if h.has && (!h.value.known || h.value.text == "-" || a.outside(joinDirs(c.sc.dirs, h.value.text))) {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	case 'D':
		name, _, _ := strings.Cut(h.value.text, "=")
		if !h.value.known || !harmlessProperty(name) {
			c.effectOf("option "+h.name+name, h)
		}
	case 'v':
		if e := a.tables.envEffect(strings.SplitN(h.value.text, "=", 2)[0], h.value); !h.value.known || e != "" {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	case 'k':
		a.gitSetting(h.value, c)
	case 'g':
		if !h.value.known || h.value.text != ".git" && h.value.text != "." {
			c.effectOf("option "+h.name+" "+h.value.text, h)
		}
	case 's':
		if !h.has {
			break
		}
		inner := c.inner(c.argv, c.name+" "+h.name)
		inner.reads, inner.writes, inner.outer = nil, nil, nil
		a.fresh(func() { a.scriptWords(inner, []word{h.value}) })
	}
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
		c.reads = a.file(c.reads, word{text: v[i+1:], known: h.value.known}, c.name, c.sc)
		c.effectOf("option "+h.name+" "+v, h)
	case strings.Contains(v, "=<"):
		c.reads = a.file(c.reads, word{text: v[eq+2:], known: h.value.known}, c.name, c.sc)
		c.effectOf("option "+h.name+" "+v, h)
	case (h.name == "-b" || h.name == "--cookie") && eq < 0:
		c.reads = a.file(c.reads, h.value, c.name, c.sc)
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
