package checkpoint

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/gitfiles"
	"callgate/rag"
)

// Workspaces returns the top folders of the git repositories that contain dirs, without links and each once. It leaves
// out a repository that contains the home folder, because nobody works on all of that.
func (s *Store) Workspaces(dirs []string) (tops []string) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		top := gitfiles.Top(real, false)
		if top == "" || seen[top] || s.o.Home != "" && beneath(s.o.Home, top) || s.o.Protected(top) {
			continue
		}
		seen[top] = true
		tops = append(tops, top)
	}
	return tops
}

// workspaceRules decides what of a git workspace is kept: what is tracked, and what is not ignored. It reads all of
// that as data. No git command runs in the workspace, so no filter, hook or monitor of the repository does.
type workspaceRules struct {
	ignore     rag.GitIgnore
	tracked    map[string]bool // files, and every folder with a tracked file
	everything bool            // in an ignored folder: keep only what is tracked
}

// readWorkspace reads what the repository at top tracks and ignores. If its index cannot be read, nothing counts as
// tracked, so ignored files are left out.
func (s *Store) readWorkspace(top string) *workspaceRules {
	w := &workspaceRules{ignore: s.ignore.get(top)}
	tracked, err := readIndex(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.o.Logger.Warn("what git tracks cannot be read: ignored files are not kept", "workspace", top, "error", err)
	}
	w.tracked = tracked
	return w
}

// workspaceAround returns the rules for path, which is at rel in a git workspace. It returns nil if path is in none.
func (s *Store) workspaceAround(path string) (w *workspaceRules, rel string) {
	top := gitfiles.Top(filepath.Dir(path), false)
	if top == "" || s.o.Home != "" && beneath(s.o.Home, top) {
		return nil, "."
	}
	rel, err := filepath.Rel(top, path)
	if err != nil {
		return nil, "."
	}
	rel = filepath.ToSlash(rel)
	w = s.readWorkspace(top)
	parts := strings.Split(rel, "/")
	for i := range parts { // down to the folder that contains it
		at := strings.Join(parts[:i], "/")
		w = w.inside(os.DirFS(filepath.Join(top, at)), cmp.Or(at, "."))
		if i < len(parts)-1 && w.leavesOut(strings.Join(parts[:i+1], "/"), true) {
			return &workspaceRules{tracked: w.tracked, everything: true}, rel
		}
	}
	return w, rel
}

// ignoreCache caches the results of rag.ReadGitIgnore, which has to ask git, by top folder.
type ignoreCache struct {
	mu   sync.Mutex
	tops map[string]cachedIgnore
}

type cachedIgnore struct {
	rules rag.GitIgnore
	read  time.Time
}

// ignoreFresh is how long cached ignore rules are used.
const ignoreFresh = time.Minute

func (c *ignoreCache) get(top string) rag.GitIgnore {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, ok := c.tops[top]; ok && time.Since(i.read) < ignoreFresh {
		return i.rules
	}
	if c.tops == nil {
		c.tops = map[string]cachedIgnore{}
	}
	i := cachedIgnore{rag.ReadGitIgnore(top), time.Now()}
	c.tops[top] = i
	return i.rules
}

// inside returns the rules in the folder rel.
func (w *workspaceRules) inside(dir fs.FS, rel string) *workspaceRules {
	everything := w.everything || rel != "." && w.ignore.Ignores(rel, true) // it was entered for its tracked files
	return &workspaceRules{ignore: w.ignore.Inside(dir, rel), tracked: w.tracked, everything: everything}
}

func (w *workspaceRules) leavesOut(rel string, dir bool) bool {
	return path.Base(rel) == ".git" || !w.tracked[rel] && (w.everything || w.ignore.Ignores(rel, dir))
}

// readIndex returns the files that git tracks, and the folders that contain them.
func readIndex(top string) (tracked map[string]bool, err error) {
	repository, err := gitfiles.Repository(top)
	if err != nil {
		return nil, err
	}
	names, err := gitfiles.Index(filepath.Join(repository, gitfiles.IndexName))
	if err != nil {
		return nil, err
	}
	tracked = make(map[string]bool, len(names))
	for _, name := range names {
		for ; name != "." && name != "/" && !tracked[name]; name = path.Dir(name) {
			tracked[name] = true
		}
	}
	return tracked, nil
}
