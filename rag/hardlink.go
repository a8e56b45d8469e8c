package rag

import (
	"io/fs"
	"os"
	"slices"
)

// appendLinked appends a file that must not be read, if it has other names by which it could be.
func appendLinked(secret []fs.FileInfo, d fs.DirEntry) []fs.FileInfo {
	if info, err := d.Info(); err == nil && info.Mode().IsRegular() && hasOtherNames(info) {
		secret = append(secret, info)
	}
	return secret
}

// withoutLinks takes out of files those that are denied ones under another name: linked are the places in files
// that have several names, secret the denied files that do.
func withoutLinks(files []found, linked []int, secret []fs.FileInfo, left []skipped) ([]found, []skipped) {
	for _, i := range slices.Backward(linked) {
		if slices.ContainsFunc(secret, func(s fs.FileInfo) bool { return os.SameFile(s, files[i].info) }) {
			left = append(left, skipped{files[i].name, "denied: another name of a denied file"})
			files = slices.Delete(files, i, i+1)
		}
	}
	return files, left
}
