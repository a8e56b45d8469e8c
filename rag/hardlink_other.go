//go:build !unix

package rag

import "io/fs"

// hasOtherNames reports whether the file has hard links, which only an open file tells here: none are looked for.
func hasOtherNames(fs.FileInfo) bool { return false }
