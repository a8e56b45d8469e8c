package wire

// IndexStart means that the indexing of a workspace has begun.
type IndexStart struct {
	Head
	Path       string `json:"path"`
	TotalFiles int    `json:"totalFiles"`
}

// IndexProgress says how far the indexing is.
type IndexProgress struct {
	Head
	IndexedFiles int    `json:"indexedFiles"`
	TotalFiles   int    `json:"totalFiles"`
	CurrentFile  string `json:"currentFile"`
}

// IndexDone means that the index is up to date.
type IndexDone struct {
	Head
	FileCount  int   `json:"fileCount"`
	ChunkCount int   `json:"chunkCount"`
	Duration   int64 `json:"duration"` // milliseconds
}
