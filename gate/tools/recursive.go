package tools

import (
	"os"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/workspace"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// searchesFolder notes a folder that is read whole. It is false when there is no folder at path.
func (b *builder) searchesFolder(path string, leaves *searches.Search) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if real, _, err := workspace.RealPath(path); err == nil {
		path = real
	}
	b.searches(path, leaves)
	return true
}

// recursive notes the folders that a command reads whole.
func (b *builder) recursive(c *shellparse.Command) {
	if b.tool.remote || len(c.Argv) == 0 || b.place.Dir == "" {
		return
	}
	words, reads := commands.ReadsBelow(c)
	if !reads {
		return
	}
	if len(words) > arguments.MaxArguments {
		b.readsBeneath(b.place.At(c.Dir).Dir)
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
			found = b.searchesFolder(b.place.At(c.Dir).Absolute(b.place.Expand(w.Value)), leaves) || found
		}
	}
	given := leaves != nil && len(leaves.Operands) > 0 // what it was given, and is no folder, it reads by name or not at all
	if !found && !given && commands.Known(c.Argv[0].Value).Has(programs.Searches) {
		b.searches(b.place.At(c.Dir).Dir, leaves)
	}
}
