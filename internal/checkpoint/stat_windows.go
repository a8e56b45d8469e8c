package checkpoint

import "io/fs"

// identity returns zeros: a directory entry does not identify its file here.
func identity(fs.FileInfo) [2]uint64 { return [2]uint64{} }
