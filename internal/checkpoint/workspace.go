package checkpoint

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/index"

	"callgate/rag"
)

// maxIndex bounds the index of a repository, in bytes.
const maxIndex = 64 << 20

// Workspaces returns the top folders of the git repositories that hold dirs, without links and each once.
// A repository that holds the home folder is none: nobody works on all of that.
func (s *Store) Workspaces(dirs []string) (tops []string) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		top := topOf(real)
		if top == "" || seen[top] || s.o.Home != "" && beneath(s.o.Home, top) || s.o.Protected(top) {
			continue
		}
		seen[top] = true
		tops = append(tops, top)
	}
	return tops
}

// topOf returns the folder above dir, or dir itself, that has a .git.
func topOf(dir string) string {
	for at := dir; ; {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			return at
		}
		parent := filepath.Dir(at)
		if parent == at {
			return ""
		}
		at = parent
	}
}

// workspaceRules says what of a git workspace is kept: what is tracked, and what is not ignored. All of it is
// read as data: no git command runs, so that no filter, hook or monitor of a repository does.
type workspaceRules struct {
	ignore     rag.GitIgnore
	tracked    map[string]bool // files, and every folder that holds one
	everything bool            // it is in a folder that is ignored: only what is tracked is kept
}

// readWorkspace reads what the repository at top tracks and ignores. An index that cannot be read tracks
// nothing: what is ignored is left out then.
func (s *Store) readWorkspace(top string) *workspaceRules {
	w := &workspaceRules{ignore: s.ignore.get(top)}
	tracked, err := readIndex(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.o.Logger.Warn("what git tracks cannot be read: ignored files are not kept", "workspace", top, "error", err)
	}
	w.tracked = tracked
	return w
}

// workspaceAround returns the rules for what is in path, which lies in a git workspace at rel; nil when it
// lies in none.
func (s *Store) workspaceAround(path string) (w *workspaceRules, rel string) {
	top := topOf(filepath.Dir(path))
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
	for i := range parts { // down to the folder that holds it
		at := strings.Join(parts[:i], "/")
		w = w.inside(os.DirFS(filepath.Join(top, at)), cmp.Or(at, "."))
		if i < len(parts)-1 && w.leavesOut(strings.Join(parts[:i+1], "/"), true) {
			return &workspaceRules{tracked: w.tracked, everything: true}, rel
		}
	}
	return w, rel
}

// ignoreCache remembers what the user has git ignore everywhere, which git itself has to be asked for.
type ignoreCache struct {
	mu   sync.Mutex
	tops map[string]cachedIgnore
}

type cachedIgnore struct {
	rules rag.GitIgnore
	read  time.Time
}

// ignoreFresh is how long what the user ignores is believed.
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

// inside returns the rules within the folder rel.
func (w *workspaceRules) inside(dir fs.FS, rel string) *workspaceRules {
	everything := w.everything || rel != "." && w.ignore.Ignores(rel, true) // it was entered for what is tracked in it
	return &workspaceRules{ignore: w.ignore.Inside(dir, rel), tracked: w.tracked, everything: everything}
}

func (w *workspaceRules) leavesOut(rel string, dir bool) bool {
	return path.Base(rel) == ".git" || !w.tracked[rel] && (w.everything || w.ignore.Ignores(rel, dir))
}

// readIndex returns the files that git tracks, and the folders that hold them. The index comes from the
// workspace, so it is read as hostile: bounded, never a pipe, and a panic of the reader is an error.
func readIndex(top string) (tracked map[string]bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			tracked, err = nil, fmt.Errorf("the index is damaged: %v", r)
		}
	}()
	dir, err := gitDir(top)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat("index")
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxIndex {
		return nil, errors.New("the index is no file, or too large")
	}
	f, err := openFile(root, "index", info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var x index.Index
	if err := index.NewDecoder(bufio.NewReader(io.LimitReader(f, maxIndex))).Decode(&x); err != nil {
		return nil, err
	}
	tracked = make(map[string]bool, len(x.Entries))
	for _, e := range x.Entries {
		for name := e.Name; name != "." && name != "/" && !tracked[name]; name = path.Dir(name) {
			tracked[name] = true
		}
	}
	return tracked, nil
}

// gitDir returns the folder of the repository: .git, or what a .git file names, as in worktrees.
func gitDir(top string) (string, error) {
	at := filepath.Join(top, ".git")
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(".git")
	if err != nil || info.IsDir() {
		return at, err
	}
	if !info.Mode().IsRegular() || info.Size() > 4096 {
		return "", errors.New(".git is neither a folder nor a small file")
	}
	f, err := openFile(root, ".git", info)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := readAll(f, info.Size())
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", errors.New(".git names no folder")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	return dir, nil
}
