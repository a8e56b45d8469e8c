package checkpoint

import "io/fs"

// noWait is not needed: files of folders are never pipes.
const noWait = 0

// identity is not told by a directory entry.
func identity(fs.FileInfo) [2]uint64 { return [2]uint64{} }
