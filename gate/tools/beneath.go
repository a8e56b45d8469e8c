package tools

import (
	"fmt"
	"path/filepath"

	"callgate/gate/tools/internal/searches"
	"callgate/gate/tools/workspace"
)

// DeniedBeneath is the function of that name for the i-th of the folders that the call reads whole: what the program leaves
// out counts as not there. cure says how it would leave out the first file; "" when it cannot.
func (a *Analysis) DeniedBeneath(i int, denied func(path string) bool) (paths []string, cure string, err error) {
	folder := a.Folders[i]
	var s *searches.Search
	if i < len(a.searches) {
		s = a.searches[i]
	}
	paths, err = workspace.DeniedBeneath(folder, func(path string) bool { return denied(path) && !s.LeavesOut(folder, path) })
	if len(paths) > 0 && s != nil && s.Cure != "" {
		cure = fmt.Sprintf(s.Cure, filepath.Base(paths[0]))
	}
	return paths, cure, err
}
