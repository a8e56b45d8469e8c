package tools

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// guessed analyzes a call of an unmapped tool. It takes the arguments for what they seem to be, which adds denies,
// marks and risk, and allows nothing.
func (b *builder) guessed(list []arguments.Argument) {
	b.record.floor = b.record.tool.baseRisk
	if b.record.tool.Kind == "" {
		b.record.subject(permissions.Subject{Arguments: b.record.raw(), Risk: b.record.floor}, b.record.tool.category, source{})
	}
	b.guessedDir(list)
	b.walk(list, 0)
	if b.record.tool.Kind != "" && !b.record.decided {
		b.record.own(permissions.Subject{Risk: b.record.floor}, source{})
	}
}

// guessedDir finds where commands of the call run.
func (b *builder) guessedDir(list []arguments.Argument) {
	for _, a := range list {
		if guessRole(a.Name) != kinds.Dir { // decoded only where it counts: others may be large
			continue
		}
		if s, ok := arguments.Text(a.Value); ok {
			b.shells.dir(s)
		}
	}
}

// walk looks at every value at any depth.
func (b *builder) walk(list []arguments.Argument, depth int) {
	if depth > arguments.MaxDepth {
		b.record.mark("too-deep", "The arguments are nested deeper than can be looked at.")
		return
	}
	b.joined(list)
	b.split(list)
	for _, a := range list {
		b.memberName(a.Name)
		role := guessRole(a.Name)
		switch kindOf(a.Value) {
		case '"':
			b.walkText(a, role, depth)
		case '[', '{':
			inner, ok := arguments.Members(a.Value)
			if !ok {
				b.record.refuse("malformed", "The arguments name something twice.")
				return
			}
			if role == kinds.Env && len(inner) > 0 {
				b.shells.variables(a)
			}
			if (role == kinds.Command || role == kinds.Argv) && a.Value[0] == '[' && allText(inner) {
				b.shells.argv(a)
				continue
			}
			b.walk(named(inner, a.Name), depth+1)
		}
	}
}

func (b *builder) walkText(a arguments.Argument, role Role, depth int) {
	// It may hold others as JSON. Behind white space or escapes that shows only after decoding.
	packed := len(a.Value) > 1 && strings.IndexByte("{[ \\", a.Value[1]) >= 0
	address := jsonx.MayHold(a.Value[:min(len(a.Value), 64)], ":")
	if !b.record.count() || role == Unmapped && !packed && !address && len(a.Value) > maxGuessedText { // no path is that long
		return
	}
	s, ok := arguments.Text(a.Value)
	if !ok {
		b.record.refuse("malformed", "A text of the arguments is malformed.")
		return
	}
	if depth == 0 && slices.Contains(b.record.tool.enums[a.Name], s) {
		return // one of the words that the schema allows, so not the caller's own text
	}
	if arguments.LooksPacked(s) { // arguments for another tool, or a list as text
		b.walkPacked(a.Name, s, depth)
	}
	b.guessedValue(a.Name, role, s)
}

// walkPacked looks at what a text holds as JSON.
func (b *builder) walkPacked(name, s string, depth int) {
	s = strings.TrimSpace(s)
	if s[0] == '"' {
		if _, ok := arguments.Text([]byte(s)); ok { // shorter each time
			b.walkText(arguments.Argument{Name: name, Value: []byte(s)}, guessRole(name), depth+1)
		}
		return
	}
	if inner, ok := arguments.Members([]byte(s)); ok {
		b.walk(named(inner, name), depth+1)
	} else if jsonx.Valid([]byte(s)) {
		b.record.mark("ambiguous", "The argument "+wording.Quote(name)+" is a text that names something twice: servers disagree about which counts.")
	}
}

// named gives the elements of an array the array's own name.
func named(list []arguments.Argument, name string) []arguments.Argument {
	for i := range list {
		list[i].Name = cmp.Or(list[i].Name, name)
	}
	return list
}

// kindOf returns the first byte of a raw value, which tells its kind.
func kindOf(raw []byte) byte {
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

func allText(list []arguments.Argument) bool {
	return !slices.ContainsFunc(list, func(a arguments.Argument) bool { return len(a.Value) == 0 || a.Value[0] != '"' })
}

func (b *builder) guessedValue(name string, role Role, s string) {
	if encodedName(name) && len(s) > 0 {
		b.record.mark("encoded", "The argument "+wording.Quote(name)+" is encoded: nobody can see what it says.")
	}
	if runNames[strings.Map(dropSeparators, strings.ToLower(name))] {
		b.mayRun(s)
	}
	switch {
	case role == kinds.Shell && b.record.tool.Kind == KindShell:
		b.shells.interpreter(s)
		return
	case role == kinds.Command, role == kinds.Shell:
		b.shells.shell(s)
		return
	case role == kinds.Code && looksLikeCode(s):
		b.code(s)
		return
	case role == kinds.Input && b.record.tool.guess.process:
		b.input(s)
		return
	case role == kinds.SQL && b.record.tool.guess.sql:
		b.record.note(kinds.SQL, s)
		b.record.raise(commands.ServerSQL(s))
		return
	case isAddress(s):
		b.guessedURL(s)
		return
	case role == kinds.Dir:
		return // guessedDir has read it
	}
	if role == kinds.ReadPath && len(s) > 0 && len(s) <= arguments.MaxPath || looksLikePath(s) {
		b.guessedPath(name, s)
		b.pieces(s, s)
		return
	}
	b.pieces(s, "")
}

func (b *builder) guessedURL(s string) {
	b.record.note(kinds.URL, s)
	if b.record.tool.Kind != KindFetch {
		b.record.raise(permissions.Network)
	}
	b.files.url(s)
}

// guessedPath makes the subjects of what seems to be a path: of the tool's own kind when the tool seems to
// be about files, and for denies of files either way.
func (b *builder) guessedPath(name, s string) {
	if role, ok := ownRole[b.record.tool.Kind]; ok && (name == b.record.tool.guess.argument || b.record.tool.guess.argument == "" || b.record.tool.Kind == KindMoveFile) {
		if role == kinds.ReadFolder {
			b.files.folder(role, s)
		} else {
			b.files.file(role, s)
		}
		return
	}
	b.record.note(kinds.ReadPath, s)
	for _, l := range b.files.locate(s) {
		b.files.deny(KindReadFile, &l)
		if !b.record.tool.guess.reads {
			b.files.deny(KindWriteFile, &l)
			b.files.markPlaces(&l)
			b.files.mayWrite(&l)
			b.files.wipesPath(Plain, "", &l)
		}
	}
}

// ownRole is the role of a path argument of a tool that seems to be of the kind.
var ownRole = map[string]Role{
	KindReadFile: kinds.ReadPath, KindWriteFile: kinds.WritePath, KindEditFile: kinds.WritePath, KindDeleteFile: kinds.DeletePath,
	KindMoveFile: kinds.DeletePath, KindGrep: kinds.ReadFolder, KindGlob: kinds.ReadFolder,
}

// Limits for values that are guessed to be paths or addresses, in bytes: decoded, and as JSON
// text, where one byte can take six.
const (
	maxGuessedPath = 512
	maxGuessedText = 6 * arguments.MaxPath
)

// looksLikePath reports whether text may name a file, whatever its argument is called.
func looksLikePath(s string) bool {
	if len(s) == 0 || len(s) > maxGuessedPath && (!strings.Contains(s, "/") || len(filepath.Clean(s)) > maxGuessedPath) || strings.ContainsAny(s, "\n\r") {
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

// encodedName reports whether an argument's name says that its text is encoded.
func encodedName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "base64") || strings.Contains(name, "b64") || strings.Contains(name, "encodedcommand") ||
		strings.Contains(name, "encoded_command")
}

// looksLikeCode reports whether text may be a program and not, say, the code of a country.
func looksLikeCode(s string) bool { return len(s) > 40 || strings.ContainsAny(s, "(){};=`$|&<>\n") }
