//go:build !unix

package ignore

import "io/fs"

// HasOtherNames returns false: on this system only an open file can tell whether it has hard links.
func HasOtherNames(fs.FileInfo) bool { return false }
