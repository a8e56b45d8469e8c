package gitfiles

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxPacked bounds the packed-refs file, in bytes.
const maxPacked = 8 << 20

// HasRef reports whether git takes name for a branch, a tag or another reference of the repository in this folder. It
// returns false if the references cannot be read.
func HasRef(repository, name string) bool {
	if name == "" || strings.HasPrefix(name, "/") || strings.Contains(name, "..") {
		return false
	}
	candidates := []string{"refs/" + name, "refs/tags/" + name, "refs/heads/" + name, "refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"}
	if strings.HasSuffix(name, "HEAD") || strings.HasPrefix(name, "refs/") {
		candidates = append(candidates, name)
	}
	folders := []string{repository}
	if text, err := readSmall(filepath.Join(repository, "commondir")); err == nil { // a linked work tree
		if !filepath.IsAbs(text) {
			text = filepath.Join(repository, text)
		}
		folders = append(folders, text)
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		return slices.ContainsFunc(candidates, func(ref string) bool {
			info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(ref)))
			return err == nil && info.Mode().IsRegular()
		}) || packs(folder, candidates)
	})
}

// packs reports whether one of the references is packed.
func packs(folder string, refs []string) bool {
	f, err := openRegular(filepath.Join(folder, "packed-refs"))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, maxPacked)); lines.Scan(); {
		if _, ref, ok := strings.Cut(lines.Text(), " "); ok && slices.Contains(refs, ref) {
			return true
		}
	}
	return false
}
