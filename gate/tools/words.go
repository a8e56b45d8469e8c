package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// plainly returns the command as an allow looks at it, with its paths spelled plainly: src/../../x is ../x, so that a
// rule for src/* does not cover it. If a link makes the path lead elsewhere, the real path replaces it.
func (b *shells) plainly(c *shellparse.Command) *shellparse.Command {
	plain := c
	labels := len(c.Argv) > 0 && commands.Known(c.Argv[0].Value).Has(programs.TakesLabels)
	for i, w := range c.Argv {
		value := w.Value
		if labels && strings.HasPrefix(value, "//") {
			continue
		}
		if w.Known && strings.Contains(value, "/") {
			value = commands.SpelledPlainly(value)
		}
		if value == w.Value {
			continue
		}
		if real, ok := b.behindLinks(c, w.Value); ok {
			value = real
		}
		if plain == c {
			plain = new(*c)
			plain.Argv = slices.Clone(c.Argv)
		}
		plain.Argv[i].Value = value
	}
	return plain
}

// behindLinks returns where a path that goes up leads, if the folder it goes up from is a link.
func (b *shells) behindLinks(c *shellparse.Command, value string) (string, bool) {
	if b.record.tool.remote || b.record.place.Dir == "" || !strings.Contains(value, "..") {
		return "", false
	}
	raw := b.record.place.At(c.Dir).AbsoluteRaw(b.record.place.Expand(value))
	real, err := filepath.EvalSymlinks(raw)
	if err != nil { // the folder may exist although the file does not
		folder, rest := raw, ""
		for err != nil && strings.Contains(folder, "..") {
			i := strings.LastIndexByte(folder, filepath.Separator)
			if i < 0 {
				return "", false
			}
			folder, rest = folder[:i], folder[i:]+rest
			real, err = filepath.EvalSymlinks(folder)
		}
		if err != nil {
			return "", false
		}
		real += rest
	}
	lexical, _, err := workspace.RealPath(filepath.Clean(raw))
	if err != nil || lexical == filepath.Clean(real) {
		return "", false
	}
	return portable(filepath.Clean(real)), true
}

// wordOf returns the length in bytes of the command's text up to the end of the word that names one of the paths, or 0
// if none does.
func (b *files) wordOf(c *shellparse.Command, paths []string) int {
	for i := len(c.Argv) - 1; i >= 0; i-- {
		value := c.Argv[i].Value
		if k := strings.IndexByte(value, '='); k >= 0 {
			value = value[k+1:]
		}
		for _, dir := range append(slices.Clip(c.Dirs), c.Dir) {
			if value != "" && slices.Contains(paths, b.record.place.At(dir).Absolute(b.record.place.Expand(value))) {
				return commands.SpanOf(c, i+1)
			}
		}
	}
	return 0
}

// leads returns an effect for each script that a command runs and that links take out of the workspace. A rule must
// name it.
func (b *shells) leads(c *shellparse.Command) (effects []permissions.Effect) {
	for _, path := range b.runs(c) {
		if real := b.outOf(path); real != "" {
			effects = append(effects, permissions.Effect{Text: "leads to " + Visible(real), Named: b.files.wordOf(c, []string{path})})
		}
	}
	return effects
}

// turns returns an effect if ln makes a link behind another link and its target goes up, because the text does not show
// where that leads.
func (b *shells) turns(c *shellparse.Command) (effects []permissions.Effect) {
	if b.record.tool.remote || b.record.place.Dir == "" || c.Remote || len(c.Argv) == 0 || commands.Known(c.Argv[0].Value).Name != "ln" {
		return nil
	}
	goesUp := func(w shellparse.Word) bool { return slices.Contains(strings.Split(w.Value, "/"), "..") }
	behind := func(f shellparse.File) bool {
		folder := filepath.Dir(b.record.place.Absolute(f.Path.Value))
		real, _, err := workspace.RealPath(folder)
		_, there, _ := b.record.place.InWorkspace(real)
		_, here, _ := b.record.place.InWorkspace(folder)
		return err != nil || here != there
	}
	if at := slices.IndexFunc(c.Argv[1:], goesUp); at >= 0 && slices.ContainsFunc(c.Writes, behind) {
		effects = append(effects, permissions.Effect{Text: "links up from behind a link", Named: commands.SpanOf(c, at+2)})
	}
	return effects
}

// loadsManifest returns an effect if code for Node.js that requires ./package.json may get another file. If that is not
// a plain file, Node.js runs what a link leads to, package.json.js or a folder.
func (b *shells) loadsManifest(all []shellparse.Command, at int) (effects []permissions.Effect) {
	c := &all[at]
	asks := func(w shellparse.Word) bool {
		return strings.Contains(w.Value, "require(") && strings.Contains(w.Value, "package.json")
	}
	if b.record.tool.remote || b.record.place.Dir == "" || c.Remote || len(c.Argv) == 0 || !commands.Known(c.Argv[0].Value).Has(programs.Interpreter) ||
		!slices.ContainsFunc(c.Argv[1:], asks) {
		return nil
	}
	other := c.Anywhere || len(c.Within) > 0
	for i := range all {
		other = other || i != at && slices.ContainsFunc(all[i].Writes, func(f shellparse.File) bool {
			return !f.Path.Known || !strings.HasPrefix(f.Path.Value, "/dev/")
		})
	}
	for _, dir := range append(slices.Clip(c.Dirs), c.Dir) {
		manifest := filepath.Join(b.record.place.At(dir).Dir, "package.json")
		info, err := os.Lstat(manifest)
		if err == nil && info.Mode().IsRegular() {
			continue
		}
		other = other || err == nil
		for _, extension := range []string{".js", ".node"} {
			_, err := os.Lstat(manifest + extension)
			other = other || err == nil
		}
	}
	if other {
		effects = append(effects, permissions.Effect{Text: "runs the file in place of package.json"})
	}
	return effects
}

// discards returns an effect if the only word of git checkout names files, whose changes are lost: they exist, and no
// branch, tag or commit has that name. If nobody can look, a name with an extension counts as a file.
func (b *shells) discards(c *shellparse.Command) (effects []permissions.Effect) {
	at := commands.MayDiscard(c)
	if at == 0 {
		return nil
	}
	name := c.Argv[at].Value
	lost := commands.LooksLikeFile(name)
	if !b.record.tool.remote && b.record.place.Dir != "" && !c.Remote {
		lost = slices.ContainsFunc(append(slices.Clip(c.Dirs), c.Dir), func(dir string) bool {
			place := b.record.place.At(dir)
			return workspace.Exists(place.Absolute(b.record.place.Expand(name))) && !workspace.GitRef(place.Dir, name)
		})
	}
	if lost {
		effects = append(effects, permissions.Effect{Text: "discards changes of " + Visible(name), Named: commands.SpanOf(c, at+1)})
	}
	return effects
}

// configured reports whether a program, or the subcommand that a command names, runs what the files around it say.
func configured(c *shellparse.Command) bool {
	name := []string{commands.Known(c.Argv[0].Value).Name}
	for _, w := range c.Argv[1:min(3, len(c.Argv))] {
		if !w.Known || programs.Find(name...).Has(programs.Configured) {
			break
		}
		name = append(name, w.Value)
	}
	return programs.Find(name...).Has(programs.Configured)
}

// runsIn returns the folders that a command may run in; ok is false if they cannot be told.
func (b *toucher) runsIn(c *shellparse.Command) (folders []string, ok bool) {
	for _, dir := range c.Dirs {
		folders = append(folders, b.record.place.At(dir).Dir)
	}
	for _, pattern := range c.Within {
		found, err := b.files.globs.Expand(pattern+"/", false)
		if err != nil || len(found.Files) > workspace.MaxGlob {
			return nil, false
		}
		folders = slices.Concat(folders, found.Files, found.Folders)
	}
	return folders, true
}

// strays returns an effect if a command that executes what the files around it say runs outside the workspace, because
// of a link or of something that depends on the run.
func (b *shells) strays(c *shellparse.Command, risk permissions.Risk) (effect string) {
	if b.record.tool.remote || b.record.place.Dir == "" || c.Remote || len(c.Argv) == 0 ||
		risk != permissions.BuildTest && !configured(c) {
		return ""
	}
	if c.Anywhere {
		return "runs in a folder that depends on the run"
	}
	folders, ok := b.toucher.runsIn(c)
	if !ok {
		return "runs in folders that cannot be told"
	}
	for _, folder := range folders {
		real, _, err := workspace.RealPath(folder)
		if _, _, in := b.record.place.InWorkspace(real); err != nil || !in {
			return "runs outside the workspace, in " + Visible(folder)
		}
	}
	return ""
}

// follows returns an effect for each word that names a place of the workspace which links take out of it. It looks at
// commands that run, or may run, what they are given.
func (b *shells) follows(c *shellparse.Command, risk permissions.Risk) (effects []permissions.Effect) {
	if b.record.tool.remote || b.record.place.Dir == "" || c.Remote || len(c.Argv) == 0 {
		return nil
	}
	switch risk {
	case permissions.BuildTest, permissions.Network, permissions.Unknown:
	default:
		if known := commands.Known(c.Argv[0].Value); !known.Has(programs.Configured | programs.ProjectTool | programs.RunsProject | programs.Collector) {
			return nil
		}
	}
	for i, w := range c.Argv[1:] {
		if !w.Known {
			continue
		}
		value := w.Value
		if strings.HasPrefix(value, "-") {
			_, value, _ = strings.Cut(value, "=")
		}
		if strings.Contains(value, "://") || len(value) > 4096 {
			continue
		}
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune("=:,;", r) }) {
			if b.leaves(c, strings.TrimSuffix(part, "/...")) {
				effects = append(effects, permissions.Effect{Text: "leads outside the workspace: " + Visible(part), Named: commands.SpanOf(c, i+2)})
				break
			}
		}
	}
	return effects
}

// leaves reports whether a name of a command, in one of its folders, lies in the workspace only by its spelling.
func (b *shells) leaves(c *shellparse.Command, name string) bool {
	dirs := c.Dirs
	if !slices.Contains(dirs, c.Dir) {
		dirs = append(slices.Clip(dirs), c.Dir)
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		in := b.record.place.At(dir)
		return mayBeThere(in.Dir, name) && b.outOf(in.AbsoluteRaw(b.record.place.Expand(name))) != ""
	})
}

// mayBeThere returns false if a plain relative name is sure to lead nowhere: its folder has no entry that it begins
// with.
func mayBeThere(dir, name string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "./"), "/")
	if dir == "" || first == "" || first[0] == '.' || first[0] == '~' || strings.ContainsAny(first, `$\`) {
		return true
	}
	_, err := os.Lstat(filepath.Join(dir, first))
	return !errors.Is(err, fs.ErrNotExist)
}

// outOf returns where links take a path of the workspace, if that is outside and not a Python of the system; else "".
func (b *shells) outOf(path string) string {
	real, _, err := workspace.RealPath(path)
	if path = workspace.Clean(path); err != nil || real == path {
		return ""
	}
	if _, _, in := b.record.place.InWorkspace(path); !in {
		return ""
	}
	if _, _, in := b.record.place.InWorkspace(real); in || b.isPython(path, real) {
		return ""
	}
	return real
}

// outside makes rules that ask about files count for a file that a command reads outside the workspace.
func (b *files) outside(s *permissions.Subject, l *workspace.Location) {
	if b.reading == nil || b.record.tool.remote || s.Kind != KindReadFile {
		return
	}
	if below, ok := strings.CutPrefix(l.Real(), "/dev/"); ok && !strings.HasPrefix(below, "shm/") { // where files are
		return
	}
	if _, _, in := b.record.place.InWorkspace(l.Real()); !in {
		if b.reader == nil {
			b.reader = new(b.record.out.Subjects[b.readsAs])
		}
		s.By, s.ByNamed = b.reader, b.wordOf(b.reading, l.Paths)
	}
}
