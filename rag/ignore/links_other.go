//go:build !unix

package ignore

import "io/fs"

// HasOtherNames reports whether the file has hard links, which only an open file tells here: none are looked for.
func HasOtherNames(fs.FileInfo) bool { return false }
