package tools

import (
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
)

// Bounds of the search for file names in the arguments of an unknown tool, for each object.
const (
	maxPieces  = 64 // parts of one text
	maxHolders = 4  // folders that names are joined to
	maxNames   = 8
)

// pieces looks for file names in the middle of a text. It skips known, which was checked already.
func (b *builder) pieces(s, known string) {
	if len(s) > arguments.MaxPath || strings.ContainsAny(s, " \t") || b.record.place.Dir == "" || b.record.tool.remote { // nobody opens what a sentence names
		return
	}
	seen := 0
	for part := range commands.WordParts(s) {
		if seen++; seen > maxPieces {
			return
		}
		if part != "" && part != "." && part != known && workspace.IsRegular(b.record.place.Absolute(b.record.place.Expand(part))) {
			b.names(b.record.place, part)
		}
	}
}

// memberName looks at the name of a member, because maps of files have their paths there.
func (b *builder) memberName(name string) {
	if len(name) <= arguments.MaxPath && strings.ContainsAny(name, `./\~`) && looksLikePath(name) {
		b.names(b.record.place, name)
	}
}

// split looks for a path that is split over two members of one object: a folder, and a name in it.
func (b *builder) split(list []arguments.Argument) {
	if len(list) < 2 || b.record.place.Dir == "" || b.record.tool.remote {
		return
	}
	var folders, names []string
	for _, a := range list {
		if len(a.Value) < 3 || len(a.Value) > arguments.MaxPath || a.Value[0] != '"' {
			continue
		}
		s, ok := arguments.Text(a.Value)
		switch {
		case !ok || s == "" || strings.ContainsAny(s, " \t\n") || isAddress(s):
		case workspace.IsFolder(b.record.place.Absolute(b.record.place.Expand(s))):
			if len(folders) < maxHolders {
				folders = append(folders, b.record.place.Absolute(b.record.place.Expand(s)))
			}
		case len(names) < maxNames && s[0] != '/' && s[0] != '~':
			names = append(names, s)
		}
	}
	for _, folder := range folders {
		for _, name := range names {
			b.names(b.record.place.At(folder), name)
		}
	}
}

// names makes the subjects, for denies, of a file that a call may name.
func (b *builder) names(place Place, name string) {
	if !b.record.count() {
		return
	}
	l := place.Reading(place.Expand(name))
	b.record.touch(&l)
	b.files.deny(KindReadFile, &l)
	if !b.record.tool.guess.reads && b.record.tool.baseRisk != permissions.ReadOnly {
		b.files.deny(KindWriteFile, &l)
	}
}
