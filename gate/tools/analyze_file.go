package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/permissions"
)

// fileKind returns the kind of the subject that a path argument makes.
func fileKind(tool string, role Role) string {
	switch {
	case role == WritePath && tool == KindEditFile:
		return KindEditFile
	case (role == WritePath || role == DeletePath) && tool == KindMoveFile:
		return KindMoveFile
	case role == WritePath:
		return KindWriteFile
	case role == DeletePath:
		return KindDeleteFile
	case role == ListFolder, role == ReadFolder && tool == KindGlob:
		return KindGlob
	case role == ReadFolder:
		return KindGrep
	}
	return KindReadFile
}

// file makes the subjects of a path that is read, written or deleted.
func (b *builder) file(role Role, given string) {
	b.fileAs(fileKind(b.tool.Kind, role), role, given)
}

// fileAs makes them of the kind.
func (b *builder) fileAs(kind string, role Role, given string) {
	b.note(role, given)
	if isAddress(given) {
		b.url(given) // some servers take addresses where they take paths
	}
	for _, l := range b.locate(given) {
		b.fileSubject(kind, given, &l, false)
		if b.tool.category == CategoryGitWrite && filepath.IsAbs(b.place.Dir) {
			if _, inside := within(b.place.Dir, l.real()); !inside {
				b.mark("outside-repository", "The path "+quote(given)+" leads out of the repository.")
			}
		}
		// A deny on one kind holds whichever way the file is reached.
		switch {
		case kind == KindMoveFile && role == DeletePath:
			b.deny(KindReadFile, &l)
			b.deny(KindWriteFile, &l)
			if info, err := os.Stat(l.real()); err == nil && info.IsDir() {
				b.readsBeneath(l.real()) // what lies in it leaves the paths that rules speak of
			}
		case kind == KindMoveFile, kind == KindDeleteFile:
			b.deny(KindWriteFile, &l)
		}
		if role != ReadPath {
			b.markPlaces(&l)
			b.writes(&l, role == DeletePath)
			b.wipesPath(role, kind, &l)
		}
	}
}

// stage makes the subjects of a file that is put into a repository, and goes wherever that goes.
func (b *builder) stage(given string) {
	b.note(ReadPath, given)
	for _, l := range b.locate(given) {
		b.deny(KindReadFile, &l)
		if _, ok := within(b.place.Dir, l.real()); !ok && !b.tool.remote && b.place.Dir != "" {
			b.mark("outside-repository", quote(l.real())+" lies outside the repository that it is put into.")
		}
	}
}

// writes notes the paths that a location which is written leads to. With whole, what is in a folder goes with it.
func (b *builder) writes(l *location, whole bool) {
	for _, path := range l.paths {
		if !filepath.IsAbs(path) {
			continue
		}
		if i := slices.IndexFunc(b.out.Writes, func(w Written) bool { return w.Path == path }); i >= 0 {
			b.out.Writes[i].Whole = b.out.Writes[i].Whole || whole
		} else {
			b.out.Writes = append(b.out.Writes, Written{Path: path, Whole: whole})
		}
	}
}

// folder makes the subjects of a folder that is listed or read recursively.
func (b *builder) folder(role Role, given string) {
	b.note(role, given)
	for _, l := range b.locate(given) {
		if b.tool.Kind == KindGlob && b.hasPattern {
			b.deny(KindGlob, &l) // what decides is the pattern, which lies in the folder
		} else {
			b.fileSubject(fileKind(b.tool.Kind, role), given, &l, true)
		}
		if role == ReadFolder {
			b.deny(KindReadFile, &l)
			b.readsBeneath(l.real())
		}
	}
}

// pattern makes the subjects of a glob that selects files below the folder that another argument names.
func (b *builder) pattern(given string) {
	b.note(PatternPath, given)
	for _, base := range b.patternBases() {
		whole := given
		if base != "" && !filepath.IsAbs(b.place.expand(given)) {
			whole = strings.TrimSuffix(base, "/") + "/" + given
		}
		for _, l := range b.locate(whole) {
			if b.tool.Kind == KindGlob {
				if whole != given {
					l.also = append(l.also, append(permissions.Form{given}, l.decides...))
				}
				b.fileSubject(KindGlob, given, &l, false)
			} else {
				b.deny(KindReadFile, &l)
			}
		}
	}
}

// patternBases returns the folders that the call names, as given; "" for where it runs.
func (b *builder) patternBases() (bases []string) {
	for _, a := range b.list {
		if r := b.tool.Roles[a.name]; r == ListFolder || r == ReadFolder {
			if s, ok := text(a.value); ok && s != "" {
				bases = append(bases, s)
			}
		}
	}
	if len(bases) == 0 {
		bases = append(bases, "")
	}
	return bases
}

// fileSubject adds the subject of one location: of the tool's own kind, or a file that a tool of another
// kind opens besides, which needs an allow of its own.
func (b *builder) fileSubject(kind, given string, l *location, folder bool) {
	s := permissions.Subject{Kind: kind, Value: given, Decides: l.decides, Also: l.also, Risk: kinds[kind].risk}
	b.touch(l)
	from := source{path: l.real(), folder: folder, category: b.fileCategory(kind, l)}
	if kind == b.tool.Kind {
		b.own(s, from)
		return
	}
	s.KindBound = b.tool.Bound && !b.tool.remote
	b.subject(s, from.category, from)
}

// fileCategory returns the category of what a subject of the kind does to a file. A file outside the
// workspace is the machine's.
func (b *builder) fileCategory(kind string, l *location) string {
	category := kinds[kind].category
	if category == CategoryWrite && b.place.Dir != "" && !b.tool.remote {
		if _, _, ok := b.place.inWorkspace(l.real()); !ok {
			return CategoryTerminalWrite
		}
	}
	return category
}

// deny adds a subject for denies on another kind that must hold for the same file.
func (b *builder) deny(kind string, l *location) {
	s := permissions.Subject{Kind: kind, Value: l.real(), Decides: l.decides, Also: l.also}
	b.outside(&s, l)
	b.denies(s)
	if s.By != nil {
		b.out.sources[len(b.out.sources)-1].path = l.real()
	}
	b.touch(l)
}

// ReadSubject is the reading of one file at a real, absolute path, for denials alone.
func ReadSubject(path string, p Place) permissions.Subject {
	return permissions.Subject{Tool: KindReadFile, Kind: KindReadFile, KindBound: true, Value: path,
		Decides: p.spellings(path, false), DeniesOnly: true, Risk: permissions.ReadOnly}
}

// WriteSubjects are the ways to write one file at a real, absolute path, for denials alone.
func WriteSubjects(path string, p Place) (subjects []permissions.Subject) {
	for _, kind := range []string{KindWriteFile, KindEditFile} {
		subjects = append(subjects, permissions.Subject{Tool: kind, Kind: kind, KindBound: true, Value: path,
			Decides: p.spellings(path, false), DeniesOnly: true, Risk: permissions.Write})
	}
	return subjects
}

// locate reads a path and marks what makes it uncertain.
func (b *builder) locate(given string) []location {
	if len(given) > maxPath {
		b.refuse("too-long", "A path is longer than any file system takes.")
		return nil
	}
	place := b.place
	if b.tool.remote {
		place = Place{} // another machine's files: nothing here says where they lead
	}
	list := place.locate(given)
	if strings.IndexFunc(given, isControl) >= 0 {
		b.mark("control", "A path holds control characters.")
	}
	for i := range list {
		for _, path := range list[i].paths {
			if part := processPart(path); part != "" {
				b.mark("process-file", "The path "+quote(given)+" leads into a process: its "+part+" can hold secrets, or be any file.")
				break
			}
		}
		if list[i].err != nil {
			b.mark("unresolved-path", "It cannot be told where the path "+quote(given)+" leads: "+Visible(list[i].err.Error())+".")
		}
		if list[i].links > 1 && !sharedStore(list[i].real()) {
			b.mark("hard-link", "The file "+quote(given)+" has further names, which rules may say something else of.")
		}
	}
	return list
}

// maxFolders bounds how many folders of one call are looked through.
const maxFolders = 32

// readsBeneath notes a folder that is read recursively, unless one that holds it is noted.
func (b *builder) readsBeneath(folder string) { b.searches(folder, nil) }

// searches is readsBeneath for a program that leaves something out.
func (b *builder) searches(folder string, s *search) {
	if !filepath.IsAbs(folder) {
		return
	}
	for i, noted := range b.out.Folders {
		if _, ok := within(noted, folder); ok && (b.out.searches[i] == nil || b.out.searches[i] == s) {
			return
		}
	}
	if len(b.out.Folders) == maxFolders {
		b.mark("too-many", "The call reads more folders whole than can be looked through.")
		return
	}
	b.out.Folders, b.out.searches = append(b.out.Folders, folder), append(b.out.searches, s)
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

// revision makes the subjects of a git revision.
func (b *builder) revision(given string) {
	b.note(Revision, given)
	if strings.HasPrefix(given, "-") {
		b.mark("option", "The revision "+quote(given)+" would be read as an option.")
	}
	if _, path, ok := strings.Cut(given, ":"); ok && path != "" {
		for _, l := range b.locate(strings.TrimPrefix(path, "/")) {
			b.deny(KindReadFile, &l)
		}
	}
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
