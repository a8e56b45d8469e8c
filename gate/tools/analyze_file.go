package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
)

// unresolved returns the reason without the path, which the caller gives.
func unresolved(err error) string {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return Visible(err.Error())
}

// fileKind returns the kind of the subject that a path argument makes.
func fileKind(tool string, role Role) string {
	switch {
	case role == kinds.WritePath && tool == KindEditFile:
		return KindEditFile
	case (role == kinds.WritePath || role == kinds.DeletePath) && tool == KindMoveFile:
		return KindMoveFile
	case role == kinds.WritePath:
		return KindWriteFile
	case role == kinds.DeletePath:
		return KindDeleteFile
	case role == kinds.ListFolder, role == kinds.ReadFolder && tool == KindGlob:
		return KindGlob
	case role == kinds.ReadFolder:
		return KindGrep
	}
	return KindReadFile
}

// file makes the subjects of a path that is read, written or deleted.
func (b *files) file(role Role, given string) {
	b.fileAs(fileKind(b.record.tool.Kind, role), role, given)
}

// fileAs is file for subjects of the kind.
func (b *files) fileAs(kind string, role Role, given string) {
	b.record.note(role, given)
	if isAddress(given) {
		b.url(given) // some servers take addresses where they take paths
	}
	for _, l := range b.locate(given) {
		b.fileSubject(kind, given, &l, false)
		if b.record.tool.category == kinds.CategoryGitWrite && filepath.IsAbs(b.record.place.Dir) {
			if _, inside := workspace.Within(b.record.place.Dir, l.Real()); !inside {
				b.record.mark("outside-repository", "The path "+wording.Quote(given)+" leads out of the repository.")
			}
		}
		// A deny on one kind holds whichever way the file is reached.
		switch {
		case kind == KindMoveFile && role == kinds.DeletePath:
			b.deny(KindReadFile, &l)
			b.deny(KindWriteFile, &l)
			if info, err := os.Stat(l.Real()); err == nil && info.IsDir() {
				b.readsBeneath(l.Real()) // what lies in it leaves the paths that rules speak of
			}
		case kind == KindMoveFile, kind == KindDeleteFile:
			b.deny(KindWriteFile, &l)
		}
		if role != kinds.ReadPath {
			b.markPlaces(&l)
			b.writes(&l, role == kinds.DeletePath)
			b.wipesPath(role, kind, &l)
		}
	}
}

// stage makes the subjects of a file that is put into a repository, and can be pushed with it.
func (b *files) stage(given string) {
	b.record.note(kinds.ReadPath, given)
	for _, l := range b.locate(given) {
		b.deny(KindReadFile, &l)
		if _, ok := workspace.Within(b.record.place.Dir, l.Real()); !ok && !b.record.tool.remote && b.record.place.Dir != "" {
			b.record.mark("outside-repository", wording.Quote(l.Real())+" lies outside the repository that it is put into.")
		}
	}
}

// writes notes the paths that a written location leads to. If whole is true, that includes everything in a folder.
func (b *files) writes(l *workspace.Location, whole bool) {
	b.noteWrites(l, Written{Whole: whole})
}

// mayWrite notes the paths that a location leads to and that the call may write.
func (b *files) mayWrite(l *workspace.Location) { b.noteWrites(l, Written{Guessed: true}) }

// noteWrites notes each absolute path of the location as w says. What is known of a path replaces a guess.
func (b *files) noteWrites(l *workspace.Location, w Written) {
	for _, path := range l.Paths {
		if !filepath.IsAbs(path) {
			continue
		}
		w.Path = path
		i := slices.IndexFunc(b.record.out.Writes, func(o Written) bool { return o.Path == path })
		if i < 0 {
			b.record.out.Writes = append(b.record.out.Writes, w)
			continue
		}
		o := &b.record.out.Writes[i]
		o.Whole, o.Guessed = o.Whole || w.Whole, o.Guessed && w.Guessed
	}
}

// folder makes the subjects of a folder that is listed or read recursively.
func (b *files) folder(role Role, given string) {
	b.record.note(role, given)
	for _, l := range b.locate(given) {
		if b.record.tool.Kind == KindGlob && b.hasPattern {
			b.deny(KindGlob, &l) // what decides is the pattern, which lies in the folder
		} else {
			b.fileSubject(fileKind(b.record.tool.Kind, role), given, &l, true)
		}
		if role == kinds.ReadFolder {
			b.deny(KindReadFile, &l)
			b.readsBeneath(l.Real())
		}
	}
}

// pattern makes the subjects of a glob that selects files below the folder that another argument names.
func (b *files) pattern(given string) {
	b.record.note(kinds.PatternPath, given)
	for _, base := range b.patternBases() {
		whole := given
		if base != "" && !filepath.IsAbs(b.record.place.Expand(given)) {
			whole = strings.TrimSuffix(base, "/") + "/" + given
		}
		for _, l := range b.locate(whole) {
			if b.record.tool.Kind == KindGlob {
				if whole != given {
					l.Also = append(l.Also, append(permissions.Form{given}, l.Decides...))
				}
				b.fileSubject(KindGlob, given, &l, false)
			} else {
				b.deny(KindReadFile, &l)
			}
		}
	}
}

// patternBases returns the folders that the call names, as given; "" for where it runs.
func (b *files) patternBases() (bases []string) {
	for _, a := range b.record.list {
		if r := b.record.tool.Roles[a.Name]; r == kinds.ListFolder || r == kinds.ReadFolder {
			if s, ok := arguments.Text(a.Value); ok && s != "" {
				bases = append(bases, s)
			}
		}
	}
	if len(bases) == 0 {
		bases = append(bases, "")
	}
	return bases
}

// fileSubject adds the subject of one location. It is of the tool's own kind, or for a file that a tool of another kind
// opens besides, which needs its own allow.
func (b *files) fileSubject(kind, given string, l *workspace.Location, folder bool) {
	s := permissions.Subject{Kind: kind, Value: given, Decides: l.Decides, Also: l.Also, Risk: kinds.Of[kind].Risk}
	b.record.touch(l)
	from := source{path: l.Real(), folder: folder, category: b.fileCategory(kind, l)}
	if kind == b.record.tool.Kind {
		b.record.own(s, from)
		return
	}
	s.KindBound = b.record.tool.Bound && !b.record.tool.remote
	b.record.subject(s, from.category, from)
}

// fileCategory returns the category of what a subject of the kind does to a file. A file outside the
// workspace is the machine's.
func (b *files) fileCategory(kind string, l *workspace.Location) string {
	category := kinds.Of[kind].Category
	if category == kinds.CategoryWrite && b.record.place.Dir != "" && !b.record.tool.remote {
		if _, _, ok := b.record.place.InWorkspace(l.Real()); !ok {
			return kinds.CategoryTerminalWrite
		}
	}
	return category
}

// deny adds a subject, for denies, of another kind that must hold for the same file.
func (b *files) deny(kind string, l *workspace.Location) {
	s := permissions.Subject{Kind: kind, Value: l.Real(), Decides: l.Decides, Also: l.Also}
	b.outside(&s, l)
	b.record.denies(s)
	if s.By != nil {
		b.record.out.sources[len(b.record.out.sources)-1].path = l.Real()
	}
	b.record.touch(l)
}

// ReadSubject returns the subject of reading one file at a real, absolute path, for denies only.
func ReadSubject(path string, p Place) permissions.Subject {
	return permissions.Subject{Tool: KindReadFile, Kind: KindReadFile, KindBound: true, Value: path,
		Decides: p.Spellings(path, false), DeniesOnly: true, Risk: permissions.ReadOnly}
}

// WriteSubjects returns the subjects of writing one file at a real, absolute path, for denies only.
func WriteSubjects(path string, p Place) (subjects []permissions.Subject) {
	for _, kind := range []string{KindWriteFile, KindEditFile} {
		subjects = append(subjects, permissions.Subject{Tool: kind, Kind: kind, KindBound: true, Value: path,
			Decides: p.Spellings(path, false), DeniesOnly: true, Risk: permissions.Write})
	}
	return subjects
}

// locate returns the readings of a path and marks what makes them uncertain.
func (b *files) locate(given string) []workspace.Location {
	if len(given) > arguments.MaxPath {
		b.record.refuse("too-long", "A path is longer than any file system allows.")
		return nil
	}
	place := b.record.place
	if b.record.tool.remote {
		place = Place{} // another machine's files: nothing here says where they lead
	}
	list := place.Locate(given)
	if strings.IndexFunc(given, wording.IsControl) >= 0 {
		b.record.mark("control", "A path has control characters.")
	}
	for i := range list {
		for _, path := range list[i].Paths {
			if part := workspace.ProcessPart(path); part != "" {
				b.record.mark("process-file", "The path "+wording.Quote(given)+" leads into a process: its "+part+" can hold secrets, or be any file.")
				break
			}
		}
		if list[i].Err != nil {
			b.record.mark("unresolved-path", "callgate cannot tell where the path "+wording.Quote(given)+" leads: "+unresolved(list[i].Err)+".")
		}
		if list[i].Links > 1 && !sharedStore(list[i].Real()) {
			b.record.mark("hard-link", "The file "+wording.Quote(given)+" has further names, which rules may say something else of.")
		}
	}
	return list
}

// maxFolders bounds how many folders of one call are looked through.
const maxFolders = 32

// readsBeneath notes a folder that is read recursively, unless it lies in one that is noted.
func (b *files) readsBeneath(folder string) { b.searches(folder, nil) }

// searches is readsBeneath for a program that leaves something out.
func (b *files) searches(folder string, s *searches.Search) {
	if !filepath.IsAbs(folder) {
		return
	}
	for i, noted := range b.record.out.Folders {
		if _, ok := workspace.Within(noted, folder); ok && (b.record.out.searches[i] == nil || b.record.out.searches[i] == s) {
			return
		}
	}
	if len(b.record.out.Folders) == maxFolders {
		b.record.mark("too-many", "The call reads more folders whole than can be looked through.")
		return
	}
	b.record.out.Folders, b.record.out.searches = append(b.record.out.Folders, folder), append(b.record.out.searches, s)
}

// sharedStore reports whether a file lies in a folder that package managers fill with hard links.
func sharedStore(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		switch part {
		case "node_modules", "site-packages", ".venv", "venv", ".git", ".pnpm-store", "nix", "ostree", ".cache":
			return true
		}
	}
	return false
}

func (b *files) revision(given string) {
	b.record.note(kinds.Revision, given)
	if strings.HasPrefix(given, "-") {
		b.record.mark("option", "The revision "+wording.Quote(given)+" would be read as an option.")
	}
	if _, path, ok := strings.Cut(given, ":"); ok && path != "" {
		for _, l := range b.locate(strings.TrimPrefix(path, "/")) {
			b.deny(KindReadFile, &l)
		}
	}
}

// markPlaces marks a write, a deletion or a move that touches a protected place.
func (b *files) markPlaces(l *workspace.Location) {
	for _, path := range l.Paths {
		if p := workspace.MatchPlace(path, b.record.place.Home); p != nil {
			b.record.mark(p.Code, fmt.Sprintf("%s is %s.", wording.Quote(path), p.Why))
			return
		}
	}
	b.markDevice(l, true)
}

// markDevice marks a file that is a device, or a setting of the system.
func (b *files) markDevice(l *workspace.Location, write bool) {
	if slices.ContainsFunc(l.Paths, workspace.OwnStream) {
		return
	}
	for _, path := range l.Paths {
		if what := workspace.Device(path, write); what != "" {
			b.record.mark("device", wording.Quote(path)+" is "+what+".")
			return
		}
	}
}
