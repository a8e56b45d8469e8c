package tools

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
	"callgate/shellparse"
)

// Analyze returns everything about one call that does not depend on rules. It reads the file system, which may change.
// So a caller that decides now and forwards later MUST analyze again right before it forwards. It never panics. The
// zero Tool is an unknown tool.
func Analyze(c Call) *Analysis {
	b := newBuilder(c)
	if b.record.tool == nil {
		b.record.tool = &Tool{}
	}
	raw := c.Arguments
	if len(raw) == 0 || arguments.IsNull(raw) {
		raw = []byte("{}")
	}
	list, ok := arguments.Members(raw)
	b.record.list = list
	switch {
	case !ok || raw[firstByte(raw)] != '{':
		b.record.refuse("malformed", "The arguments are not one JSON object with distinct names.")
	case b.record.tool.Bound:
		b.mapped(list)
	default:
		b.guessed(list)
	}
	b.finish()
	return b.record.out
}

// firstByte returns the offset of the first byte that is not white space.
func firstByte(raw []byte) int {
	return slices.IndexFunc(raw, func(c byte) bool { return c != ' ' && c != '\t' && c != '\n' && c != '\r' })
}

// record collects what is known of one call: its subjects, marks and values.
type record struct {
	call  Call
	tool  *Tool
	place Place // where commands of this call run
	list  []arguments.Argument
	out   *Analysis

	values  int              // how many have been looked at
	noted   []note           // values as the summary shows them
	why     []string         // what commands do that cannot be undone, each as the end of a sentence that begins with "It"
	floor   permissions.Risk // at least this for subjects of the tool's own kind
	decided bool             // a subject that can be allowed is there
}

// files makes the subjects of paths and addresses.
type files struct {
	record     *record
	globs      workspace.Globs
	hasPattern bool                 // the call holds a glob that selects files
	reading    *shellparse.Command  // the command whose files are looked at; nil if no allow for it is at stake
	readsAs    int                  // index of its subject
	reader     *permissions.Subject // a copy of that subject, once it is needed
}

// wiper finds what a call may wipe.
type wiper struct {
	record *record
	files  *files
	listed []listedFile // what commands of the text list, which others may remove
}

// toucher makes the subjects of what a command of a shell text reads and writes.
type toucher struct {
	record *record
	files  *files
}

// shells makes the subjects of the commands of shell texts.
type shells struct {
	record  *record
	files   *files
	wiper   *wiper
	toucher *toucher
	dialect shellparse.Dialect
	named   bool   // the call says which shell reads its commands
	effect  string // what every command does beyond its text
}

// builder reads the arguments of a call by their roles, or by what they seem to be.
type builder struct {
	record *record
	files  *files
	shells *shells
}

// newBuilder makes the parts, which share one record.
func newBuilder(c Call) *builder {
	var parts struct {
		record  record
		files   files
		wiper   wiper
		toucher toucher
		shells  shells
		builder builder
	}
	parts.record = record{call: c, tool: c.Tool, place: c.Place, out: &Analysis{Risk: permissions.ReadOnly}}
	parts.files.record = &parts.record
	parts.wiper = wiper{record: &parts.record, files: &parts.files}
	parts.toucher = toucher{record: &parts.record, files: &parts.files}
	parts.shells = shells{record: &parts.record, files: &parts.files, wiper: &parts.wiper, toucher: &parts.toucher}
	parts.builder = builder{record: &parts.record, files: &parts.files, shells: &parts.shells}
	return &parts.builder
}

// note is one value for the summary.
type note struct {
	role Role
	text string
}

// source is what Offers needs of a subject.
type source struct {
	command  *shellparse.Command // of a shell command, else nil
	path     string              // absolute real path of a file or folder, else ""
	folder   bool                // path is a folder
	category string              // where it differs from the kind's
}

// mapped analyzes a call of a tool whose arguments have roles.
func (b *builder) mapped(list []arguments.Argument) {
	b.record.floor = b.record.tool.baseRisk
	b.statements(list)
	if b.record.tool.Kind == "" {
		// Such a tool is judged by its name and its arguments; what it opens comes on top.
		b.record.subject(permissions.Subject{Arguments: b.record.raw(), Risk: b.record.floor}, b.record.tool.category, source{})
	}
	b.shells.surroundings(list)
	b.files.hasPattern = slices.ContainsFunc(list, func(a arguments.Argument) bool {
		return b.record.tool.Roles[a.Name] == kinds.PatternPath && !arguments.IsNull(a.Value)
	})
	for _, a := range list {
		role := b.record.tool.Roles[a.Name]
		if role == Unmapped && b.record.tool.unroled {
			if b.record.tool.Definition == nil { // nobody asked its server which arguments there are
				role = harmlessRole(a.Name)
			}
			if role == Unmapped && b.bare(a) {
				continue
			}
		}
		if role == Unmapped {
			b.record.mark("unmapped-argument", fmt.Sprintf("Nobody said what the argument %s is for.", wording.Quote(a.Name)))
			continue
		}
		if role == Plain && b.record.tool.Kind == "" {
			b.escapes(a.Name, a.Value, 0)
		}
		if role == Plain || arguments.IsNull(a.Value) {
			continue
		}
		b.argument(a, role)
	}
	if b.record.tool.Kind == KindGrep && !b.record.decided { // without a path it searches where it runs
		b.files.folder(kinds.ReadFolder, ".")
	}
	if !b.record.decided {
		b.record.noSubject()
	}
}

// bare looks at an argument without a role whose name suggests paths. It reports whether the argument holds only plain
// names, such as a file in a mailbox or a place. Those lead nowhere outside the server's folder, and what rules deny
// there stays denied.
func (b *builder) bare(a arguments.Argument) bool {
	if guessRole(a.Name) != kinds.ReadPath {
		return false
	}
	list := []arguments.Argument{a}
	if inner, ok := arguments.Members(a.Value); ok && kindOf(a.Value) == '[' {
		list = inner
	}
	for _, e := range list {
		if s, ok := arguments.Text(e.Value); !ok || strings.ContainsAny(s, `/\:`) || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~") {
			return false
		}
	}
	for _, e := range list {
		s, _ := arguments.Text(e.Value)
		if !b.record.count() || s == "" {
			continue
		}
		for _, l := range b.files.locate(s) {
			b.files.deny(KindReadFile, &l)
			if b.record.floor.Exceeds(permissions.ReadOnly) {
				b.files.deny(KindWriteFile, &l)
			}
		}
	}
	return true
}

// argument makes the subjects of one argument that has a role.
func (b *builder) argument(a arguments.Argument, role Role) {
	switch role {
	case kinds.Argv:
		b.shells.argv(a)
		return
	case kinds.Command:
		if len(a.Value) > 0 && a.Value[0] == '[' {
			b.shells.argv(a)
			return
		}
	case kinds.Env, kinds.Dir, kinds.Shell, kinds.SQL, kinds.GraphQL, kinds.Mongo:
		return // surroundings and statements have read them
	}
	for _, s := range b.record.strings(a) {
		b.value(role, s)
		b.packed(a, role, s)
	}
}

// value makes the subjects of one text of an argument that has a role.
func (b *builder) value(role Role, s string) {
	switch role {
	case kinds.ReadPath, kinds.WritePath, kinds.DeletePath:
		b.files.file(role, s)
	case kinds.ReadFolder, kinds.ListFolder:
		b.files.folder(role, s)
	case kinds.StagePath:
		b.files.stage(s)
	case kinds.PatternPath:
		b.files.pattern(s)
	case kinds.Command:
		b.shells.shell(s)
	case kinds.Input:
		b.input(s)
	case kinds.Code:
		b.code(s)
	case kinds.URL:
		b.record.note(kinds.URL, s)
		b.files.url(s)
	case kinds.Patch:
		b.patch(s)
	case kinds.URLText:
		for _, address := range addressesIn(s) {
			b.record.note(kinds.URL, address)
			b.files.url(address)
		}
	case kinds.URI:
		b.resource(s)
	case kinds.Name:
		b.record.note(kinds.Name, s)
		switch {
		case b.record.tool.Kind == KindConnect:
			b.files.peer(s)
			return
		case kinds.OpensSandbox(b.record.tool.Kind):
			b.openSandbox(s)
			return
		}
		b.record.own(permissions.Subject{Value: s, Decides: permissions.Form{s}, Risk: b.record.floor}, source{})
	case kinds.Revision:
		b.files.revision(s)
	}
}

// strings returns the strings that an argument holds: itself, or the elements of an array.
func (b *record) strings(a arguments.Argument) []string {
	if s, ok := arguments.Text(a.Value); ok {
		if !b.count() {
			return nil
		}
		return []string{s}
	}
	var list []string
	elements, ok := arguments.Members(a.Value)
	if ok && a.Value[firstByte(a.Value)] == '[' {
		for _, e := range elements {
			s, isText := arguments.Text(e.Value)
			if ok = isText; !ok || !b.count() {
				break
			}
			list = append(list, s)
		}
	} else {
		ok = false
	}
	if !ok {
		b.mark("unexpected-type", fmt.Sprintf("The argument %s is neither text nor a list of texts: the server may read it as anything.", wording.Quote(a.Name)))
	}
	return list
}

// count counts one more value, and reports whether the total is within the cap.
func (b *record) count() bool {
	if b.values++; b.values > arguments.MaxArguments {
		b.refuse("too-many", fmt.Sprintf("The call has more than %d values to look at.", arguments.MaxArguments))
		return false
	}
	return true
}

// raw returns the arguments for patterns of the form "arg=glob". It never returns nil, which would mean that there are
// none to match.
func (b *record) raw() []byte {
	if len(b.call.Arguments) == 0 {
		return []byte("{}")
	}
	return b.call.Arguments
}

// own adds a subject of the tool's own kind. Its risk is at least the floor.
func (b *record) own(s permissions.Subject, from source) {
	s.Kind, s.KindBound = b.tool.Kind, b.tool.Bound && !b.tool.remote
	if !s.KindBound {
		s.Arguments = b.raw()
	}
	s.Risk = s.Risk.Worse(b.floor)
	category := b.tool.category
	if b.tool.remote {
		s.Risk, category = s.Risk.Worse(permissions.Network), CategoryNetwork
	} else if from.category != "" {
		category = from.category
	}
	b.subject(s, category, from)
}

// subject adds s and keeps the worst risk and the furthest category.
//
// A file or an address that a tool of another kind opens is judged as if a tool of its own kind opened it. Rules for a
// shell are about commands, and a rule that asks about every command must not lift a deny on a file. If the tool is
// only guessed, or belongs to another machine, rules for the kind can only deny, and the tool's own rules must allow
// it.
func (b *record) subject(s permissions.Subject, category string, from source) {
	s.Tool = b.tool.Qualified
	if b.tool.Plain != s.Tool {
		s.Plain = b.tool.Plain
	}
	if s.Kind != "" && s.Kind != b.tool.Kind && s.Kind != KindShell {
		if !s.KindBound && !s.DeniesOnly {
			b.denies(s)
		} else {
			s.Tool, s.Plain = s.Kind, ""
		}
	}
	if !s.DeniesOnly {
		b.decided = true
		if kinds.CategoryOrder[category] > kinds.CategoryOrder[b.out.Category] {
			b.out.Category = category
		}
	}
	b.out.Risk = b.out.Risk.Worse(s.Risk)
	b.out.Subjects = append(b.out.Subjects, s)
	b.out.sources = append(b.out.sources, from)
}

// denies adds a subject that only denies can match.
func (b *record) denies(s permissions.Subject) {
	s.DeniesOnly, s.KindBound, s.Risk = true, true, permissions.ReadOnly
	b.subject(s, "", source{})
}

// noSubject marks a call if callgate cannot tell what it touches. Rules for the whole tool still have something to
// match.
func (b *record) noSubject() {
	b.mark("no-subject", "callgate cannot tell what the call touches.")
	b.own(permissions.Subject{Risk: permissions.Unknown}, source{})
}

// mark adds a reason why only a person can release the call.
func (b *record) mark(code, sentence string) {
	m := Mark{Code: code, Text: sentence}
	if !slices.Contains(b.out.Marks, m) {
		b.out.Marks = append(b.out.Marks, m)
	}
}

// refuse notes why the call must not run at all.
func (b *record) refuse(code, sentence string) {
	b.mark(code, sentence)
	b.out.Risk = b.out.Risk.Worse(permissions.Unknown)
	b.out.Refuse = cmp.Or(b.out.Refuse, sentence)
}

func (b *record) note(role Role, s string) { b.noted = append(b.noted, note{role, s}) }

// touch notes the absolute paths that a location leads to.
func (b *record) touch(l *workspace.Location) {
	for _, p := range l.Paths {
		if filepath.IsAbs(p) && !slices.Contains(b.out.Paths, p) {
			b.out.Paths = append(b.out.Paths, p)
		}
	}
}

// finish fills in what depends on the whole call.
func (b *builder) finish() {
	if len(b.record.out.Subjects) == 0 {
		b.record.noSubject()
	}
	b.record.out.Category = cmp.Or(b.record.out.Category, CategoryNetwork)
	b.record.out.Dir = b.record.place.Dir
	b.record.out.Runs = !b.record.tool.remote && b.record.out.Risk != permissions.ReadOnly &&
		(len(b.record.out.Commands) > 0 || b.record.tool.Kind == KindShell || b.record.tool.Kind == KindProcessInput || b.record.out.Category == kinds.CategoryGitWrite)
	if len(b.files.globs.Listed) > 0 {
		b.record.out.Paths = append(b.record.out.Paths, slices.Sorted(maps.Keys(b.files.globs.Listed))...)
	}
	b.record.out.Summary = b.record.summary()
}
