package tools

import (
	"os"
	"path"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/internal/gitfiles"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// readsIfThere makes the subjects of reading a path that may be something else, if a file is there.
func (b *toucher) readsIfThere(path string) {
	if _, err := os.Lstat(path); err == nil {
		b.files.reads(path)
	}
}

// gitObeys marks a git command in a folder that has the form of a repository, because git obeys the configuration
// there, which may run programs.
func (b *toucher) gitObeys(c *shellparse.Command) {
	if b.record.tool.remote || b.record.place.Dir == "" || len(c.Argv) == 0 || !programs.Find(path.Base(c.Argv[0].Value)).Has(programs.VersionControl) {
		return
	}
	folders, _ := b.runsIn(c) // another check asks about folders that cannot be told
	for _, folder := range folders {
		folder = gitfiles.Bare(folder)
		if _, around := workspace.Within(folder, b.record.place.Dir); folder != "" && !around {
			b.record.mark("git-folder", "git takes "+wording.Quote(folder)+" for a repository of its own, whose configuration may run programs.")
			return
		}
	}
}

// gitReads notes the files whose content a git command shows: those that its words name, and those that it shows
// without naming them. The latter are the files that the repository tracks, by its index.
func (b *toucher) gitReads(c *shellparse.Command) {
	shows := commands.Shows(c)
	if shows == "" {
		return
	}
	whole := commands.ShowsContent(c) || commands.GrepsTracked(c)
	if !whole && shows != "named" && shows != "tracked" {
		return
	}
	at, here := b.record.place.At(c.Dir), !b.record.tool.remote && b.record.place.Dir != ""
	for _, w := range c.Argv[2:] {
		b.gitReadsWord(w, at, here)
	}
	if whole && here {
		if index, ok := workspace.GitIndex(at.Dir); ok {
			b.files.searches(index, b.pathspecs(c, at))
		}
	}
}

// gitReadsWord notes the files that a word of a git command names. here means that they are on this machine.
func (b *toucher) gitReadsWord(w shellparse.Word, at Place, here bool) {
	switch {
	case w.Known:
		if here && !commands.IsOption(w.Value) && len(w.Value) <= arguments.MaxPath {
			b.readsIfThere(at.Absolute(b.record.place.Expand(w.Value)))
		}
	case here && w.NoOption && commands.IsPlainGlob(w.Value):
		b.readsGlob(at.Absolute(w.Value))
	case here && w.NoOption && commands.Ancestor(w.Value) != "":
		b.readsGlob(at.Absolute(commands.Ancestor(w.Value)) + "*")
	case !commands.PrintsRevision(w.Value):
		b.record.mark("unknown-read", "What "+wording.Quote(w.Value)+" names, which git shows, cannot be told.")
	}
}

// readsGlob notes that the files that a glob matches are read.
func (b *toucher) readsGlob(pattern string) {
	found, err := b.files.globs.Expand(pattern, false)
	if err != nil || len(found.Files) > workspace.MaxGlob {
		b.record.mark("unknown-read", "Which files "+wording.Quote(pattern)+" names cannot be told.")
		return
	}
	for _, path := range slices.Concat(found.Files, found.Folders) {
		b.files.reads(path)
	}
	b.files.reads(pattern) // the shell passes on a pattern that no file matches
}

// pathspecs returns what a git command leaves out because its words name paths, or nil if it may show everything.
func (b *toucher) pathspecs(c *shellparse.Command, at Place) *searches.Search {
	args := c.Argv[2:]
	greps := commands.Shows(c) == "tracked"
	if !programs.Find(c.Argv[0].Value, c.Argv[1].Value).Has(programs.OnlyPaths) || slices.ContainsFunc(c.Globals, func(w shellparse.Word) bool { return strings.Contains(w.Value, "path") }) ||
		slices.ContainsFunc(c.Env, func(e shellparse.Assignment) bool { return strings.HasPrefix(e.Name, "GIT_") }) {
		return nil
	}
	from := slices.IndexFunc(args, func(w shellparse.Word) bool { return w.Known && w.Value == "--" })
	var s searches.Search
	for i, w := range args {
		path := at.Absolute(b.record.place.Expand(w.Value))
		switch {
		case commands.OwnRules(w), c.Argv[1].Value != "log" && commands.IsObjectName(w.Value):
			return nil // a file of a revision, a pattern with rules of its own
		case from >= 0 && i > from:
			s.Only = append(s.Only, path)
		case from < 0 && i > 0 && commands.IsOption(args[i-1].Value) && !commands.ShowsOnly[args[i-1].Value]:
			// perhaps the value of the option
		case from < 0 && w.Known && !greps && !commands.IsOption(w.Value):
			if _, err := os.Lstat(path); err == nil {
				s.Only = append(s.Only, path)
			}
		}
	}
	if s.Only == nil {
		return nil
	}
	return &s
}

// tracked returns the files that git tracks below the folder of a pattern and whose names match its last part. It
// returns none if they cannot be told.
func tracked(pattern string) (paths []string) {
	folder := workspace.FixedPart(pattern)
	index, ok := workspace.GitIndex(folder)
	if !ok || workspace.WorkTree(index) != folder { // git may name them from the top
		return nil
	}
	_, err := workspace.DeniedBeneath(index, func(file string) bool {
		if ok, err := path.Match(path.Base(pattern), path.Base(file)); ok || err != nil {
			paths = append(paths, file)
		}
		return false
	})
	if err != nil {
		return nil
	}
	return paths
}

// tracksPlainNames reports whether the names of the tracked files that a command gets are known, also those of removed
// files, and none of them can be an option or several words.
func tracksPlainNames(c *shellparse.Command) bool {
	return !slices.ContainsFunc(slices.Concat(c.Reads, c.Writes), func(f shellparse.File) bool {
		if !f.Tracked {
			return false
		}
		paths := tracked(f.Pattern)
		return len(paths) == 0 || slices.ContainsFunc(paths, workspace.Splits)
	})
}

// readsAnyTracked notes that the command reads some of the files that git tracks below a folder. It returns false if
// these cannot be told, if one is a link, or if a name may be split.
func (b *toucher) readsAnyTracked(f shellparse.File) bool {
	folder := workspace.FixedPart(f.Pattern)
	index, ok := workspace.GitIndex(folder)
	if !ok || workspace.WorkTree(index) != folder { // git may name them from the top
		return false
	}
	unclear := func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.Mode()&os.ModeSymlink != 0 || f.Split && workspace.Splits(strings.TrimPrefix(path, folder))
	}
	if paths, err := workspace.DeniedBeneath(index, unclear); len(paths) > 0 || err != nil {
		return false
	}
	b.files.readsBeneath(index)
	return true
}
