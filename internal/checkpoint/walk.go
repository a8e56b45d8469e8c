package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/nolink"
)

// openFolderOf opens the folder that contains path, which is absolute, and returns the last element of path as name. No
// element of the path may be a link; a folder that became a link after the call was judged is an error. If a folder on
// the way is missing or something else is in its place, the error is fs.ErrNotExist or nolink.ErrNoFolder, and stop is
// the outermost such path. The caller MUST look at stop itself before saying anything about path.
//
// The walk begins at the workspace if path is in it and the workspace has no links, or else at the root of the file
// system.
func openFolderOf(path, workspace string) (dir *os.Root, name, stop string, err error) {
	path = filepath.Clean(path)
	anchor := filepath.VolumeName(path) + string(filepath.Separator)
	if workspace != "" && path != workspace && beneath(path, workspace) {
		if real, err := filepath.EvalSymlinks(workspace); err == nil && real == workspace {
			anchor = workspace
		}
	}
	rel, err := filepath.Rel(anchor, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return nil, "", "", fmt.Errorf("%s cannot be kept", path)
	}
	root, err := os.OpenRoot(anchor)
	if err != nil {
		return nil, "", "", err
	}
	defer root.Close()
	dir, name, at, err := nolink.FolderOf(root, rel)
	if at = filepath.Join(anchor, at); errors.Is(err, fs.ErrNotExist) || errors.Is(err, nolink.ErrNoFolder) {
		return nil, "", at, err
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("%s: %w", at, err)
	}
	return dir, name, "", nil
}

// beneath reports whether path is folder or is inside it. Both MUST be clean and absolute.
func beneath(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator)))
	return ok && (rest == "" || rest[0] == filepath.Separator)
}
