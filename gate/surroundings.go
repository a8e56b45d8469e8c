package gate

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
)

// surroundings are what a session knows of its workspaces beside what results say: the values in .env files, which must not
// leave, and the remotes of the repository, which are the user's own places.
type surroundings struct {
	named sync.Once // what the user named is known
	mu    sync.Mutex
	seen  map[string]bool // by folder
}

const (
	maxSurrounding  = 256 << 10 // bytes of one file that are read
	maxSurroundings = 16        // files of one folder, and folders of a session
)

// remotes finds the addresses in a git configuration.
var remotes = lazyregexp.New(`(?m)^\s*(?:push)?url\s*=\s*(\S+)`)

// look reads what stands in the workspaces of a call, once for each. Nothing of it is kept but fingerprints.
func (s *Session) look(place tools.Place) {
	s.around.named.Do(func() {
		for _, c := range s.gate.credentials() {
			s.secrets.LearnValue(c.Value, c.Place)
		}
	})
	folders := place.Workspace
	if len(folders) == 0 {
		folders = place.Roots
	}
	if len(folders) == 0 && place.Dir != "" {
		folders = []string{place.Dir}
	}
	for _, folder := range folders {
		s.around.mu.Lock()
		known := s.around.seen[folder] || len(s.around.seen) >= maxSurroundings
		if !known {
			if s.around.seen == nil {
				s.around.seen = map[string]bool{}
			}
			s.around.seen[folder] = true
		}
		s.around.mu.Unlock()
		if known {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(globEscape(folder), ".env*"))
		for _, file := range files[:min(len(files), maxSurroundings)] {
			if !facts.Template(file) && tools.CredentialStore(file) != "" {
				s.secrets.LearnVariables(readBounded(file), filepath.Base(file))
			}
		}
		if s.flow.Off {
			continue
		}
		for _, m := range remotes.FindAllStringSubmatch(readBounded(filepath.Join(folder, ".git", "config")), maxSurroundings) {
			s.flow.Memory.Said(flow.Record, strings.TrimSuffix(m[1], ".git"), strings.ReplaceAll(m[1], ":", " "))
		}
	}
}

// globEscape makes filepath.Glob take a folder as it is.
func globEscape(folder string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(folder)
}

// readBounded returns the beginning of a regular file, "" for anything else.
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
