package tools

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/internal/lazyregexp"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// Wipe is a folder or file that a call may make useless as a whole.
type Wipe struct {
	Path string // absolute where that is known
	How  Loss
}

// Loss says what happens to what is wiped.
type Loss uint8

const (
	Removed Loss = iota // or overwritten
	Moved               // to another place
	Closed              // its permissions or owners are changed, with all that is in it
	Cleaned             // what its repository does not track is removed
	Told                // a folder whose name a command prints while the call runs is removed or overwritten; Path is the word
	Listed              // folders in a list that no word of the call shows are removed; Path is "*"
)

// wipes notes what one command of the shell text whole wipes.
func (b *wiper) wipes(c *shellparse.Command, whole string) {
	if len(c.Argv) == 0 {
		return
	}
	about := commands.Known(strings.TrimSuffix(strings.ToLower(path.Base(c.Argv[0].Value)), ".exe"))
	wipes := about.Wipes
	if wipes == "" && len(c.Argv) > 1 {
		wipes = programs.Find(about.Name, c.Argv[1].Value).Wipes
	}
	switch wipes {
	case "removed", "asked", "files":
		b.wipesRemoved(c, whole)
	case "closed":
		b.wipesClosed(c, whole)
	case "listed":
		b.listsFor(c, whole)
	case "found", "matched":
		b.wipesFound(c, whole, wipes == "matched")
	case "moved":
		b.wipesMoved(c, whole)
	case "synced":
		b.wipesSynced(c, whole)
	case "untracked":
		b.wipesUntracked(c, whole)
	}
}

// wipesRemoved reads the operands of a program that removes or overwrites what it is given.
func (b *wiper) wipesRemoved(c *shellparse.Command, whole string) {
	if len(c.Via) > 0 && slices.ContainsFunc(c.Argv[1:], func(w shellparse.Word) bool { return w.Value == "{}" }) &&
		slices.ContainsFunc(c.Argv[1:], func(w shellparse.Word) bool {
			return commands.IsBundle(w.Value) && strings.ContainsAny(w.Value, "rR") || w.Value == "--recursive"
		}) &&
		!slices.ContainsFunc(b.record.out.Commands, func(before CommandView) bool {
			return commands.Known(path.Base(before.Argv[0])).Has(programs.ListsNames)
		}) {
		b.files.wipe(Listed, "*")
	}
	if len(c.Via) > 0 && strings.HasPrefix(c.Via[len(c.Via)-1], "alias ") {
		b.wipesArguments(c, whole, Removed)
	}
	for _, f := range c.Writes {
		if f.By != "redirect" {
			b.wipesFile(c, f.Path, f.Pattern, whole, Removed)
		}
	}
	if len(c.Writes) == 0 {
		for _, w := range commands.Operands(c) {
			b.wipesFile(c, w, "", whole, Removed)
		}
	}
}

// wipesMoved reads the sources of mv.
func (b *wiper) wipesMoved(c *shellparse.Command, whole string) {
	for _, f := range c.Reads {
		if f.By != "redirect" {
			b.wipesFile(c, f.Path, f.Pattern, whole, Moved)
		}
	}
}

// wipesClosed reads the operands of a program that changes permissions in whole trees.
func (b *wiper) wipesClosed(c *shellparse.Command, whole string) {
	if !slices.ContainsFunc(c.Argv[1:], func(w shellparse.Word) bool {
		return commands.IsBundle(w.Value) && strings.ContainsAny(w.Value, "Rr") || strings.HasPrefix(w.Value, "--rec") || strings.EqualFold(w.Value, "/t") || strings.EqualFold(w.Value, "/r")
	}) {
		return
	}
	for _, f := range c.Writes {
		b.wipesFile(c, f.Path, f.Pattern, whole, Closed)
	}
	if len(c.Writes) == 0 {
		for _, w := range commands.Operands(c) {
			b.wipesFile(c, w, "", whole, Closed)
		}
	}
}

// wipesSynced reads the destination of an rsync that removes there what the source does not have, and the sources of
// one that removes what it has sent.
func (b *wiper) wipesSynced(c *shellparse.Command, whole string) {
	words := commands.Operands(c)
	for _, w := range c.Argv {
		switch {
		case len(words) == 0:
		case strings.HasPrefix(w.Value, "--del"):
			b.wipesFile(c, words[len(words)-1], "", whole, Removed)
		case strings.HasPrefix(w.Value, "--remove-s"):
			for _, source := range words[:len(words)-1] {
				b.wipesFile(c, source, "", whole, Removed)
			}
		}
	}
}

// wipesUntracked reads where git clean would run.
func (b *wiper) wipesUntracked(c *shellparse.Command, whole string) {
	named, force := commands.Cleans(c.Argv[2:])
	if !force {
		return
	}
	dir := "."
	for i, w := range c.Globals {
		if w.Value == "-C" && i+1 < len(c.Globals) {
			dir = c.Globals[i+1].Value
		}
	}
	if len(named) == 0 {
		named = []shellparse.Word{{Value: ".", Known: true}}
	}
	for _, w := range named {
		if w.Known && !filepath.IsAbs(w.Value) && !strings.HasPrefix(w.Value, "~") {
			w.Value = filepath.Join(dir, strings.TrimPrefix(w.Value, ":/"))
		}
		b.wipesFile(c, w, "", whole, Cleaned)
	}
}

// Words of find and fd. A search that picks files by name, age or size is no wiping; one that picks types is.
var (
	findPicks   = wording.Set("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -empty -mtime -mmin -atime -amin -ctime -cmin -newer -size -inum -samefile -perm -user -group -nouser -nogroup -links")
	histories   = wording.Set(".git .hg .svn .jj")
	findRemoves = wording.Set("-delete rm grm unlink shred srm trash rimraf")
)

// wipesFound reads where find begins, or fd after its pattern. If the program does not remove what it finds, another
// command may, so the places are noted for that.
func (b *wiper) wipesFound(c *shellparse.Command, whole string, pattern bool) {
	roots, words := commands.FindRoots(c.Argv[1:])
	removes, below := false, ""
	for i, w := range words {
		negated := i > 0 && (words[i-1].Value == "!" || words[i-1].Value == "-not")
		switch {
		case findRemoves[path.Base(w.Value)]:
			removes = true
		case w.Value == "-name" && !negated && i+1 < len(words) && histories[words[i+1].Value]:
			below = "/" + words[i+1].Value
		case findPicks[w.Value] && !negated && !commands.PicksAll(words[i+1:]):
			return
		}
	}
	if pattern && len(roots) > 0 {
		if strings.Trim(roots[0].Value, ".^$*") != "" {
			return // a pattern that picks
		}
		roots = roots[1:]
	}
	if len(roots) == 0 {
		roots = []shellparse.Word{{Value: ".", Known: true}}
	}
	for _, root := range roots {
		if root.Value += below; removes {
			b.wipesFile(c, root, "", whole, Removed)
		} else {
			b.listed = append(b.listed, listedFile{c, root})
		}
	}
}

// listedFile is a word that a command prints, for another to read.
type listedFile struct {
	command *shellparse.Command
	word    shellparse.Word
}

// listsFor notes what a command prints that another may remove.
func (b *wiper) listsFor(c *shellparse.Command, _ string) {
	words := commands.Operands(c)
	if len(words) == 0 {
		words = []shellparse.Word{{Value: ".", Known: true}}
	}
	for _, w := range words {
		b.listed = append(b.listed, listedFile{c, w})
	}
}

// wipesFile notes the files that a word can name. If the word is not known, pattern says what it can be.
func (b *wiper) wipesFile(c *shellparse.Command, w shellparse.Word, pattern, whole string, how Loss) {
	place := b.record.place
	if b.record.tool.remote {
		place = Place{}
	}
	if strings.HasPrefix(w.Value, "$(") || strings.HasPrefix(w.Value, "`") {
		pattern = "" // some of the names below a folder, not the folder
	}
	switch {
	case w.Known:
		b.wipesNamed(c, place, w.Value, how)
	case pattern != "" && w.Value != "{}": // what find and xargs put there is looked at where they begin
		if folder := commands.WholeOf(pattern); folder != pattern || !strings.ContainsAny(pattern, `*?[`) {
			b.files.wipe(how, folder)
		} else if found, err := b.files.globs.Expand(pattern, true); err == nil && !b.record.tool.remote && len(found.Files) <= workspace.MaxGlob {
			for _, p := range found.Files {
				if workspace.IsFolder(p) {
					b.files.wipe(how, p)
				}
			}
		}
	default:
		paths, unread := b.mayBe(w.Value, whole)
		if b.files.wipe(how, paths...); unread && commands.Recursive(c) {
			b.files.wipe(Told, w.Value)
		}
		if positional.MatchString(strings.Trim(w.Value, `"'`)) {
			b.wipesArguments(c, whole, how)
		}
		b.wipesListed(place, whole, how)
	}
}

// wipesNamed notes what a known word names, in each folder where the command may run.
func (b *wiper) wipesNamed(c *shellparse.Command, place Place, name string, how Loss) {
	dirs := c.Dirs
	if len(dirs) == 0 || filepath.IsAbs(name) {
		dirs = []string{c.Dir}
	}
	for _, dir := range dirs {
		for _, l := range place.At(dir).Locate(commands.WholeOf(name)) {
			b.files.wipe(how, l.Paths...)
		}
	}
}

// wipesListed notes what lies where other commands list files, because an unknown word can be any of that.
func (b *wiper) wipesListed(place Place, whole string, how Loss) {
	for _, f := range b.listed {
		if f.word.Known {
			for _, l := range place.At(f.command.Dir).Locate(commands.WholeOf(f.word.Value)) {
				b.files.wipe(how, l.Paths...)
			}
		} else {
			paths, _ := b.mayBe(f.word.Value, whole)
			b.files.wipe(how, paths...)
		}
	}
}

// Words that begin with something that only running the command tells.
var (
	variablePath = lazyregexp.New(`^(?:\$\{([A-Za-z_]\w*)([^}]*)\}+|\$([A-Za-z_]\w*)|~([\w.-]*))(/.*)?$`)
	commandPath  = lazyregexp.New("^(?:\\$\\((.*)\\)|`(.*)`)(/.*)?$")
	positional   = lazyregexp.New(`^\$(?:\{?[@*0-9]|\{[@*0-9][^}]*\})`)
	defaultOf    = lazyregexp.New(`^:?[-=](.+)$`)
)

// harmlessOutput matches commands that never print a root, a home or a repository, or that are judged themselves.
var harmlessOutput = lazyregexp.New(`^\s*(?:mktemp|find|fd|ls|rg|grep|basename|date|uname|uuidgen|seq|cat|jq|go|npm|pnpm|yarn|cargo|docker|git (?:ls-files|diff|status))(?:\s|$)`)

// printedPath is mayBe for the output of the command inner and what follows it.
func (b *wiper) printedPath(inner, tail string) (paths []string, unread bool) {
	switch {
	case inner == "pwd":
		return []string{workspace.Clean(b.record.place.Dir + "/" + tail)}, false
	case harmlessOutput.MatchString(inner) && !strings.ContainsAny(inner, ";&|"):
		return nil, false
	}
	return nil, tail == "/" || path.Base(tail) == ".git"
}

// mayBe returns the absolute paths that source, an unknown word of the text whole, can be. An unset variable leaves
// what follows it. unread reports whether the word is the output of a command that may print any path.
func (b *wiper) mayBe(source, whole string) (paths []string, unread bool) {
	source = strings.NewReplacer(`"`, "", `'`, "").Replace(source)
	rest := func(tail string) string { return commands.WholeOf("/" + strings.TrimLeft(tail, "/")) }
	if m := commandPath.FindStringSubmatch(source); m != nil {
		return b.printedPath(strings.TrimSpace(m[1]+m[2]), rest(m[3]))
	}
	m := variablePath.FindStringSubmatch(source)
	if m == nil {
		return nil, false
	}
	name, tail := m[1]+m[3], rest(m[5])
	switch {
	case name == "HOME" || name == "" && m[4] == "":
		return []string{workspace.Clean(b.record.place.Home + "/" + tail)}, false
	case strings.HasPrefix(name, "XDG_") && strings.HasSuffix(name, "_HOME"):
		return []string{workspace.Clean(b.record.place.Home + "/.config/" + tail)}, false
	case name == "PWD" || name == "OLDPWD":
		return []string{workspace.Clean(b.record.place.Dir + "/" + tail)}, false
	case name == "":
		return []string{workspace.Clean("/home/" + m[4] + "/" + tail)}, false
	}
	if d := defaultOf.FindStringSubmatch(m[2]); d != nil {
		paths, unread = b.givenPath(d[1], m[5], whole)
	} else if m[5] != "" && !strings.HasPrefix(m[2], ":?") {
		paths = []string{tail}
	}
	for _, assigned := range lazyregexp.New(`\b`+name+"=(\"[^\"]*\"|'[^']*'|\\$\\([^)]*\\)|`[^`]*`|[^\\s;&|]*)").FindAllStringSubmatch(whole, 8) {
		if p, u := b.givenPath(assigned[1], m[5], ""); p != nil || u {
			paths, unread = append(paths, p...), unread || u
		}
	}
	return paths, unread
}

// givenPath is mayBe for what a variable is given, with what follows the variable.
func (b *wiper) givenPath(text, tail, whole string) (paths []string, unread bool) {
	text = strings.Trim(text, `"'`)
	if strings.ContainsAny(text, "$`") {
		return b.mayBe(strings.TrimSuffix(text, "/")+tail, whole)
	}
	for _, l := range b.record.place.Locate(commands.WholeOf(text + tail)) {
		paths = append(paths, l.Paths...)
	}
	return paths, false
}

// wipesArguments looks at every word of a text, because the arguments of a function and the words behind an alias can
// be any of them.
func (b *wiper) wipesArguments(c *shellparse.Command, whole string, how Loss) {
	for i, field := range strings.Fields(whole) {
		field = strings.Trim(field, "\"'`;&|(){}")
		if i == 0 || field == "" || strings.HasPrefix(field, "-") || i > arguments.MaxArguments {
			continue
		}
		if paths, _ := b.mayBe(field, ""); paths != nil {
			b.files.wipe(how, paths...)
		} else if !strings.ContainsAny(field, "$=") {
			b.wipesFile(c, shellparse.Word{Value: b.record.place.Expand(field), Known: true}, "", "", how)
		}
	}
}

// wipe notes paths as wiped.
func (b *files) wipe(how Loss, paths ...string) {
	for _, p := range paths {
		if w := (Wipe{Path: p, How: how}); p != "" && !slices.Contains(b.record.out.Wipes, w) {
			b.record.out.Wipes = append(b.record.out.Wipes, w)
		}
	}
}

// wipesPath notes what a tool does to the file or folder that a path argument names.
func (b *files) wipesPath(role Role, kind string, l *workspace.Location) {
	switch {
	case role == kinds.DeletePath && kind == KindMoveFile:
		b.wipe(Moved, l.Paths...)
	case role == kinds.DeletePath, role == kinds.WritePath, b.record.tool.baseRisk == permissions.Destructive:
		b.wipe(Removed, l.Paths...)
	}
}
