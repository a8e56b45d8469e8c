package rag

// How much memory an index takes, as measured: a row has its vector, a sketch of an eighth of that, and its
// description; a worker has a segment's worth of text in hand, which takes about sixteen times as much.
const (
	rowMemory    = 160
	workerMemory = 16 * segmentSize
	maxWorkers   = 4
)

// workers is how many may read and chunk files side by side.
func (o *Options) workers() int {
	return int(max(1, min(maxWorkers, o.MaxMemory/2/workerMemory)))
}

// rows is how many chunks the index may have.
func (o *Options) rows() int64 {
	dim := int64(o.Embedder.Dim())
	return o.MaxMemory / 2 / (dim + dim/8 + rowMemory)
}
