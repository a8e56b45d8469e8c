package workspace

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
)

// workspace returns the folders that $WORKSPACE stands for, also those that opens does not open.
func (p Place) workspace() []string {
	if len(p.Workspace) > 0 {
		return p.Workspace
	}
	return p.Bases()
}

// inOpenWorkspace returns the spelling of a real, absolute path below $WORKSPACE. A workspace folder may be a link.
func (p Place) inOpenWorkspace(path string) (spelling string, ok bool) {
	folders := p.workspace()
	for _, folder := range folders {
		if rel, in := Within(folder, path); in && p.opens(folder) {
			return workspaceSpelling(rel), true
		}
	}
	for _, folder := range folders {
		real, _, err := RealPath(folder)
		if err != nil || real == filepath.Clean(folder) {
			continue
		}
		if rel, in := Within(real, path); in && p.opens(folder) && p.opens(real) {
			return workspaceSpelling(rel), true
		}
	}
	return "", false
}

// Holds reports whether an absolute path lies in the workspace.
func (p Place) Holds(path string) bool {
	_, ok := p.inOpenWorkspace(path)
	return ok
}

func workspaceSpelling(rel string) string {
	if rel == "." {
		return permissions.WorkspaceVariable
	}
	return permissions.WorkspaceVariable + string(filepath.Separator) + rel
}

// spelled returns a relative path in a spelling that cannot be taken for one below $WORKSPACE, because a folder may
// really be called that.
func spelled(rel string) string {
	if strings.HasPrefix(rel, permissions.WorkspaceVariable) {
		return "./" + rel
	}
	return rel
}

// tooWide lists folders of the system. A host that starts in one, as hosts without a project do, works on no project.
var tooWide = []string{"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/private", "/private/etc", "/private/tmp",
	"/private/var", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/local", "/usr/local/bin", "/usr/bin", "/usr/sbin",
	"/var", "/var/tmp", "/Applications", "/Library", "/System", "/Users", "/Volumes",
	`C:\Users`, `C:\Windows`, `C:\Windows\System32`, `C:\Program Files`, `C:\Program Files (x86)`, `C:\ProgramData`}

// homeFolders lists folders directly in the home directory that belong to programs, or hold everything.
var homeFolders = wording.Set("library appdata downloads desktop documents")

// opens reports whether a folder may be a workspace, which the rules for $WORKSPACE cover. The root of a file system, a
// home directory, a folder that holds one, folders of the system and hidden folders directly in a home are too wide. A
// host that was started there has no project, and rules that open a project MUST NOT open all of it.
func (p Place) opens(folder string) bool {
	folder = filepath.Clean(folder)
	if !filepath.IsAbs(folder) || filepath.Dir(folder) == folder ||
		slices.ContainsFunc(tooWide, func(wide string) bool { return strings.EqualFold(folder, wide) }) {
		return false
	}
	switch filepath.ToSlash(filepath.Dir(folder)) {
	case "/home", "/Users", "C:/Users":
		return false // somebody's home
	}
	if p.Home == "" {
		return true
	}
	home := filepath.Clean(p.Home)
	if _, holds := Within(folder, home); holds {
		return false
	}
	rel, below := Within(home, folder)
	return !below || strings.ContainsRune(rel, filepath.Separator) || !strings.HasPrefix(rel, ".") && !homeFolders[strings.ToLower(rel)]
}
