package gate

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools"
	"callgate/permissions"
)

// markBeneath is the code of the mark for denied files below a folder that is read whole.
const markBeneath = "denied-beneath"

// beneath holds the denied files in the folders that a call reads whole.
type beneath struct {
	marks  []tools.Mark
	folder string   // real paths of all these folders, as one list
	files  []string // all denied files, sorted
	unsure bool     // there may be more files, or no grant is possible
}

// beneath finds the denied files in the folders that the call reads whole.
func (j *Judge) beneath(call Call, a *tools.Analysis) (b beneath) {
	var folders []string
	for i, folder := range a.Folders {
		paths, cure, err := a.DeniedBeneath(i, func(path string) bool {
			own := j.Protected.Holds(path)
			b.unsure = b.unsure || own
			return own || j.deniesReading(path, call)
		})
		real, resolve := filepath.EvalSymlinks(folder)
		b.unsure = b.unsure || err != nil || resolve != nil || tools.HoldsHome(call.Place, real)
		folders = append(folders, real)
		switch {
		case len(paths) > 0:
			text := fmt.Sprintf("The call reads a whole folder that contains %s, which may not be read.", tools.Visible(filesOf(paths)))
			if cure != "" {
				text += " It need not ask: " + tools.Visible(cure) + "."
			}
			b.marks = append(b.marks, tools.Mark{Code: markBeneath, Text: text})
			b.files = append(b.files, paths...)
		case err != nil:
			b.marks = append(b.marks, tools.Mark{Code: markBeneath, Text: fmt.Sprintf("The folder %s is read as a whole and cannot be looked through: %v.", tools.Visible(folder), err)})
		}
	}
	slices.Sort(folders)
	slices.Sort(b.files)
	b.folder, b.files = strings.Join(slices.Compact(folders), string(filepath.ListSeparator)), slices.Compact(b.files)
	return b
}

// filesOf names the first of the files.
func filesOf(paths []string) string {
	if len(paths) <= 3 {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more files", strings.Join(paths[:2], ", "), len(paths)-2)
}

// digest returns what a grant is bound to. It changes with the folders, and with the set of denied files.
func (b *beneath) digest() string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "%q %q", b.folder, b.files)))
}

// reader returns the index of the one subject for which a grant for a folder with denied files is possible: the call
// only reads, and is one plain command or one tool. It returns -1 for other calls.
func reader(a *tools.Analysis) int {
	if a.Risk != permissions.ReadOnly || a.Operators || len(a.Commands) > 1 || len(a.Commands) == 1 && len(a.Commands[0].Via) > 0 {
		return -1
	}
	only := -1
	for i := range a.Subjects {
		s := &a.Subjects[i]
		switch {
		case len(s.Effects) > 0:
			return -1
		case s.DeniesOnly:
		case only >= 0:
			return -1
		default:
			only = i
		}
	}
	return only
}

// beneathMarks returns the marks for denied files below folders that the call reads whole, or none if a grant is for
// exactly these files. It sets that grant in the finding, or offers it in v.
func (j *Judge) beneathMarks(v *Verdict, call Call) []tools.Mark {
	if len(v.Analysis.Folders) == 0 {
		return nil
	}
	b := j.beneath(call, v.Analysis)
	if len(b.marks) == 0 || b.unsure {
		return b.marks
	}
	i := reader(v.Analysis)
	if i < 0 || i >= len(v.Findings) {
		return b.marks
	}
	from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: j.Now, Session: j.circumstances(call)}
	if g := permissions.FolderGrant(j.Policy, from, &v.Analysis.Subjects[i], b.folder, b.digest()); g != nil {
		v.Findings[i].Grant = g
		return nil
	}
	v.offers = tools.FolderOffers(v.Analysis, i, b.folder, b.files, b.digest())
	return b.marks
}
