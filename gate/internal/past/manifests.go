package past

import (
	"fmt"
	"slices"
	"sync"

	"callgate/gate/tools"
	"callgate/permissions"
)

// MarkManifest is the code of the mark for a build whose manifest the session has changed.
const MarkManifest = "manifest-changed"

// Manifests holds the files that say what a build runs and that the session has changed without a person looking. A
// program that can write them decides what `npm test` does.
type Manifests struct {
	mu    sync.Mutex
	paths []string
}

// Note notes the manifests that an allowed call writes and that nobody looked at.
func (m *Manifests) Note(a *tools.Analysis) {
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if s.DeniesOnly || len(s.Decides) == 0 || !writes(s.Kind) || !tools.IsManifest(s.Decides[0]) {
			continue
		}
		m.mu.Lock()
		if !slices.Contains(m.paths, s.Decides[0]) {
			m.paths = append(slices.Clip(m.paths), s.Decides[0])
		}
		m.mu.Unlock()
	}
}

func writes(kind string) bool {
	switch kind {
	case tools.KindWriteFile, tools.KindEditFile, tools.KindDeleteFile, tools.KindMoveFile:
		return true
	}
	return false
}

// Changed returns the manifests that nobody has looked at. The caller MUST NOT change the slice.
func (m *Manifests) Changed() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.paths
}

// LookedAt forgets the changes if the marks of an approved call showed them to a person.
func (m *Manifests) LookedAt(marks []tools.Mark) {
	if slices.ContainsFunc(marks, func(k tools.Mark) bool { return k.Code == MarkManifest }) {
		m.mu.Lock()
		m.paths = nil
		m.mu.Unlock()
	}
}

// ManifestMark marks a call that runs what a manifest says, if the session or the call itself changes that manifest.
// Such a call is a build, a test, a named script or target, a script by its path, or git where it runs hooks.
func ManifestMark(changed []string, a *tools.Analysis) (tools.Mark, bool) {
	builds := a.Builds
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if !s.DeniesOnly && len(s.Decides) > 0 && writes(s.Kind) && tools.IsManifest(s.Decides[0]) {
			changed = append(slices.Clip(changed), s.Decides[0])
		}
		builds = builds || s.Risk == permissions.BuildTest && !s.DeniesOnly
	}
	for _, file := range slices.Backward(changed) {
		runs := builds || a.Hooks && tools.IsHookManifest(file) || slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool { return slices.Contains(s.Runs, file) })
		if runs {
			return tools.Mark{Code: MarkManifest, Text: fmt.Sprintf("It runs what %s says, which this session changed and nobody has looked at since.", tools.Visible(file))}, true
		}
	}
	return tools.Mark{}, false
}
