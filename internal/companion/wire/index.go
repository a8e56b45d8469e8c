package wire

// IndexStart: a workspace is being indexed.
type IndexStart struct {
	Head
	Path       string `json:"path"`
	TotalFiles int    `json:"totalFiles"`
}

// IndexProgress: how far that is.
type IndexProgress struct {
	Head
	IndexedFiles int    `json:"indexedFiles"`
	TotalFiles   int    `json:"totalFiles"`
	CurrentFile  string `json:"currentFile"`
}

// IndexDone: the index is up to date.
type IndexDone struct {
	Head
	FileCount  int   `json:"fileCount"`
	ChunkCount int   `json:"chunkCount"`
	Duration   int64 `json:"duration"` // milliseconds
}
