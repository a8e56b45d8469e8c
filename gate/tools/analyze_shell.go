package tools

import (
	"cmp"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/internal/address"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// surroundings reads the arguments that change what a command does: where it runs, what reads it, and
// under which variables.
func (b *shells) surroundings(list []arguments.Argument) {
	for _, a := range list {
		if arguments.IsNull(a.Value) {
			continue
		}
		switch b.record.tool.Roles[a.Name] {
		case kinds.Dir:
			for _, s := range b.record.strings(a) {
				b.dir(s)
			}
		case kinds.Shell:
			for _, s := range b.record.strings(a) {
				b.interpreter(s)
			}
		case kinds.Env:
			b.variables(a)
		}
	}
}

// dir notes where the call runs.
func (b *shells) dir(given string) {
	if given == "" {
		return
	}
	b.record.note(kinds.Dir, given)
	list := b.files.locate(given)
	for i := range list {
		_, _, inside := b.record.place.InWorkspace(list[i].Real())
		switch {
		case b.record.tool.Kind == KindShell:
			b.record.touch(&list[i])
		case inside || b.record.tool.remote || b.record.place.Dir == "":
			b.files.deny(KindReadFile, &list[i])
		default: // what it shows lies there
			b.files.fileSubject(KindReadFile, given, &list[i], true)
		}
	}
	if len(list) == 0 || b.record.tool.remote {
		return
	}
	real := list[0].Real()
	if b.record.tool.Kind == KindShell && b.record.place.Dir != "" {
		if _, _, ok := b.record.place.InWorkspace(real); !ok {
			b.addEffect("runs outside the workspace, in " + Visible(real))
		}
	}
	b.record.place.Roots = b.record.place.Bases()
	b.record.place.Dir = real
}

// trustedShells holds the shells whose text shellparse understands, by name.
var trustedShells = map[string]shellparse.Dialect{
	"bash": shellparse.Bash, "ksh": shellparse.Bash, "mksh": shellparse.Bash,
	"sh": shellparse.POSIX, "dash": shellparse.POSIX, "ash": shellparse.POSIX, "zsh": shellparse.Zsh,
}

// interpreter notes which program reads the command.
func (b *shells) interpreter(given string) {
	if given == "" {
		return
	}
	b.record.note(kinds.Shell, given)
	dir, base := filepath.Split(given)
	switch dialect, ok := trustedShells[strings.TrimSuffix(base, ".exe")]; {
	case ok && (dir == "" || dir == "/bin/" || dir == "/usr/bin/" || dir == "/usr/local/bin/" || dir == "/opt/homebrew/bin/"):
		b.dialect, b.named = dialect, true
	default:
		b.addEffect("is read by the program " + wording.Quote(given))
	}
}

// variables notes the environment that the call sets.
func (b *shells) variables(a arguments.Argument) {
	list, ok := arguments.Members(a.Value)
	if ok && len(list) == 0 {
		return
	}
	names := make([]string, 0, len(list))
	for _, v := range list {
		if v.Name != "" {
			names = append(names, Visible(v.Name))
		}
	}
	b.addEffect("sets variables: " + wording.Bounded(strings.Join(names, ", "), wording.MaxField))
}

// addEffect adds something that every command of the call does beyond its text.
func (b *shells) addEffect(s string) {
	if !strings.Contains(b.effect, s) {
		b.effect = joinEffects(b.effect, s)
	}
}

func joinEffects(list ...string) string {
	var kept []string
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "; ")
}

// argv makes the subjects of words that run without a shell. Words that start a shell with text are judged by that
// text.
func (b *shells) argv(a arguments.Argument) {
	words := b.record.strings(a)
	if len(words) == 0 {
		return
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = commands.ShellQuote(w)
	}
	b.shell(strings.Join(quoted, " "))
}

// shell makes the subjects of a shell text: one for every command that it can reach, and those of the files that the
// commands write and read.
func (b *shells) shell(text string) {
	b.record.note(kinds.Command, text)
	if strings.TrimSpace(text) == "" {
		return
	}
	options := shellparse.Options{Dialect: b.dialect, Dir: b.record.place.Dir, Home: b.record.place.Home}
	if s := b.record.place.Shell; s != nil {
		options.Tables = s.Tables
		if !b.named {
			options.Dialect = s.Dialect
		}
	}
	if b.record.tool.remote {
		options.Dir, options.Home = "", ""
	}
	if runtime.GOOS == "windows" && !b.named && !b.record.tool.remote {
		b.addEffect("may be read by cmd.exe or PowerShell, which read text in other ways")
	}
	script := shellparse.Parse(text, options)
	b.record.out.Operators = b.record.out.Operators || !script.Plain
	before := len(b.record.out.Subjects)
	for _, p := range script.Problems {
		b.record.mark(p.Code, wording.Bounded(p.Text, 2*wording.MaxField))
	}
	if len(script.Problems) > 0 {
		// No rule may allow it, but one that denies this text still does.
		b.shellSubject(permissions.Subject{Value: text, Also: []permissions.Form{{text}}, Effects: b.effects(nil, "", false),
			Risk: permissions.Unknown}, source{})
	}
	b.scripts(script.Commands)
	needsAllow := slices.ContainsFunc(script.Commands, func(c shellparse.Command) bool { return !c.DenyOnly })
	b.record.out.Subjects = slices.Grow(b.record.out.Subjects, 2*len(script.Commands))
	b.record.out.sources = slices.Grow(b.record.out.sources, 2*len(script.Commands))
	b.record.out.Commands = slices.Grow(b.record.out.Commands, len(script.Commands))
	for i := range script.Commands {
		if !b.record.count() {
			return
		}
		b.command(script.Commands, i, text, needsAllow)
	}
	if len(b.record.out.Subjects) == before { // it runs nothing: an assignment, an arithmetic, a comment
		b.shellSubject(permissions.Subject{Value: text, Decides: permissions.Form{text}, Effects: b.effects(nil, "", false),
			Risk: permissions.ReadOnly}, source{category: kinds.CategoryTerminalRead})
	}
}

// shellSubject adds a subject that rules for shell_exec judge, also for a tool of another kind.
func (b *shells) shellSubject(s permissions.Subject, from source) {
	if b.record.tool.Kind == KindShell {
		b.record.own(s, from)
		return
	}
	s.Kind, s.KindBound = KindShell, b.record.tool.Bound && !b.record.tool.remote
	if !s.KindBound {
		s.Arguments = b.record.raw()
	}
	s.Risk = s.Risk.Worse(b.record.floor)
	category := cmp.Or(from.category, kinds.CategoryTerminalWrite)
	b.record.subject(s, category, from)
}

// runs returns the files of this machine whose content the command executes.
func (b *shells) runs(c *shellparse.Command) []string {
	if b.record.tool.remote {
		return nil
	}
	return commands.Runs(c)
}

// command makes the subjects of the command at index at of all, the effective commands of the text whole. If it needs
// no allow of its own and another command of the text does, its subject is for denies only.
func (b *shells) command(all []shellparse.Command, at int, whole string, otherNeedsAllow bool) {
	c := &all[at]
	risk, category, why := b.classified(all, at)
	elsewhere := joinEffects(b.effect, b.toucher.lists(c, all), b.toucher.unknownWrites(all, at, whole), b.strays(c, risk))
	b.remarks(c, risk, why)
	plain := b.plainly(c)
	effects := slices.Concat(b.effects(plain, elsewhere, makesNoNames(all, at)), b.leads(c), b.turns(c), b.follows(c, risk), b.discards(c), b.loadsManifest(all, at))
	if c.Remote && c.DenyOnly {
		effects = nil // an allow for the command around it covers it
	}
	harmless := len(effects) == 0 && risk != permissions.Unknown && permissions.Destructive.Exceeds(risk) && !commands.Sends(c)
	if len(effects) > 0 && !(onlyComputes(c) && len(effects) == len(c.Effects)) {
		risk = risk.Worse(permissions.Unknown)
	}
	if c.Escalates {
		risk = permissions.Escalation
	}
	view := viewOf(c, risk.Worse(b.record.floor))
	text := plain.Text()
	switch {
	case len(c.Argv) > 0:
		b.record.out.Commands = append(b.record.out.Commands, view)
		b.shellSubject(permissions.Subject{Value: text, Decides: permissions.Form{text}, Head: c.Named, Operation: commands.Operation(plain), Also: commands.OtherForms(c, plain, b.record.place.Bases()),
			Effects: effects, Harmless: harmless, Runs: b.runs(c), Concludes: c.Concludes, DeniesOnly: c.DenyOnly && otherNeedsAllow && (len(effects) == 0 || c.Remote), Risk: risk}, source{command: plain, category: category})
		if at := len(b.record.out.Subjects) - 1; !b.record.out.Subjects[at].DeniesOnly && !c.Remote {
			b.files.reading, b.files.readsAs = plain, at
			defer func() { b.files.reader, b.files.reading = nil, nil }()
		}
	case len(effects) > 0 || c.Escalates:
		b.shellSubject(permissions.Subject{Value: whole, Decides: permissions.Form{whole}, Effects: effects, Risk: risk}, source{})
	}
	b.toucher.touches(all, at, whole)
	b.wiper.wipes(c, whole)
	b.toucher.upward(c)
	b.toucher.mentioned(c, view.Risk)
	b.toucher.addresses(c, view.Risk)
	b.toucher.recursive(c)
	b.toucher.gitObeys(c)
	b.toucher.gitReads(c)
}

// unknownWrites makes the subjects of the files that the command at index at writes and whose names are not known. It
// returns the effects of that.
func (b *toucher) unknownWrites(all []shellparse.Command, at int, whole string) (effect string) {
	for _, f := range all[at].Writes {
		if f.Path.Known {
			continue
		}
		// The patterns of a path that is not known have the same effect.
		if e := b.writesMatching(all, at, f, whole); !strings.Contains(effect, e) {
			effect = joinEffects(effect, e)
		}
	}
	return effect
}

// remarks notes what else is known of a command: why it cannot be undone, what it builds and what it may start.
func (b *shells) remarks(c *shellparse.Command, risk permissions.Risk, why string) {
	if commands.MountsHost(c) {
		b.record.mark("host-access", "A container gets the whole file system of this machine.")
	}
	if why != "" && len(b.record.why) < maxReasons && !slices.Contains(b.record.why, why) {
		b.record.why = append(b.record.why, why)
	}
	builds, hooks := commands.RunsProject(c, risk)
	builds = builds && !c.Computes
	b.record.out.Builds, b.record.out.Hooks = b.record.out.Builds || builds, b.record.out.Hooks || hooks
	if word := commands.TellsNotToAsk(c, why == commands.OtherAgent); word != "" {
		b.record.mark("ungated-agent", "It starts another agent with "+wording.Quote(word)+", which keeps that from asking about what it does.")
	}
	if risk == permissions.Unknown || len(c.Effects) > 0 {
		b.started(shellparse.Started(c, risk != permissions.Unknown))
	}
}

// classified is commands.Classify for one command of a text, with the commands inside its words. They are allowed with
// it, so it is at least as risky as they are.
func (b *shells) classified(all []shellparse.Command, at int) (risk permissions.Risk, category, why string) {
	c := &all[at]
	risk, category, why = commands.Classify(c)
	if risk == permissions.Unknown && why == "" {
		if inner := b.installed(c); inner != nil {
			risk, category, why = commands.Classify(inner)
			if risk == permissions.ReadOnly { // it is the project's file, whatever its name says
				risk, category = permissions.BuildTest, kinds.CategoryTerminalWrite
			}
		}
	}
	for i := at + 1; i < len(all) && all[i].DenyOnly && len(all[i].Via) > len(c.Via) && why == ""; i++ {
		var inner permissions.Risk
		if inner, _, why = commands.Classify(&all[i]); why != "" {
			risk = risk.Worse(permissions.Destructive)
		} else if all[i].Remote {
			risk = risk.Worse(inner)
		}
	}
	return risk, category, why
}

// viewOf returns a command as others see it.
func viewOf(c *shellparse.Command, risk permissions.Risk) CommandView {
	view := CommandView{Via: c.Via, Argv: make([]string, len(c.Argv)), Input: c.Input.Value, Connects: c.Connects, Dirs: c.Dirs, Sends: commands.Sends(c), Risk: risk}
	view.Code = slices.ContainsFunc(c.Effects, func(e shellparse.Effect) bool {
		return strings.HasPrefix(e.Text, "code ") || e.Text == "runs its standard input"
	})
	for i := range c.Argv {
		view.Argv[i] = c.Argv[i].Value
	}
	for _, e := range c.Env {
		view.Around = append(view.Around, e.Name+"="+e.Value.Value)
	}
	for _, w := range c.Globals {
		view.Around = append(view.Around, w.Value)
	}
	for _, f := range c.Writes {
		view.Writes = append(view.Writes, f.Path.Value)
	}
	for _, f := range c.Reads {
		view.Reads = append(view.Reads, f.Path.Value)
	}
	if len(c.Connects) > 0 {
		view.Risk = view.Risk.Worse(permissions.Network)
	}
	return view
}

// touches makes the subjects of the files and addresses of the command at index at of the text whole.
func (b *toucher) touches(all []shellparse.Command, at int, whole string) {
	c := &all[at]
	for _, f := range c.Writes {
		switch {
		case !b.record.count():
		case f.Path.Known && b.inNoFolder(all, at, f):
			for _, l := range b.files.locate(f.Path.Value) {
				b.files.deny(KindWriteFile, &l)
				b.files.markPlaces(&l)
			}
		case f.Path.Known:
			b.shellWrite(f, writesWhole(c, f))
		}
	}
	if len(c.Reads) > 0 {
		recursive := len(c.Argv) > 0 && commands.ReadsRecursively(c)
		leaves := searches.FoundBy(all, at)
		for _, f := range c.Reads {
			if b.record.count() {
				b.shellRead(f, whole, recursive, leaves)
			}
			if f.Path.Known && commands.Known(f.By).Has(programs.LocalDatabase) && !workspace.Exists(f.Path.Value) && b.record.count() {
				b.shellMake(f)
			}
		}
	}
	for _, address := range c.Connects {
		if b.record.count() {
			s := b.files.connection(address)
			s.KindBound, s.Risk = b.record.tool.Bound && !b.record.tool.remote, s.Risk.Worse(b.record.floor)
			b.record.subject(s, CategoryNetwork, source{})
		}
	}
}

// effects returns the effects of a command, or of a text without one if c is nil. Each says how much of the text a rule
// must spell out to name it. No rule can name elsewhere, the effects of the surroundings.
//
// If makesNoNames is true, the text creates no file names. An effect that only comes from such a name is then left to
// shellRead and matching, which look at the names that are there.
func (b *shells) effects(c *shellparse.Command, elsewhere string, makesNoNames bool) (list []permissions.Effect) {
	if c == nil {
		elsewhere = b.effect
	}
	if elsewhere != "" {
		list = append(list, permissions.Effect{Text: elsewhere})
	}
	if c == nil {
		return list
	}
	for _, e := range c.Effects {
		if e.Split && makesNoNames && tracksPlainNames(c) {
			continue
		}
		named := e.Named
		switch {
		case named > 0:
			named = commands.SpanOf(c, named)
		case named == shellparse.Whole:
			named = permissions.Whole
		default:
			named = 0
		}
		list = append(list, permissions.Effect{Text: e.Text, Named: named})
	}
	if why, words := commands.Act(c); why != "" {
		list = append(list, permissions.Effect{Text: why, Named: commands.SpanOf(c, words)})
	}
	return list
}

// makesNoNames reports whether none of the other commands of a text makes files.
func makesNoNames(all []shellparse.Command, at int) bool {
	for i := range all {
		if risk, _, _ := commands.Classify(&all[i]); i != at && (risk != permissions.ReadOnly || len(all[i].Writes) > 0) {
			return false
		}
	}
	return true
}

// started makes one subject, for denies, of all the commands that a program may start.
func (b *shells) started(commands []string) {
	if len(commands) == 0 || !b.record.count() {
		return
	}
	s := permissions.Subject{Value: commands[0], Decides: permissions.Form{commands[0]}, DeniesOnly: true, Risk: permissions.ReadOnly}
	for _, other := range commands[1:] {
		s.Also = append(s.Also, permissions.Form{other})
	}
	b.shellSubject(s, source{})
}

// maxReasons bounds how many reasons for DESTRUCTIVE commands the summary of a call gives.
const maxReasons = 3

// shellWrite makes the subject of a file that a command writes: it needs an allow of its own.
func (b *toucher) shellWrite(f shellparse.File, whole bool) {
	for _, l := range b.files.locate(f.Path.Value) {
		b.files.fileSubject(KindWriteFile, f.Path.Value, &l, false)
		last := &b.record.out.Subjects[len(b.record.out.Subjects)-1]
		last.Risk = last.Risk.Worse(workspace.DeviceRisk(l.Real()))
		b.record.out.Risk = b.record.out.Risk.Worse(last.Risk)
		b.files.markPlaces(&l)
		b.files.writes(&l, whole)
	}
}

// shellMake makes the subject of an empty file that a database client creates. In the workspace only a deny counts.
func (b *toucher) shellMake(f shellparse.File) {
	for _, l := range b.files.locate(f.Path.Value) {
		if _, _, in := b.record.place.InWorkspace(l.Real()); !in {
			b.shellWrite(f, false)
			return
		}
		b.files.deny(KindWriteFile, &l)
		b.files.markPlaces(&l)
	}
}

// writesMatching makes the subjects of a file that a command writes and whose name depends on the run: one for each
// file that its pattern matches. If these cannot be told, only denies count, and it returns an effect that says so.
func (b *toucher) writesMatching(all []shellparse.Command, at int, f shellparse.File, whole string) (effect string) {
	var paths []string
	known := !moves(&all[at]) && (!f.Split || makesNoNames(all, at))
	if known {
		paths, known = b.matching(f, whole)
	}
	if !known {
		b.shellWriteAny(f)
		return "writes to a path that depends on the run: " + wording.Quote(f.Path.Value)
	}
	for _, p := range paths {
		if b.record.count() {
			b.shellWrite(shellparse.File{Path: shellparse.Word{Value: p, Known: true}, By: f.By}, true)
		}
	}
	return ""
}

// matching returns the files that the pattern of f matches; ok is false if they cannot be told.
func (b *toucher) matching(f shellparse.File, whole string) (paths []string, ok bool) {
	if b.record.tool.remote || !filepath.IsAbs(f.Pattern) || len(f.Pattern) > arguments.MaxPath {
		return nil, false
	}
	if f.Tracked {
		paths = tracked(f.Pattern)
	} else {
		pattern := f.Pattern
		if strings.HasSuffix(pattern, "/**") {
			pattern += "/*"
		}
		found, err := b.files.globs.Expand(pattern, strings.Contains(f.Path.Value, "(") || commands.WidensGlobs(whole))
		if err != nil {
			return nil, false
		}
		paths = slices.Concat(found.Files, found.Folders)
	}
	if len(paths) > workspace.MaxGlob || f.Split && slices.ContainsFunc(paths, workspace.Splits) ||
		!edits(f.By) && slices.ContainsFunc(paths, workspace.IsFolder) { // it may put files with other names there
		return nil, false
	}
	return paths, len(paths) > 0 || !f.Tracked && f.Split && strings.Contains(f.Pattern, "/**/") // a list without names writes nothing
}

// edits reports whether a program edits files in place, always or by an option.
func edits(program string) bool {
	about := commands.Known(program)
	row := about.Row
	return about.Inspector == "formatter" || row != nil && slices.ContainsFunc(row.Options.List, func(o programs.Option) bool { return o.Does == 'm' })
}

// moves reports whether a command gives files other names, which no pattern can tell.
func moves(c *shellparse.Command) bool {
	return slices.ContainsFunc(c.Argv[:min(2, len(c.Argv))], func(w shellparse.Word) bool {
		return w.Known && commands.Known(path.Base(w.Value)).Wipes == "moved"
	})
}

// shellWriteAny makes the subjects, for denies, of the files that a command may write. Another check marks that the
// file is unknown.
func (b *toucher) shellWriteAny(f shellparse.File) {
	if b.record.tool.remote || !filepath.IsAbs(f.Pattern) || len(f.Pattern) > arguments.MaxPath {
		return
	}
	found, err := b.files.globs.Expand(f.Pattern, true)
	if err != nil || len(found.Files) > workspace.MaxGlob {
		return
	}
	for _, path := range found.Files {
		for _, l := range b.files.locate(path) {
			b.files.deny(KindWriteFile, &l)
			b.files.markPlaces(&l)
			b.files.writes(&l, true)
		}
	}
}

// inNoFolder reports whether a file that a program like cp may write would lie in its target, although that is not a
// folder and no command before it makes one: /tmp/a.bak/a of "cp a /tmp/a.bak".
func (b *toucher) inNoFolder(all []shellparse.Command, at int, f shellparse.File) bool {
	folder := filepath.Dir(f.Path.Value)
	row := commands.Known(f.By).Row
	return row != nil && (row.Operands == "rw" || moves(&all[at])) && !b.record.tool.remote && filepath.IsAbs(folder) && !workspace.IsFolder(folder) && makesNoNames(all[:at+1], at) &&
		slices.ContainsFunc(all[at].Writes, func(o shellparse.File) bool { return o.Path.Known && o.By == f.By && o.Path.Value == folder })
}

// writesWhole reports whether a command writes a folder with all that is in it. If the command is known to write
// something directly in the folder, it leaves the rest.
func writesWhole(c *shellparse.Command, f shellparse.File) bool {
	switch f.By {
	case "redirect", "mkdir", "touch":
		return false
	}
	return !slices.ContainsFunc(c.Writes, func(o shellparse.File) bool {
		return o.Path.Known && o.Path.Value != f.Path.Value && filepath.Dir(o.Path.Value) == filepath.Clean(f.Path.Value)
	})
}

// shellRead makes the subjects of a file that a command reads, for denies. A file with an unknown name could be a
// denied one, so only a person can release the call.
func (b *toucher) shellRead(f shellparse.File, whole string, recursive bool, leaves *searches.Search) {
	if f.Path.Known {
		b.files.reads(f.Path.Value)
		return
	}
	unknown := func(why string) {
		b.record.mark("unknown-read", "Which files "+wording.Quote(f.Path.Value)+" names cannot be told"+why+".")
	}
	if f.Pattern == "" || b.record.tool.remote || !filepath.IsAbs(f.Pattern) || len(f.Pattern) > arguments.MaxPath {
		unknown("")
		return
	}
	if f.Tracked && b.readsAnyTracked(f) {
		return
	}
	b.readsMatching(f, whole, recursive, leaves, unknown)
}

// readsMatching makes the subjects of the files that the pattern of f matches. It calls unknown if they cannot be told.
func (b *toucher) readsMatching(f shellparse.File, whole string, recursive bool, leaves *searches.Search, unknown func(why string)) {
	// The source of an extended glob may spell the leading dot that the pattern leaves open.
	loose := strings.Contains(f.Path.Value, "(") || commands.WidensGlobs(whole)
	found, err := b.files.globs.Expand(f.Pattern, loose)
	if err != nil {
		unknown(": " + Visible(err.Error()))
		return
	}
	if len(found.Files)+len(found.Folders) == 0 {
		b.files.reads(f.Pattern) // the name that the shell passes on, and what may be there by then
	}
	for _, folder := range found.Folders {
		if f.Split {
			if split, err := b.files.globs.Splits(folder); split || err != nil {
				unknown(", since names that are split at blanks are among them")
				return
			}
		}
		b.files.readsWhole(folder, leaves)
	}
	if f.Split && slices.ContainsFunc(found.Files, workspace.Splits) {
		unknown(", since names that are split at blanks are among them")
	}
	if len(found.Files) > workspace.MaxGlob {
		b.files.readsWhole(workspace.FixedPart(f.Pattern), nil)
		return
	}
	for _, path := range found.Files {
		b.files.reads(path)
		if recursive && workspace.IsFolder(path) {
			b.files.readsWhole(path, nil)
		}
	}
}

// reads makes the subjects of reading the file at path, for denies.
func (b *files) reads(path string) {
	for _, l := range b.locate(path) {
		b.deny(KindReadFile, &l)
		b.markDevice(&l, false)
	}
}

// readsWhole notes that a path is read, and if it is a folder, all files in it except those that leaves leaves out.
func (b *files) readsWhole(path string, leaves *searches.Search) {
	b.reads(path)
	if workspace.IsFolder(path) {
		if real, _, err := workspace.RealPath(workspace.Clean(path)); err == nil {
			path = real
		}
		b.searches(workspace.Clean(path), leaves)
	}
}

// mentioned notes the paths that the words of a command name, whatever the command does with them. An unknown command
// may read each of these files.
func (b *toucher) mentioned(c *shellparse.Command, risk permissions.Risk) {
	if b.record.tool.remote || b.record.place.Dir == "" {
		return
	}
	dirs := c.Dirs
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	for _, w := range c.Argv {
		if !w.Known || len(w.Value) > arguments.MaxPath {
			continue
		}
		value := w.Value
		if i := strings.IndexByte(value, '='); i >= 0 {
			value = value[i+1:]
		}
		value = strings.TrimPrefix(value, "@") // curl and many others: the file of that name
		if value == "" || !strings.ContainsRune(value, '/') && !strings.HasPrefix(value, "~") {
			continue
		}
		for _, dir := range dirs {
			if !b.record.count() {
				return
			}
			l := b.record.place.At(dir).Reading(b.record.place.Expand(value))
			b.record.touch(&l)
		}
	}
	if risk == permissions.Unknown || risk == permissions.Escalation || len(c.Argv) > 1 && risk == permissions.Destructive && commands.Risks(c.Argv[0].Value, c.Argv[1:]) == permissions.Unknown {
		b.mayRead(c, dirs)
	}
}

// addresses makes the subjects, for denies, of the addresses that the words of a command name, if it can use the
// network.
func (b *toucher) addresses(c *shellparse.Command, risk permissions.Risk) {
	if len(c.Argv) == 0 || permissions.Network.Exceeds(risk) || c.Remote {
		return
	}
	fetches := commands.Known(c.Argv[0].Value).Has(programs.SendsQueries)
	for _, w := range c.Argv[1:] {
		if len(w.Value) > arguments.MaxPath || !w.Known && strings.ContainsAny(w.Value, "$`") {
			continue
		}
		given := w.Value
		switch at := strings.Index(given, "://"); {
		case at > 0:
			for at > 0 && isWordByte(given[at-1]) {
				at--
			}
			given = given[at:]
		case fetches && !commands.IsOption(given) && strings.ContainsAny(given, ".:") && !strings.ContainsAny(given, " {"):
		default:
			continue
		}
		if i := strings.IndexAny(given, "\"'`<> \t\n"); i >= 0 {
			given = given[:i]
		}
		readings := address.Readings(given)
		if len(readings) == 0 || !b.record.count() {
			continue
		}
		form := permissions.Form{given}
		for _, u := range readings {
			form = append(form, u.Spellings()...)
		}
		s := permissions.Subject{Kind: KindFetch, KindBound: b.record.tool.Bound, Value: given, Decides: form, DeniesOnly: true, Risk: permissions.ReadOnly}
		b.record.subject(s, CategoryNetwork, source{})
	}
}

func isWordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// Bounds of the search among the words of an unknown command.
const (
	maxWord  = 64 << 10 // bytes of one
	maxParts = 1000     // of all together
)

// mayRead makes the subjects, for denies, of the files that the words of an unknown command name in whole or in part.
func (b *toucher) mayRead(c *shellparse.Command, dirs []string) {
	places := make([]Place, len(dirs))
	for i, dir := range dirs {
		places[i] = b.record.place.At(dir)
	}
	seen := map[string]bool{}
	for _, w := range c.Argv[min(1, len(c.Argv)):] {
		if !w.Known || len(w.Value) > maxWord {
			continue
		}
		for part := range commands.WordParts(w.Value) {
			if part == "" || part == "." || len(part) > arguments.MaxPath || seen[part] {
				continue
			}
			if len(seen) == maxParts {
				return
			}
			seen[part] = true
			for i := range places {
				if !workspace.IsRegular(places[i].Absolute(b.record.place.Expand(part))) {
					continue
				}
				if !b.record.count() {
					return
				}
				l := places[i].Reading(b.record.place.Expand(part))
				b.record.touch(&l)
				b.files.deny(KindReadFile, &l)
			}
		}
	}
}
