package gate

import (
	"fmt"
	"slices"
	"sync"

	"callgate/internal/tools"
	"callgate/permissions"
)

// markManifest is the code of the mark for a build whose manifest the session has changed.
const markManifest = "manifest-changed"

// manifests are the files that say what a build runs and that the session has changed without anybody
// having looked: whoever can write them decides what `npm test` does.
type manifests struct {
	mu    sync.Mutex
	paths []string
}

// note takes over what an allowed call writes. A call that a person approved was looked at.
func (m *manifests) note(v *Verdict) {
	if v.Decision == DecidedApproved {
		return
	}
	for i := range v.Analysis.Subjects {
		s := &v.Analysis.Subjects[i]
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

func (m *manifests) changed() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.paths
}

// lookedAt forgets the changes: a person has approved a call that was marked for them.
func (m *manifests) lookedAt(marks []tools.Mark) {
	if slices.ContainsFunc(marks, func(k tools.Mark) bool { return k.Code == markManifest }) {
		m.mu.Lock()
		m.paths = nil
		m.mu.Unlock()
	}
}

// manifestMark marks a build or test command of a session that changed what it runs.
func (j *Judge) manifestMark(a *tools.Analysis) (tools.Mark, bool) {
	if len(j.Changed) == 0 {
		return tools.Mark{}, false
	}
	for i := range a.Subjects {
		if s := &a.Subjects[i]; s.Risk == permissions.BuildTest && !s.DeniesOnly {
			return tools.Mark{Code: markManifest, Text: fmt.Sprintf("It runs what %s says, which this session changed and nobody has looked at since.", tools.Visible(j.Changed[len(j.Changed)-1]))}, true
		}
	}
	return tools.Mark{}, false
}
