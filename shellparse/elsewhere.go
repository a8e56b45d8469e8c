package shellparse

import (
	"strings"

	"callgate/shellparse/programs"
)

// optionFiles notes words that a program replaces by what a file holds.
func (a *analysis) optionFiles(c *call) {
	if !c.is(programs.OptionFiles) && !strings.HasPrefix(c.name, "llvm-") && !versioned(c.name) {
		return
	}
	for _, w := range c.argv[1:] {
		text := w.text
		if !w.known {
			text = w.head
		}
		at := -1
		if strings.HasPrefix(text, "@") {
			at = 0
		} else if i := strings.Index(text, ",@"); i >= 0 { // -Wl,@file
			at = i + 1
		}
		if at < 0 || at+1 >= len(text) && w.known {
			continue
		}
		c.effectAt("options from "+w.text, w)
		if w.known {
			a.reads(c, lit(text[at+1:]))
		}
	}
}

// versioned says that a name is a program that reads option files, with a version or a target before or behind it: gcc-12,
// aarch64-linux-gnu-gcc.
func versioned(name string) bool {
	head, tail := strings.LastIndexByte(name, '-'), strings.IndexByte(name, '-')
	if head < 0 {
		return false
	}
	if strings.Trim(name[head+1:], "0123456789.") == "" {
		name = name[:head]
		if programs.Find(name).Has(programs.OptionFiles) {
			return true
		}
		head = strings.LastIndexByte(name, '-')
	}
	return tail > 0 && head >= 0 && programs.Find(name[head+1:]).Has(programs.OptionFiles)
}

// remote says that a word names code in another place: an address, or a package of a registry.
func remote(text string) bool {
	return strings.Contains(text, "://") || hasPrefix(text, "npm:", "jsr:", "git+", "github:", "gist:", "data:")
}

// remoteCode notes programs that are fetched from elsewhere and run.
func (a *analysis) remoteCode(c *call) {
	switch c.name {
	case "mvn", "./mvnw", "mvnw":
		for _, w := range c.argv[1:] {
			if !strings.HasPrefix(w.text, "-") && strings.Count(w.text, ":") > 1 {
				c.effectAt("plugin "+w.text, w)
			}
		}
		return
	case "pre-commit":
		if len(c.argv) > 1 && hasPrefix(c.argv[1].text, "try-repo", "autoupdate") {
			c.effect("hooks " + texts(c.argv[1:]))
		}
		return
	case "bazel", "bazelisk", "buck2":
		for _, w := range c.argv[1:] {
			if strings.HasPrefix(w.text, "@") && !hasPrefix(w.text, "@//", "@@//") {
				c.operates("package " + w.text)
			}
		}
		return
	}
	if !c.is(programs.RunsAddresses) {
		return
	}
	for _, w := range c.argv[1:] {
		text := w.text
		if !w.known {
			text = w.head
		}
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if remote(text) {
			c.effectAt("remote code "+w.text, w)
			return
		}
	}
}

// passedOn looks at the words behind -- as at those of the program that gets them.
func (a *analysis) passedOn(c *call) {
	passes := c.facts().Passes
	if len(passes) == 0 {
		return
	}
	at := 1
	for ; at < len(c.argv); at++ {
		if c.argv[at].known && c.argv[at].text == "--" {
			break
		}
	}
	if at+1 >= len(c.argv) {
		return
	}
	for _, p := range passes {
		inner := c.inner(append([]word{lit(p)}, c.argv[at+1:]...), texts(c.argv[:at]))
		inner.name, inner.sc.effects, inner.sc.dirs = p, nil, c.sc.dirs
		inner.reads, inner.writes, inner.outer = nil, nil, nil
		inspect(a, inner)
		for _, e := range inner.effects {
			c.effect(e.Text)
		}
		for _, f := range inner.writes {
			c.writes = a.note(c.writes, f)
		}
		for _, f := range inner.reads {
			c.reads = a.note(c.reads, f)
		}
	}
}
