package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may lead through, as in kernels.
const maxLinks = 40

var errLinks = errors.New("too many symbolic links")

// dirEntry is what is at a path: whether it is a link or may be one, and the hard links of a regular file.
type dirEntry struct {
	mode  fs.FileMode
	links uint64
}

// RealPath resolves every symbolic link of an absolute path, even one that dangles: what does not exist yet would be
// created behind the link. links is the number of hard links of a regular file, or 0 if there is none or the system
// does not tell. On an error real is only partly resolved, and MUST NOT be relied on.
func RealPath(path string) (real string, links uint64, err error) {
	volume := filepath.VolumeName(path)
	real = volume + string(filepath.Separator)
	rest, whole := path[len(volume):], true // whole: real is a prefix of path
	for followed := 0; rest != ""; {
		var part string
		if i := strings.IndexByte(rest, filepath.Separator); i >= 0 {
			part, rest = rest[:i], rest[i+1:]
		} else {
			part, rest = rest, ""
		}
		switch part {
		case "", ".":
			whole = whole && len(real) == len(volume)+1 && part == ""
			continue
		case "..":
			real, whole = filepath.Dir(real), false
			continue
		}
		var next string
		switch end := len(path) - len(rest) - 1; {
		case whole && rest == "":
			next = path
		case whole:
			next = path[:end]
		case real[len(real)-1] != filepath.Separator:
			next = real + string(filepath.Separator) + part
		default:
			next = real + part
		}
		info, err := lookAt(next)
		if err != nil {
			real = filepath.Join(next, rest)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				return real, 0, nil
			}
			return real, 0, err
		}
		target, isLink, err := info.target(next)
		if err != nil {
			return filepath.Join(next, rest), 0, err
		}
		if !isLink {
			real = next
			if rest == "" {
				links = info.links
			}
			continue
		}
		whole = false
		if followed++; followed > maxLinks {
			return filepath.Join(next, rest), 0, errLinks
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			real = volume + string(filepath.Separator)
			target = target[len(volume):]
		}
		if rest == "" {
			rest = target
		} else {
			rest = target + string(filepath.Separator) + rest
		}
	}
	return canonicalName(real), links, nil
}

// Holds reports whether what is at an absolute path is the file at another absolute path, or a folder around it. Links
// of either kind, and the case of letters where the system ignores it, make no difference.
func Holds(path, file string) bool {
	if _, in := Within(Clean(path), Clean(file)); in {
		return true
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	real, _, err := RealPath(file)
	if err != nil {
		return true // nobody can tell
	}
	for _, at := range []string{file, real} {
		for ; ; at = filepath.Dir(at) {
			if there, err := os.Stat(at); err == nil && os.SameFile(info, there) {
				return true
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return false
}
