package word

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/script"
)

// JoinDirs returns the directories that p leads to from each of dirs, without repeats.
func JoinDirs(dirs []string, p string) []string {
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

// Follow takes over the directories of a scope that ran in the same shell.
func (sc *Scope) Follow(inner *Scope) {
	sc.Dirs, sc.Failed, sc.Lost, sc.Astray = inner.Dirs, inner.Failed, inner.Lost, inner.Astray
	sc.Within, sc.Anywhere, sc.Old, sc.Stack, sc.Base = inner.Within, inner.Anywhere, inner.Old, inner.Stack, inner.Base
}

// SamePlace reports whether both scopes are in the same directories.
func (sc *Scope) SamePlace(other *Scope) bool {
	return slices.Equal(sc.Dirs, other.Dirs) && slices.Equal(sc.Within, other.Within) && sc.Lost == other.Lost && sc.Anywhere == other.Anywhere
}

// Enter moves the scope to a directory.
func (sc *Scope) Enter(p string) {
	dirs := JoinDirs(sc.Dirs, p)
	for _, d := range dirs {
		if len(d) > maxDirPath {
			sc.Stray()
			return
		}
	}
	above := sc.Base != nil && sc.aboveBase(path.Clean(p))
	sc.Dirs = dirs
	if path.IsAbs(p) {
		sc.Lost, sc.Within, sc.Anywhere, sc.Base = false, nil, false, nil
		return
	}
	if above {
		sc.Stray()
		return
	}
	within := make([]string, 0, len(sc.Within))
	for _, w := range sc.Within {
		if climbs(w + "/" + literal(p)) {
			sc.Stray()
			return
		}
		within = append(within, path.Join(w, literal(p)))
	}
	sc.Within = within
}

// aboveBase reports whether a clean path goes up from a directory to one that is not below those of Base.
func (sc *Scope) aboveBase(p string) bool {
	up := p[:len(p)-len(strings.TrimLeft(p, "./"))]
	return slices.ContainsFunc(JoinDirs(sc.Dirs, up), func(dir string) bool {
		return !slices.ContainsFunc(sc.Base, func(b string) bool {
			return dir == b || b == "." && !HasPrefix(dir+"/", "../", "/") || strings.HasPrefix(dir, strings.TrimSuffix(b, "/")+"/")
		})
	})
}

// PassesUp reports whether a path goes up from a folder that it names, which can be a link.
func PassesUp(p string) bool {
	named := false
	for s := range strings.SplitSeq(p, "/") {
		if s == ".." && named {
			return true
		}
		named = named || s != "" && s != "." && s != ".."
	}
	return false
}

// Lose records that the scope may be in any directory that the text has gone through.
func (sc *Scope) Lose() {
	sc.Lost, sc.Anywhere, sc.Within = true, sc.Anywhere || len(sc.Within) > 0, nil
	sc.Old, sc.Stack = nil, nil
}

// Stray records that the directory of the scope depends on the run.
func (sc *Scope) Stray() {
	sc.Lose()
	sc.Anywhere = true
}

// Return moves the scope to directories that it was in.
func (sc *Scope) Return(dirs []string) {
	sc.Dirs, sc.Lost, sc.Within, sc.Anywhere = dirs, false, nil, false
}

// EnterAny moves the scope to a directory that matches one of the patterns. No pattern means any directory.
func (sc *Scope) EnterAny(globs []string) {
	if len(globs) == 0 {
		sc.Stray()
		return
	}
	var within []string
	for _, g := range globs {
		switch {
		case climbs(g):
			sc.Stray()
			return
		case path.IsAbs(g):
			within = append(within, path.Clean(g))
			continue
		case sc.Lost && len(sc.Within) == 0, len(within) > maxDirs: // below an unknown directory
			sc.Anywhere = true
		}
		for _, d := range sc.Dirs {
			within = append(within, path.Join(literal(d), g))
		}
		for _, d := range sc.Within {
			within = append(within, path.Join(d, g))
		}
	}
	sc.Lost, sc.Within = true, within
	if sc.Anywhere {
		sc.Within = nil
	}
}

// Union adds the directories of y to x. Each cd that may have failed doubles them; above a limit the directory is
// unknown.
func (sc *Scope) Union(x, y []string) []string {
	for _, d := range y {
		if slices.Contains(x, d) {
			continue
		}
		if len(x) >= maxDirs {
			sc.Stray()
			break
		}
		x = append(slices.Clip(x), d)
	}
	return x
}

// FailsAt records where the scope is if what changed the directory did not run or failed: where it was before.
func (sc *Scope) FailsAt(before *Scope) {
	if !sc.SamePlace(before) || !slices.Equal(sc.Old, before.Old) || !slices.EqualFunc(sc.Stack, before.Stack, slices.Equal) {
		sc.Astray = sc.Astray || before.Lost || before.Astray
		sc.Anywhere = sc.Anywhere || before.Anywhere
		sc.Failed = sc.Union(sc.Union(sc.Failed, before.Dirs), before.Failed)
	}
}

// OrAt records that the scope may still be where it was before: what changed the directory may not have run.
func (sc *Scope) OrAt(before *Scope) {
	sc.FailsAt(before)
	sc.SettleDirs()
}

var Here = []string{"."}

// Limits on the directories of a scope.
const (
	maxDirs    = 16   // directories that a command may run in, depending on which cd failed
	maxDirPath = 4096 // bytes of one path
)

// Scope describes where a piece of text runs.
type Scope struct {
	Src   string // the text that syntax positions refer to
	Raw   string // source of the outermost simple command, "" outside one
	Via   []string
	Env   []script.Assignment
	Depth int

	Effects   []script.Effect
	Escalates bool
	DenyOnly  bool
	Remote    bool // on another machine, or in a container

	Dirs   []string // where it may run; nil when unknown
	Failed []string // directories if the cd before it failed
	Lost   bool     // the directory is unknown
	Astray bool     // it is unknown if the cd before it failed

	Within   []string // patterns of the possible directories besides Dirs, if Lost
	Anywhere bool     // it may also be a directory that neither Dirs nor Within names

	Base  []string   // the directories above which .. leads elsewhere if they are links; nil if it leads where their names say
	Old   []string   // where cd - leads; nil if that is not certain
	Stack [][]string // where each popd leads, the next one last; nil if that is not certain

	Testing bool // inside [[ ]]

	Sure  bool // it certainly runs exactly once, in the shell of the text
	Start bool // it is the text itself, not a string within it
	// Concludes means that the text succeeds only if the command does.
	Concludes bool
	Bounded   bool   // head stands after it in the pipe, and stops it
	Input     *Input // never nil
}

// Input describes the standard input of a command. Scopes share an Input, so it MUST NOT be changed.
type Input struct {
	Kind    inputKind
	Text    Word // the text, for InputText and InputPipe if known
	Certain bool // it is an InputPipe wherever the command runs
	List    Word // the files whose names it lists, one or several per line
}

var NoInput = new(Input)

type inputKind uint8

const (
	InputNone inputKind = iota // the terminal, or what the text was given
	InputPipe
	InputFile
	InputText
)

// Text returns the source text of a node.
func (sc *Scope) Text(n syntax.Node) string {
	lo, hi := int(n.Pos().Offset()), int(n.End().Offset())
	if lo > hi || hi > len(sc.Src) {
		return ""
	}
	return sc.Src[lo:hi]
}

// SettleDirs ends the part of a list in which the last cd is known to have succeeded.
func (sc *Scope) SettleDirs() {
	if sc.Astray {
		sc.Lose()
		sc.Astray = false
	}
	if len(sc.Failed) > 0 {
		sc.Dirs = sc.Union(sc.Dirs, sc.Failed)
		sc.Failed, sc.Old, sc.Stack = nil, nil, nil
	}
}

// Dir returns the only directory that the scope can run in, or "" if it is not certain.
func (sc *Scope) Dir() string {
	if sc.Lost || len(sc.Dirs) != 1 {
		return ""
	}
	return sc.Dirs[0]
}
