package rag

import "fmt"

// How much memory an index takes, as measured. A row has its vector, a sketch of an eighth of that size, and its
// description. A worker has up to segmentSize bytes of text in hand, which take about sixteen times as much.
const (
	rowMemory    = 160
	workerMemory = 16 * segmentSize
	maxWorkers   = 4
)

// workers returns how many goroutines may read and chunk files side by side.
func (o *Options) workers() int {
	return int(max(1, min(maxWorkers, o.MaxMemory/2/workerMemory)))
}

// rows returns how many chunks the index may have.
func (o *Options) rows() int64 { return o.MaxMemory / 2 / o.bytesPerRow() }

// bytesPerRow returns roughly how many bytes a row takes.
func (o *Options) bytesPerRow() int64 {
	dim := int64(o.Embedder.Dim())
	return dim + dim/8 + rowMemory
}

// sourceBytes returns roughly how many bytes a file or document takes. A document that is not yet split has one chunk.
func (o *Options) sourceBytes(s *source) int64 {
	n := len(s.Path) + len(s.Title) + len(s.Text)
	for key, value := range s.Metadata {
		n += len(key) + len(value)
	}
	return int64(n) + int64(max(1, s.Rows))*o.bytesPerRow()
}

// room returns an error if docs do not fit into the index. The documents that they replace do not count.
func (w *writer) room(docs []source) error {
	o := &w.x.options
	var taken int64
	goes := map[key]bool{}
	for i := range docs {
		goes[docs[i].key()] = true
		taken += o.sourceBytes(&docs[i])
	}
	for k, at := range w.where {
		if !goes[k] {
			taken += o.sourceBytes(w.source(at))
		}
	}
	if taken > o.MaxMemory/2 {
		return fmt.Errorf("%s: remove documents first", o.noRoom())
	}
	return nil
}

func (o *Options) noRoom() string {
	return fmt.Sprintf("no room: the index may take %d MiB of memory", o.MaxMemory>>20)
}
