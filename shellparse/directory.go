package shellparse

import (
	"path"
	"slices"
	"strings"
)

// cdOptions do not say where to.
var cdOptions = map[string]bool{"-P": true, "-L": true, "-e": true, "--": true, "-q": true}

// runCd follows a change of directory. One that stays below the start needs no rule.
func runCd(a *analysis, c *call) bool {
	words := c.argv[1:]
	for len(words) > 0 && words[0].known && cdOptions[words[0].text] {
		words = words[1:]
	}
	outer := c.outer
	if outer == nil {
		outer = &scope{}
	}
	before := outer.dirs
	outer.astray = outer.astray || outer.lost
	switch {
	case c.name == "popd" || len(words) > 1:
		outer.lost = true
	case len(words) == 0 && (a.home == "" || c.name != "cd"):
		outer.lost = true
	case len(words) == 0:
		outer.dirs = []string{clean(a.home)}
	case !words[0].known:
		outer.lost = true
		if strings.HasPrefix(words[0].text, "~") {
			outer.dirs = []string{words[0].text}
		}
	case words[0].text == "-" || strings.HasPrefix(words[0].text, "+") || words[0].text == "":
		outer.lost = true
	default:
		outer.enter(words[0].text)
		outer.lost = outer.lost || a.assigned["CDPATH"]
	}
	outer.failed = outer.union(outer.failed, before)
	a.followed(c, outer)
	return false
}

// followed notes whether a change of directory needs a rule.
func (a *analysis) followed(c *call, outer *scope) {
	if len(c.writes)+len(c.reads)+len(c.effects)+len(c.sc.effects)+len(c.sc.via) == 0 && !outer.lost && !a.outside(outer.dirs) {
		c.sc.denyOnly = true
	}
}

// follow takes over the directory of a scope that ran in the same shell.
func (sc *scope) follow(inner *scope) {
	sc.dirs, sc.failed, sc.lost, sc.astray = inner.dirs, inner.failed, inner.lost, inner.astray
}

// enter moves the scope to a directory.
func (sc *scope) enter(p string) {
	dirs := joinDirs(sc.dirs, p)
	for _, d := range dirs {
		if len(d) > maxDirPath {
			sc.lost = true
			return
		}
	}
	sc.dirs = dirs
	if path.IsAbs(p) {
		sc.lost = false
	}
}

// union adds the directories of y to x. Each cd that may have failed doubles them, so that over a cap the
// directory counts as not known.
func (sc *scope) union(x, y []string) []string {
	for _, d := range y {
		if slices.Contains(x, d) {
			continue
		}
		if len(x) >= maxDirs {
			sc.lost = true
			break
		}
		x = append(slices.Clip(x), d)
	}
	return x
}

// outside says that one of the directories is certainly or possibly not below the start.
func (a *analysis) outside(dirs []string) bool {
	root := clean(a.start)
	for _, d := range dirs {
		switch {
		case strings.HasPrefix(d, "/"):
			if root == "" || d != root && !beneath(d, strings.TrimSuffix(root, "/")) {
				return true
			}
		case d == ".." || strings.HasPrefix(d, "../") || strings.HasPrefix(d, "~"):
			return true
		}
	}
	return false
}

// beneath says that a path is below a folder, which ends without a slash.
func beneath(p, folder string) bool {
	return len(p) > len(folder) && p[len(folder)] == '/' && p[:len(folder)] == folder
}

