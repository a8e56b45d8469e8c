package tools

import (
	"slices"
	"strings"

	"callgate/permissions"
)

// guessed analyzes a call of a tool that nobody mapped. Its arguments are looked at for what they seem to
// be: that adds denies, marks and risk, and allows nothing.
func (b *builder) guessed(list []argument) {
	b.floor = b.tool.baseRisk
	if b.tool.Kind == "" {
		b.subject(permissions.Subject{Arguments: b.raw(), Risk: b.floor}, b.tool.category, source{})
	}
	b.guessedDir(list)
	b.walk(list, 0)
	if b.tool.Kind != "" && !b.decided {
		b.own(permissions.Subject{Risk: b.floor}, source{})
	}
}

// guessedDir finds where commands of the call run.
func (b *builder) guessedDir(list []argument) {
	for _, a := range list {
		if s, ok := text(a.value); ok && guessRole(a.name) == Dir {
			b.dir(s)
		}
	}
}

// walk looks at every value at any depth.
func (b *builder) walk(list []argument, depth int) {
	if depth > maxDepth {
		b.mark("too-deep", "The arguments are nested deeper than can be looked at.")
		return
	}
	for _, a := range list {
		role := guessRole(a.name)
		if len(a.value) == 0 || (a.value[0] != '"' && a.value[0] != '{' && a.value[0] != '[') {
			continue // a number or a switch
		}
		if s, ok := text(a.value); ok {
			if !b.count() {
				return
			}
			if depth == 0 && slices.Contains(b.tool.enums[a.name], s) {
				continue // one of a few words that the schema names, so no text of the caller's
			}
			b.guessedValue(a.name, role, s)
			continue
		}
		inner, ok := members(a.value)
		if !ok {
			b.refuse("malformed", "The arguments name something twice.")
			return
		}
		switch {
		case a.value[0] == '[' && (role == Command || role == Argv) && allText(inner):
			b.argv(a)
		case role == Env && len(inner) > 0:
			b.variables(a)
			b.walk(inner, depth+1)
		default:
			if a.value[0] == '[' {
				for i := range inner {
					inner[i].name = a.name
				}
			}
			b.walk(inner, depth+1)
		}
	}
}

func allText(list []argument) bool {
	return !slices.ContainsFunc(list, func(a argument) bool { return len(a.value) == 0 || a.value[0] != '"' })
}

// guessedValue looks at one text.
func (b *builder) guessedValue(name string, role Role, s string) {
	switch {
	case role == Command:
		b.shell(s)
		return
	case role == Code && looksLikeCode(s):
		b.code(s)
		return
	case role == Input && b.tool.guess.process:
		b.input(s)
		return
	case role == SQL && b.tool.guess.sql:
		b.note(SQL, s)
		b.raise(classifySQL(s))
		return
	case isAddress(s):
		b.guessedURL(s)
		return
	case role == Dir:
		return // guessedDir has read it
	}
	if role == ReadPath && len(s) > 0 && len(s) <= maxPath || looksLikePath(s) {
		b.guessedPath(name, s)
	}
}

// guessedURL makes the subjects of an address.
func (b *builder) guessedURL(s string) {
	if b.tool.Kind == KindFetch {
		b.url(s)
		return
	}
	b.note(URL, s)
	b.raise(permissions.Network)
	b.denies(permissions.Subject{Kind: KindFetch, Value: s, Decides: permissions.Form{s}})
}

// guessedPath makes the subjects of what seems to be a path: of the tool's own kind when the tool seems to
// be about files, and for denies of files either way.
func (b *builder) guessedPath(name, s string) {
	if role, ok := ownRole[b.tool.Kind]; ok && (name == b.tool.guess.argument || b.tool.guess.argument == "" || b.tool.Kind == KindMoveFile) {
		if role == ReadFolder {
			b.folder(role, s)
		} else {
			b.file(role, s)
		}
		return
	}
	b.note(ReadPath, s)
	for _, l := range b.locate(s) {
		b.deny(KindReadFile, &l)
		if !b.tool.guess.reads {
			b.deny(KindWriteFile, &l)
			b.markPlaces(&l)
		}
	}
}

// ownRole is what a path means to a tool that seems to be of the kind.
var ownRole = map[string]Role{
	KindReadFile: ReadPath, KindWriteFile: WritePath, KindEditFile: WritePath, KindDeleteFile: DeletePath,
	KindMoveFile: DeletePath, KindGrep: ReadFolder, KindGlob: ReadFolder,
}

// maxGuessedPath bounds what is taken for a path because of how it looks, in bytes.
const maxGuessedPath = 512

// looksLikePath reports whether text may name a file: an argument's name does not tell.
func looksLikePath(s string) bool {
	if len(s) == 0 || len(s) > maxGuessedPath || strings.ContainsAny(s, "\n\r") {
		return false
	}
	switch {
	case s[0] == '.' || s[0] == '~' || s[0] == '/':
		return true
	case strings.HasPrefix(s, "file:"):
		return true
	case strings.ContainsAny(s, " \t"):
		return strings.ContainsAny(s, `\`) || strings.Contains(s, "/.") || strings.Contains(s, "./")
	case strings.ContainsAny(s, `/\`):
		return true
	}
	dot := strings.LastIndexByte(s, '.')
	return dot > 0 && dot < len(s)-1
}

// looksLikeCode reports whether text may be a program and not, say, the code of a country.
func looksLikeCode(s string) bool { return len(s) > 40 || strings.ContainsAny(s, "(){};=`$|&<>\n") }
