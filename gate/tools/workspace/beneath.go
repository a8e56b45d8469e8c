package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/gitfiles"
)

// Bounds of one walk of DeniedBeneath.
const (
	maxEntries  = 50_000
	maxWalkTime = 500 * time.Millisecond
	MaxDenied   = 50
)

// ErrBound means that a folder holds more than can be looked at.
var ErrBound = errors.New("the folder holds more files than can be looked at")

// DeniedBeneath returns the files below folder that denied reports, sorted, following symbolic links. With an error
// there may be more of them: there are too many, the folder is too large to look at (ErrBound), or a part of it cannot
// be read. A folder that does not exist holds nothing. The index of a git repository counts as a folder with the files
// that it lists.
func DeniedBeneath(folder string, denied func(path string) bool) (paths []string, err error) {
	w := Walker{Denied: denied, deadline: time.Now().Add(maxWalkTime), Seen: map[string]bool{}}
	if filepath.Base(folder) == gitfiles.IndexName && !IsFolder(folder) {
		err = w.trackedBeneath(folder)
	} else {
		err = w.Walk(folder)
	}
	slices.Sort(w.found)
	return slices.Compact(w.found), err
}

var errMany = errors.New("the folder holds many files that may not be read")

// Walker walks through folders for DeniedBeneath.
type Walker struct {
	Denied   func(string) bool
	deadline time.Time
	entries  int
	Seen     map[string]bool // folders that are walked, by their names or through links
	found    []string
}

// look notes the file if it is denied.
func (w *Walker) look(path string) error {
	if !w.Denied(path) {
		return nil
	}
	if w.found = append(w.found, path); len(w.found) > MaxDenied {
		return errMany
	}
	return nil
}

func (w *Walker) late() bool { return time.Now().After(w.deadline) }

// Walk looks at every file below folder, and at what links there lead to.
func (w *Walker) Walk(folder string) error {
	if w.Seen[folder] {
		return nil
	}
	w.Seen[folder] = true
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if w.entries++; w.entries > maxEntries || w.entries%256 == 0 && w.late() {
			return ErrBound
		}
		switch {
		case entry.IsDir():
			if path != folder && w.Seen[path] {
				return fs.SkipDir
			}
			return nil
		case entry.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			if err := w.look(path); err != nil {
				return err
			}
			return w.follow(path, folder)
		}
		return w.look(path)
	})
}

// follow looks at what a link below folder leads to, unless the walk comes there anyway.
func (w *Walker) follow(link, folder string) error {
	real, _, err := RealPath(link)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return w.look(real)
	}
	if _, inside := Within(folder, real); inside {
		return nil
	}
	return w.Walk(real)
}
