package provenance

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

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
	seen map[string]bool // by folder
}

const (
	maxSurrounding  = 256 << 10 // bytes that are read of one file
	maxSurroundings = 16        // files and remotes of one folder, and folders of a session
)

// remotes finds the addresses in a git configuration.
var remotes = lazyregexp.New(`(?m)^\s*(?:push)?url\s*=\s*(\S+)`)

// Look reads these files in the workspaces of a call, once for each folder. Only fingerprints of them are kept.
func (s *Surroundings) Look(place tools.Place, known *secrets.Memory, session *Session) {
	folders := place.Workspace
	if len(folders) == 0 {
		folders = place.Roots
	}
	if len(folders) == 0 && place.Dir != "" {
		folders = []string{place.Dir}
	}
	for _, folder := range folders {
		s.mu.Lock()
		done := s.seen[folder] || len(s.seen) >= maxSurroundings
		if !done {
			if s.seen == nil {
				s.seen = map[string]bool{}
			}
			s.seen[folder] = true
		}
		s.mu.Unlock()
		if done {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(globEscape(folder), ".env*"))
		for _, file := range files[:min(len(files), maxSurroundings)] {
			if !facts.Template(file) && tools.CredentialStore(file) != "" {
				known.LearnVariables(readBounded(file), filepath.Base(file))
			}
		}
		if session.Off {
			continue
		}
		for _, m := range remotes.FindAllStringSubmatch(readBounded(filepath.Join(folder, ".git", "config")), maxSurroundings) {
			session.Memory.Said(flow.Record, strings.TrimSuffix(m[1], ".git"), strings.ReplaceAll(m[1], ":", " "))
		}
	}
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
