package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Bounds of one walk of DeniedBeneath.
const (
	maxEntries  = 50_000
	maxWalkTime = 500 * time.Millisecond
)

// ErrBound says that a folder holds more than could be looked at.
var ErrBound = errors.New("the folder holds more files than can be looked at")

// DeniedBeneath looks for a file below folder that denied reports, following symbolic links. found is true
// whenever the caller must assume that there is one: also when the folder is too large to look at
// (ErrBound), or when a part of it cannot be read (then path names it and err says why). A folder that does
// not exist holds nothing. A folder may be the index of a git repository: it holds the files that it lists.
func DeniedBeneath(folder string, denied func(path string) bool) (path string, found bool, err error) {
	w := walker{denied: denied, deadline: time.Now().Add(maxWalkTime), seen: map[string]bool{}}
	if filepath.Base(folder) == trackedFiles && !isFolder(folder) {
		err = w.trackedBeneath(folder)
	} else {
		err = w.walk(folder)
	}
	switch {
	case errors.Is(err, errFound):
		return w.found, true, nil
	case err != nil:
		return w.found, true, err
	}
	return "", false, nil
}

var errFound = errors.New("found")

type walker struct {
	denied   func(string) bool
	deadline time.Time
	entries  int
	seen     map[string]bool // real paths of folders that links lead to
	found    string
}

func (w *walker) late() bool { return time.Now().After(w.deadline) }

func (w *walker) walk(folder string) error {
	if w.seen[folder] {
		return nil
	}
	w.seen[folder] = true
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			w.found = path
			return err
		}
		if w.entries++; w.entries > maxEntries || w.entries%256 == 0 && w.late() {
			w.found = ""
			return ErrBound
		}
		switch {
		case entry.IsDir():
			if path != folder && w.seen[path] {
				return fs.SkipDir
			}
			return nil
		case entry.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			if w.denied(path) {
				w.found = path
				return errFound
			}
			return w.follow(path, folder)
		case w.denied(path):
			w.found = path
			return errFound
		}
		return nil
	})
}

// follow looks at what a link below folder leads to, unless the walk comes there anyway.
func (w *walker) follow(link, folder string) error {
	real, _, err := realPath(link)
	if err != nil {
		w.found = link
		return err
	}
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		w.found = link
		return err
	case !info.IsDir():
		if w.denied(real) {
			w.found = real
			return errFound
		}
		return nil
	}
	if _, inside := within(folder, real); inside {
		return nil
	}
	return w.walk(real)
}
