package permissions

import (
	"path/filepath"
	"strings"
)

// within reports whether dir is root or lies below it, by their text. Root is clean and absolute; a dir that
// is not absolute, "" included, lies nowhere.
func within(root, dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	rest, ok := strings.CutPrefix(filepath.Clean(dir), root)
	return ok && (rest == "" || rest[0] == filepath.Separator || root[len(root)-1] == filepath.Separator)
}
