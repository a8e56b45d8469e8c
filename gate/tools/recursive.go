package tools

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// searchesFolder notes that the folder at path is read whole. It returns false if there is no folder.
func (b *toucher) searchesFolder(path string, leaves *searches.Search) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if real, _, err := workspace.RealPath(path); err == nil {
		path = real
	}
	b.files.searches(path, leaves)
	return true
}

// recursive notes the folders that a command reads whole, also if its lists of files are empty.
func (b *toucher) recursive(c *shellparse.Command) {
	if b.record.tool.remote || len(c.Argv) == 0 || b.record.place.Dir == "" {
		return
	}
	b.recursiveIn(c)
	vanishes := func(w shellparse.Word) bool { return w.Vanishes }
	if slices.ContainsFunc(c.Argv, vanishes) {
		rest := *c
		rest.Argv, rest.Reads = slices.DeleteFunc(slices.Clone(c.Argv), vanishes), nil
		b.recursiveIn(&rest)
	}
}

// recursiveIn is recursive for the words that are there.
func (b *toucher) recursiveIn(c *shellparse.Command) {
	words, reads := commands.ReadsBelow(c)
	if !reads {
		return
	}
	if len(words) > arguments.MaxArguments {
		b.files.readsBeneath(b.record.place.At(c.Dir).Dir)
		return
	}
	if commands.GrepsTracked(c) {
		return // gitReads notes what the repository tracks
	}
	leaves := searches.SearchOf(c)
	if leaves != nil && len(leaves.Operands) == 0 && leaves.Stdin {
		return
	}
	found := slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.Pattern != "" })
	for _, w := range words {
		if w.Known && !strings.HasPrefix(w.Value, "-") {
			found = b.searchesFolder(b.record.place.At(c.Dir).Absolute(b.record.place.Expand(w.Value)), leaves) || found
		}
	}
	given := leaves != nil && len(leaves.Operands) > 0 // an operand that is not a folder is read by its name, or not at all
	if !found && !given && commands.Known(c.Argv[0].Value).Has(programs.Searches) {
		b.files.searches(b.record.place.At(c.Dir).Dir, leaves)
	}
}

// upward makes the subjects, for denies, of the paths of a command that go up. By its text, "link/../x" is x. The
// kernel looks for x beside the target of the link, and likewise for "../x" in a linked folder.
func (b *toucher) upward(c *shellparse.Command) {
	if b.record.tool.remote || b.record.place.Dir == "" || len(c.Reads) == 0 || !strings.Contains(c.Raw, "..") {
		return
	}
	dir := b.record.place.At(c.Dir).Dir
	for word := range strings.FieldsFuncSeq(c.Raw, func(r rune) bool { return strings.ContainsRune(" \t\n<>=\"';&|()", r) }) {
		if len(word) > arguments.MaxPath || !slices.Contains(strings.Split(word, "/"), "..") {
			continue
		}
		pattern := b.record.place.Expand(word)
		if !filepath.IsAbs(pattern) {
			pattern = escapedPattern(dir) + "/" + pattern
		}
		if !b.record.count() {
			return
		}
		found, err := b.files.globs.Expand(pattern, false)
		if errors.Is(err, path.ErrBadPattern) {
			continue // a text and no path
		}
		if err != nil || len(found.Files) > workspace.MaxGlob {
			b.record.mark("unknown-read", "Where the path "+wording.Quote(word)+" leads cannot be told.")
			continue
		}
		for _, file := range found.Files {
			if real, _, err := workspace.RealPath(file); err == nil && real != filepath.Clean(file) {
				b.files.reads(real)
			}
		}
	}
}

// escapedPattern returns the pattern that matches path alone.
func escapedPattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
