// Package gitfiles finds the git repository around a folder, and reads its files as data. It runs no git command, so
// none of the repository's filters, hooks or monitors runs. The files come from a workspace, so every read is bounded,
// and no pipe makes it wait.
package gitfiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IndexName is the name of the index file in a repository.
const IndexName = "index"

// maxSmall bounds a repository's small files, in bytes.
const maxSmall = 4 << 10

// Top returns the nearest folder, from dir upward, with a .git that is a folder or a regular file; "" if there is none.
// A .git that is a symbolic link counts only if links is set.
func Top(dir string, links bool) string {
	stat := os.Lstat
	if links {
		stat = os.Stat
	}
	return above(dir, func(dir string) bool {
		info, err := stat(filepath.Join(dir, ".git"))
		return err == nil && (info.IsDir() || info.Mode().IsRegular())
	})
}

// Bare returns the folder at or above dir that git takes for a bare repository; "" if there is none, or if a folder
// with a .git comes first.
func Bare(dir string) string {
	ordinary := func(dir string) bool { return filepath.Base(dir) == ".git" || exists(filepath.Join(dir, ".git")) }
	top := above(dir, func(dir string) bool {
		return ordinary(dir) || isFolder(filepath.Join(dir, "objects")) && isFolder(filepath.Join(dir, "refs")) && exists(filepath.Join(dir, "HEAD"))
	})
	if ordinary(top) {
		return ""
	}
	return top
}

// above returns the first folder, from dir upward, for which is returns true; "" if there is none.
func above(dir string, is func(string) bool) string {
	for !is(dir) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
	return dir
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Repository returns the repository folder of the work tree top: .git, or the folder that a .git file names, as in
// linked work trees.
func Repository(top string) (string, error) {
	git := filepath.Join(top, ".git")
	info, err := os.Stat(git)
	if err != nil || info.IsDir() {
		return git, err
	}
	text, err := readSmall(git)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", errors.New(".git names no folder")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	return dir, nil
}

// WorkTree returns the folder to which the names in a repository's index are relative.
func WorkTree(repository string) string {
	if text, err := readSmall(filepath.Join(repository, "gitdir")); err == nil { // a linked work tree
		return filepath.Dir(text)
	}
	return filepath.Dir(repository)
}

// Branch returns the branch that is checked out in the repository around folder. If there is none, it returns the first
// digits of the commit; outside a repository, "".
func Branch(folder string) string {
	top := Top(folder, true)
	if folder == "" || top == "" {
		return ""
	}
	repository, err := Repository(top)
	if err != nil {
		return ""
	}
	text, err := readSmall(filepath.Join(repository, "HEAD"))
	if err != nil {
		return ""
	}
	head, _, _ := strings.Cut(text, "\n")
	head = strings.TrimSpace(head)
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return branch
	}
	return head[:min(len(head), 8)]
}

// readSmall reads at most maxSmall bytes of a regular file, and trims blanks around them.
func readSmall(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall))
	return strings.TrimSpace(string(data)), err
}

// openRegular opens path if it is a regular file.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
