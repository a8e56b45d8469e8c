package gate

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxGitFile bounds, in bytes, what is read of a repository to learn its branch. Nothing of the repository is run.
const maxGitFile = 4 << 10

// BranchOf is the branch that is checked out in the folder, or in the repository that it lies in; the commit's first
// digits when there is none, "" outside repositories.
func BranchOf(folder string) string {
	if folder == "" {
		return ""
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if !info.IsDir() { // a work tree beside its repository
				at, ok := strings.CutPrefix(firstLineOf(git), "gitdir: ")
				if !ok {
					return ""
				}
				if git = at; !filepath.IsAbs(git) {
					git = filepath.Join(dir, git)
				}
			}
			head := firstLineOf(filepath.Join(git, "HEAD"))
			if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
				return branch
			}
			return head[:min(len(head), 8)]
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// firstLineOf reads the first line of a small regular file; "" for anything else.
func firstLineOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
