package rag

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"callgate/internal/durable"
)

// writer is a change of an index in progress. There is at most one on the machine.
type writer struct {
	x        *Index
	manifest manifest
	parts    []part
	owned    []bool // whether the part's bitmap belongs to this writer and not yet to a snapshot
	where    map[key]place
	next     atomic.Uint64 // number of the next segment
	dirty    bool
	earlier  []entry // segments of an index in the earlier format
}

// key names a source.
type key struct {
	path     string
	document bool
}

// place is the position of a live source.
type place struct{ part, source int }

func (s *source) key() key { return key{s.Path, s.Document} }

// change runs do as the only writer of the index. It publishes finished steps even if do fails midway.
func (x *Index) change(ctx context.Context, do func(*writer) error) (err error) {
	select {
	case <-x.writing:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { x.writing <- struct{}{} }()
	if x.disk != nil {
		unlock, err := durable.Lock(ctx, x.disk.path(lockName))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	w, err := x.newWriter()
	if err != nil {
		return err
	}
	if err = w.adoptDocuments(ctx); err == nil {
		err = do(w)
	}
	return errors.Join(err, w.finish())
}

// newWriter starts from the published state. It leaves out damaged parts; the next Sync restores them.
func (x *Index) newWriter() (*writer, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	w := &writer{x: x, where: map[key]place{}}
	if x.disk == nil {
		w.manifest = x.current.manifest
		for i := range x.current.parts {
			p := x.current.parts[i]
			w.parts = append(w.parts, part{p.retain(), p.dead})
		}
	} else if err := w.loadPublished(); err != nil {
		return nil, err
	}
	w.next.Store(w.manifest.Next)
	w.owned = make([]bool, len(w.parts))
	for i := range w.parts {
		w.learn(i)
	}
	return w, nil
}

func (w *writer) loadPublished() error {
	x := w.x
	log := x.options.Logger
	m, err := readManifest(x.disk, manifestName)
	if errors.Is(err, errDamaged) {
		log.Warn("index is damaged, going back to the state before", "dir", x.disk.dir, "error", err)
		w.dirty = true
		if m, err = readManifest(x.disk, previousName); errors.Is(err, errDamaged) {
			log.Warn("index is damaged, building it again", "dir", x.disk.dir, "error", err)
			m, err = &manifest{Format: format}, nil
		}
	}
	if errors.Is(err, errFormat) {
		log.Info("the index is of an earlier version of callgate and is built again", "dir", x.disk.dir)
		w.dirty, w.earlier = true, m.Segments
		m, err = &manifest{Format: format, Next: m.Next}, nil
	}
	if err != nil {
		return err
	}
	w.manifest = *m
	for i := range m.Segments {
		p, err := x.open(&m.Segments[i], x.current.parts)
		if err != nil && (errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist)) {
			log.Warn("a part of the index is damaged, building it again", "dir", x.disk.dir, "error", err)
			w.dirty = true
			continue
		}
		if err != nil {
			return errors.Join(err, releaseAll(w.parts))
		}
		w.parts = append(w.parts, p)
	}
	return nil
}

// adoptDocuments takes over the documents of an index in the earlier format. The next Sync reads the files again.
func (w *writer) adoptDocuments(ctx context.Context) error {
	var docs []source
	for i := range w.earlier {
		d, err := w.x.disk.earlierDocuments(&w.earlier[i])
		if err != nil && !errors.Is(err, errDamaged) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil {
			w.x.options.Logger.Warn("a part of the index of an earlier version is damaged and left out", "dir", w.x.disk.dir, "error", err)
		}
		docs = append(docs, d...)
	}
	w.earlier = nil
	return w.addDocuments(ctx, docs)
}

// learn records where the live sources of part i are.
func (w *writer) learn(i int) {
	p := &w.parts[i]
	for j := range p.rows.Sources {
		if s := &p.rows.Sources[j]; p.liveSource(s) {
			w.where[s.key()] = place{i, j}
		}
	}
}

func (w *writer) source(at place) *source { return &w.parts[at.part].rows.Sources[at.source] }

// remove removes a source and reports whether it was there.
func (w *writer) remove(k key) bool {
	at, ok := w.where[k]
	if !ok {
		return false
	}
	delete(w.where, k)
	p := &w.parts[at.part]
	if !w.owned[at.part] {
		p.dead, w.owned[at.part] = p.dead.Clone(), true
	}
	s := w.source(at)
	p.dead.AddRange(uint64(s.First), uint64(s.First+s.Rows))
	w.dirty = true
	return true
}

// add adds a segment. Its sources replace those of the same key.
func (w *writer) add(s *segment) {
	for i := range s.rows.Sources {
		w.remove(s.rows.Sources[i].key())
	}
	w.parts = append(w.parts, part{s.retain(), roaring.New()})
	w.owned = append(w.owned, true)
	w.learn(len(w.parts) - 1)
	w.dirty = true
}

func (w *writer) newName() string { return fmt.Sprintf("%08x", w.next.Add(1)-1) }

// drop removes everything.
func (w *writer) drop() {
	for k := range w.where {
		w.remove(k)
	}
}

// finish compacts the index, publishes what is not yet published, and ends the change.
func (w *writer) finish() error {
	err := w.compact()
	if w.dirty {
		err = errors.Join(err, w.publish())
		if d := w.x.disk; d != nil && err == nil {
			err = w.sweep()
		}
	}
	return errors.Join(err, releaseAll(w.parts))
}

// publish makes the writer's state the one that searches use, here and in every process.
func (w *writer) publish() error {
	x := w.x
	w.leaveOutEmpty()
	m := w.manifest
	m.Next, m.Segments = w.next.Load(), nil
	for i := range w.parts {
		p := &w.parts[i]
		e := entry{Name: p.name, Files: p.files, Embedder: p.embedder}
		if !p.dead.IsEmpty() {
			var err error
			if e.Dead, err = p.dead.ToBytes(); err != nil {
				return err
			}
		}
		m.Segments = append(m.Segments, e)
	}
	var stat fs.FileInfo
	if x.disk != nil {
		if err := m.write(x.disk); err != nil {
			return err
		}
		var err error
		if stat, err = os.Stat(x.disk.path(manifestName)); err != nil {
			return err
		}
	}
	parts := make([]part, len(w.parts))
	for i := range w.parts {
		parts[i] = part{w.parts[i].retain(), w.parts[i].dead}
		w.owned[i] = false
	}
	w.manifest, w.dirty = m, false
	s := newSnapshot(m, parts, stat)
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current
	x.current = s
	return old.release()
}

// sweep removes files that neither the manifest nor the previous one names. No write may be in progress.
func (w *writer) sweep() error {
	d := w.x.disk
	keep := map[string]bool{manifestName: true, previousName: true, lockName: true}
	if previous, err := readManifest(d, previousName); err == nil || errors.Is(err, errFormat) {
		for _, name := range previous.files() {
			keep[name] = true
		}
	}
	for _, name := range w.manifest.files() {
		keep[name] = true
	}
	return d.sweep(keep)
}

// leaveOutEmpty releases the parts without a live row.
func (w *writer) leaveOutEmpty() {
	kept := w.parts[:0:0]
	var owned []bool
	clear(w.where)
	for i := range w.parts {
		if w.parts[i].live() == 0 {
			if err := w.parts[i].release(); err != nil {
				w.x.options.Logger.Warn("close a segment", "error", err)
			}
			continue
		}
		kept, owned = append(kept, w.parts[i]), append(owned, w.owned[i])
	}
	w.parts, w.owned = kept, owned
	for i := range w.parts {
		w.learn(i)
	}
}
