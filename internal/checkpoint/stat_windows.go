package checkpoint

import "io/fs"

// identity is not told by a directory entry.
func identity(fs.FileInfo) [2]uint64 { return [2]uint64{} }
