// Package gitfiles finds the git repository around a folder, and reads its files as data. It runs no git command, so no
// filter, hook or monitor of the repository runs. What it reads comes from a workspace, so all of it is bounded, and
// nothing waits at a pipe.
package gitfiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IndexName is the name of the index within a repository.
const IndexName = "index"

// maxSmall bounds small files of a repository, in bytes.
const maxSmall = 4 << 10

// Top returns the folder at or above dir that has a .git, a folder or a file that names one; "" when there is none. A
// .git that is a symbolic link counts only with links.
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

// Bare returns the folder at or above dir that git takes for a repository of its own, before it finds one with a .git;
// "" if there is none.
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

// above returns the first folder, from dir upward, that is what is looked for; "" if there is none.
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

// Repository returns the folder of the repository whose work tree top is: .git, or what a .git file names, as in linked
// work trees.
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

// WorkTree returns the folder that the names in the index of a repository are relative to.
func WorkTree(repository string) string {
	if text, err := readSmall(filepath.Join(repository, "gitdir")); err == nil { // of a linked work tree
		return filepath.Dir(text)
	}
	return filepath.Dir(repository)
}

// Branch is the branch that is checked out in the folder, or in the repository that it lies in; the commit's first
// digits when there is none, "" outside repositories.
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

// readSmall reads the beginning of a regular file, without blanks around it.
func readSmall(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall))
	return strings.TrimSpace(string(data)), err
}

// openRegular opens a regular file.
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
