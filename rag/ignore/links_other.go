//go:build !unix

package ignore

import "io/fs"

// HasOtherNames returns false. On this system only an open file can tell whether it has hard links, so callgate does
// not check.
func HasOtherNames(fs.FileInfo) bool { return false }
