package workspace

import (
	"errors"
	"path/filepath"

	"callgate/internal/gitfiles"
)

// GitIndex returns the index of the repository that dir lies in.
func GitIndex(dir string) (index string, ok bool) {
	top := gitfiles.Top(dir, true)
	if top == "" {
		return "", false
	}
	repository, err := gitfiles.Repository(top)
	return filepath.Join(repository, gitfiles.IndexName), err == nil
}

// WorkTree returns the folder that the names in an index are relative to.
func WorkTree(index string) string { return gitfiles.WorkTree(filepath.Dir(index)) }

// GitRef reports whether a name is a branch, a tag or another reference of the repository that dir lies in.
func GitRef(dir, name string) bool {
	top := gitfiles.Top(dir, true)
	if top == "" {
		return false
	}
	repository, err := gitfiles.Repository(top)
	return err == nil && gitfiles.HasRef(repository, name)
}

// trackedBeneath is DeniedBeneath for the files that a git index lists.
func (w *Walker) trackedBeneath(index string) error {
	names, err := gitfiles.Index(index)
	switch {
	case Missing(err):
		return nil
	case errors.Is(err, gitfiles.ErrLarge):
		return ErrBound
	case err != nil:
		return err
	}
	top := WorkTree(index)
	for _, name := range names {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := w.look(path); err != nil {
			return err
		}
		if w.entries++; w.entries%256 == 0 && w.late() {
			return ErrBound
		}
	}
	return nil
}
