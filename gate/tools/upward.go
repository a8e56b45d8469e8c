package tools

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
	"callgate/shellparse"
)

// upward makes the subjects, for denies, of the paths of a command that go up. The text alone says that
// "link/../x" is x; for the kernel it lies beside what the link leads to, and so does "../x" in a folder that
// a link leads to.
func (b *builder) upward(c *shellparse.Command) {
	if b.tool.remote || b.place.Dir == "" || len(c.Reads) == 0 || !strings.Contains(c.Raw, "..") {
		return
	}
	dir := b.place.At(c.Dir).Dir
	for word := range strings.FieldsFuncSeq(c.Raw, func(r rune) bool { return strings.ContainsRune(" \t\n<>=\"';&|()", r) }) {
		if len(word) > arguments.MaxPath || !slices.Contains(strings.Split(word, "/"), "..") {
			continue
		}
		pattern := b.place.Expand(word)
		if !filepath.IsAbs(pattern) {
			pattern = escapedPattern(dir) + "/" + pattern
		}
		if !b.count() {
			return
		}
		found, err := b.globs.Expand(pattern, false)
		if errors.Is(err, path.ErrBadPattern) {
			continue // a text and no path
		}
		if err != nil || len(found.Files) > workspace.MaxGlob {
			b.mark("unknown-read", "Where the path "+wording.Quote(word)+" leads cannot be told.")
			continue
		}
		for _, file := range found.Files {
			if real, _, err := workspace.RealPath(file); err == nil && real != filepath.Clean(file) {
				b.reads(real)
			}
		}
	}
}

// escapedPattern returns the pattern that matches path alone.
func escapedPattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
