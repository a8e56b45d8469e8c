package tools

import (
	"os"
	"slices"
	"strings"

	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// readsRecursively reports whether a command reads folders whole.
func readsRecursively(c *shellparse.Command) bool {
	if len(c.Argv) > 2 && c.Argv[1].Value == "cp" {
		switch programs.Canonical(c.Argv[0].Value) {
		case "docker", "kubectl":
			return true
		}
	}
	if c.Argv[0].Value == "git" {
		return len(c.Argv) > 1 && (c.Argv[1].Value == "grep" || (c.Argv[1].Value == "add" || c.Argv[1].Value == "stage") &&
			slices.ContainsFunc(c.Argv[2:], func(w shellparse.Word) bool { return matchesWord("-f", w.Value) || matchesWord("--force", w.Value) }))
	}
	options := known(c.Argv[0].Value).Recursive
	if slices.Equal(options, programs.Any) {
		return true
	}
	return slices.ContainsFunc(c.Argv[1:], func(w shellparse.Word) bool {
		return slices.ContainsFunc(options, func(option string) bool { return matchesWord(option, w.Value) })
	})
}

// searchesFolder notes a folder that is read whole. It is false when there is no folder at path.
func (b *builder) searchesFolder(path string, leaves *search) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if real, _, err := realPath(path); err == nil {
		path = real
	}
	b.searches(path, leaves)
	return true
}

// readsBelow returns the words among which the folders are that a command reads whole. ok is false when it reads none.
func readsBelow(c *shellparse.Command) (words []shellparse.Word, ok bool) {
	if readsRecursively(c) {
		return c.Argv[1:], true
	}
	if len(c.Via) == 0 || !strings.HasPrefix(c.Via[len(c.Via)-1], "find ") {
		return nil, false
	}
	if slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.Pattern != "" }) {
		return nil, false // the files that find hands over are judged
	}
	// find hands over what lies below its own operands
	for w := range strings.FieldsSeq(strings.TrimPrefix(c.Via[len(c.Via)-1], "find ")) {
		words = append(words, shellparse.Word{Value: w, Known: true})
	}
	return words, true
}

// recursive notes the folders that a command reads whole.
func (b *builder) recursive(c *shellparse.Command) {
	if b.tool.remote || len(c.Argv) == 0 || b.place.Dir == "" {
		return
	}
	words, reads := readsBelow(c)
	if !reads {
		return
	}
	if len(words) > maxArguments {
		b.readsBeneath(b.place.at(c.Dir).Dir)
		return
	}
	if grepsTracked(c) {
		return // gitReads notes what the repository tracks
	}
	leaves := searchOf(c)
	if leaves != nil && len(leaves.operands) == 0 && leaves.stdin {
		return
	}
	found := slices.ContainsFunc(c.Reads, func(f shellparse.File) bool { return f.Pattern != "" })
	for _, w := range words {
		if w.Known && !strings.HasPrefix(w.Value, "-") {
			found = b.searchesFolder(b.place.at(c.Dir).absolute(b.place.expand(w.Value)), leaves) || found
		}
	}
	given := leaves != nil && len(leaves.operands) > 0 // what it was given, and is no folder, it reads by name or not at all
	if !found && !given && known(c.Argv[0].Value).Has(programs.Searches) {
		b.searches(b.place.at(c.Dir).Dir, leaves)
	}
}
