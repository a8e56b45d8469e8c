package provenance

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/internal/lazyregexp"
	"callgate/internal/secrets"
)

// Surroundings learns what a session knows of its workspaces besides results: the values in .env files, which must not
// leave, and the remotes of the repository, which are the user's own places.
type Surroundings struct {
	mu   sync.Mutex
	seen map[string]*surrounding // by folder
}

// surrounding is one folder, as it was when it was looked at.
type surrounding struct {
	at    time.Time            // zero if it is to be looked at again, as of the files
	files []string             // with variables
	read  map[string]time.Time // the times of those that were read
}

const (
	maxSurrounding  = 256 << 10 // bytes that are read of one file
	maxSurroundings = 16        // files and remotes of one folder, and folders of a session

	settled = 2 * time.Second
)

// remotes finds the addresses in a git configuration.
var remotes = lazyregexp.New(`(?m)^\s*(?:push)?url\s*=\s*(\S+)`)

// Look reads these files in the workspaces of a call: variables whenever they change, remotes once for each folder,
// because a session could add its own. Only fingerprints of them are kept.
func (s *Surroundings) Look(place tools.Place, known *secrets.Memory, session *Session) {
	folders := place.Workspace
	if len(folders) == 0 {
		folders = place.Roots
	}
	if len(folders) == 0 && place.Dir != "" {
		folders = []string{place.Dir}
	}
	s.mu.Lock() // other calls wait until all is known
	defer s.mu.Unlock()
	for _, folder := range folders {
		w, done := s.seen[folder]
		if !done {
			if len(s.seen) >= maxSurroundings {
				continue
			}
			if s.seen == nil {
				s.seen = map[string]*surrounding{}
			}
			w = &surrounding{read: map[string]time.Time{}}
			s.seen[folder] = w
		}
		for _, file := range w.changed(folder) {
			known.LearnVariables(readBounded(file), filepath.Base(file))
		}
		if done || session.Off {
			continue
		}
		for _, m := range remotes.FindAllStringSubmatch(readBounded(filepath.Join(folder, ".git", "config")), maxSurroundings) {
			session.Memory.Said(flow.Record, strings.TrimSuffix(m[1], ".git"), strings.ReplaceAll(m[1], ":", " "))
		}
	}
}

// changed returns the files of variables that have changed.
func (w *surrounding) changed(folder string) (files []string) {
	if at := timeOf(folder); at.IsZero() || !at.Equal(w.at) {
		found, _ := filepath.Glob(filepath.Join(globEscape(folder), ".env*"))
		found = found[:min(len(found), maxSurroundings)]
		w.at, w.files = at, slices.DeleteFunc(found, func(file string) bool { return facts.Template(file) || tools.CredentialStore(file) == "" })
		maps.DeleteFunc(w.read, func(file string, _ time.Time) bool { return !slices.Contains(w.files, file) })
	}
	for _, file := range w.files {
		if at := timeOf(file); at.IsZero() || !at.Equal(w.read[file]) {
			w.read[file] = at
			files = append(files, file)
		}
	}
	return files
}

// timeOf is when a file or a folder changed last. It is zero if nobody knows, or if that was so recent that the next
// change can have the same time.
func timeOf(path string) time.Time {
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) >= settled {
		return info.ModTime()
	}
	return time.Time{}
}

// globEscape escapes a folder for filepath.Glob.
func globEscape(folder string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(folder)
}

// readBounded returns the beginning of a regular file, or "" for anything else.
func readBounded(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSurrounding))
	if err != nil {
		return ""
	}
	return string(text)
}
