package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// Dir returns the folder of the logs in callgate's data directory. Open, Read, Follow and Verify take this folder.
func Dir(dataDir string) string { return filepath.Join(dataDir, "audit") }

// Options of a Log. A zero field means its default.
type Options struct {
	SyncEvery   time.Duration // a record is on the disk at most this long after Append; 200 ms
	AnchorEvery time.Duration // how often the manifest vouches for new records; 1 min
	MaxFile     int64         // bytes after which the log continues in a new file; 64 MiB
	MaxRecord   int           // bytes of one record's line; 64 KiB, at least 32 KiB, at most 4 MiB
	MaxString   int           // bytes after which a string is cut; 4 KiB

	// Anchor gets the head of the manifest whenever this log moves it, so that it can be stored where a local user
	// cannot rewrite it. Appends wait for Anchor, so it MUST return at once and MUST NOT use the Log.
	Anchor func(Head)

	// Trouble is called with an error if the disk is full, and with nil once there is room again. The rules for Anchor
	// apply to it too.
	Trouble func(error)
}

func (o Options) withDefaults() Options {
	o.SyncEvery = positive(o.SyncEvery, 200*time.Millisecond)
	o.AnchorEvery = positive(o.AnchorEvery, time.Minute)
	o.MaxFile = positive(o.MaxFile, 64<<20)
	o.MaxRecord = min(max(positive(o.MaxRecord, 64<<10), 32<<10), 4<<20)
	o.MaxString = positive(o.MaxString, 4<<10)
	return o
}

func positive[T ~int | ~int64](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// ErrClosed is what Append returns after Close.
var ErrClosed = errors.New("audit: the log is closed")

// Log is one process's chain of records. It is safe for concurrent use.
type Log struct {
	disk     disk
	dir      string
	options  Options
	manifest *manifest

	mu      sync.Mutex // guards all below; held during the write itself, so that records are written in order
	segment *segment
	seq     uint64 // of the last record
	head    string // hash of the last record, or of the open entry if the file has none
	opened  string // hash of the open entry of the file
	gap     *gap   // the period without room; nil while there is room
	last    time.Time
	vouched uint64    // number of the last record that the manifest knows
	dirty   bool      // written since the last sync
	since   time.Time // when dirty became true
	buf     []byte    // reused
	err     error     // why nothing can be appended any more
	closed  bool

	wake chan struct{} // dirty became true
	stop chan struct{}
	done chan struct{} // the background goroutine has ended
}

// Open starts a new log in dir, which it creates if it is missing. It seals the logs that killed processes left. The
// caller MUST close the Log.
func Open(dir string, o Options) (*Log, error) { return open(dir, o, osDisk{}) }

func open(dir string, o Options, d disk) (*Log, error) {
	l := &Log{
		disk: d, dir: dir, options: o.withDefaults(), manifest: &manifest{dir: dir, disk: d},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := l.start(); err != nil {
		return nil, fmt.Errorf("audit: open a log in %s: %w", dir, err)
	}
	go l.run()
	return l, nil
}

func (l *Log) start() error {
	if err := l.disk.makeDir(l.dir); err != nil {
		return err
	}
	var left []abandoned
	err := l.openSegment(func() (seals []entry, err error) {
		left, err = findAbandoned(l.disk, l.dir)
		for _, a := range left {
			if a.seal != nil {
				seals = append(seals, *a.seal)
			}
		}
		return seals, err
	})
	for _, a := range left {
		err = errors.Join(err, a.release(l.disk, err == nil))
	}
	if err != nil && l.segment != nil {
		err = errors.Join(err, l.segment.file.Close(), l.segment.lock.Close())
	}
	return err
}

// openSegment starts a new file. It writes the entries that prior returns to the manifest, in one write with the new
// file's open entry. The chain continues: the new file's first record follows the open entry, which names the last
// record of the old file.
func (l *Log) openSegment(prior func() ([]entry, error)) error {
	var next *segment
	entries, err := l.manifest.update(func() ([]entry, error) {
		entries, err := prior()
		if err != nil {
			return nil, err
		}
		if next, err = createSegment(l.disk, l.dir, time.Now()); err != nil {
			return nil, err
		}
		opened := entry{Kind: entryOpen, File: next.name(), Records: l.seq, Head: l.head, PID: pid}
		if l.segment != nil {
			opened.Continues = l.segment.name()
		}
		return append(entries, opened), nil
	})
	if err != nil {
		if next != nil && !errors.Is(err, errManifest) {
			return errors.Join(err, next.discard())
		}
		if next != nil {
			// The manifest may name the file. It stays, with its lock file, for the next process to seal.
			return errors.Join(err, next.file.Close(), next.lock.Close())
		}
		return err
	}
	l.segment, l.head, l.vouched = next, entries[len(entries)-1].Hash, l.seq
	l.opened = l.head
	l.anchor(entries)
	return nil
}

// Append redacts r, writes it as the next record and returns it as written. When it returns without an error, the
// operating system has the whole line, so it survives the end of the process. After an error the record MUST count as
// not written, and the recorded thing MUST NOT happen. If the end of the file is unknown after an error, every later
// Append fails. After a full disk, Append fails until there is room again.
func (l *Log) Append(r Record) (Record, error) {
	original := r
	r.redact(l.options.MaxString, l.options.MaxRecord/2)

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		if l.err != nil {
			return Record{}, l.err
		}
		return Record{}, ErrClosed
	}
	if l.err != nil || l.gap != nil || l.manifest.damaged.Load() > 0 {
		if err := l.resume(); err != nil {
			l.noteRefusal(err)
			return Record{}, err
		}
	}
	written, err := l.write(original, r)
	if err != nil {
		l.noteRefusal(err)
	}
	return written, err
}

// write writes r, the redacted form of original, as the next record. The caller MUST hold l.mu.
func (l *Log) write(original, r Record) (Record, error) {
	if l.segment.size >= l.options.MaxFile {
		if err := l.rotate(); err != nil {
			return Record{}, fmt.Errorf("audit: continue in a new file: %w", err)
		}
	}
	now := time.Now().UTC().Round(0)
	if now.Before(l.last) {
		now = l.last // the clock was set back: times within a log never fall, and Read relies on it
	}
	r.Seq, r.Time, r.Prev, r.Hash = l.seq+1, now, l.head, ""
	l.buf = r.appendBody(l.buf[:0])
	if len(l.buf)+sealSize+1 > l.options.MaxRecord {
		r = shrink(original, r, l.options.MaxRecord)
		l.buf = r.appendBody(l.buf[:0])
	}
	l.buf, r.Hash = appendSealed(l.buf)
	n, err := l.segment.file.Write(l.buf)
	if err != nil {
		err = fmt.Errorf("audit: write a record: %w", err)
		if n > 0 && (!noSpace(err) || !l.cutBack()) {
			_ = l.fail(err) // sticky: the next Append returns it
		}
		return Record{}, err
	}
	l.seq, l.head, l.last = r.Seq, r.Hash, now
	l.segment.size += int64(n)
	if !l.dirty {
		l.dirty, l.since = true, now
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return r, nil
}

// cutBack removes a partial record from the end of the file. It returns false if the end is then unknown. The caller
// MUST hold l.mu.
func (l *Log) cutBack() bool {
	return l.segment.file.Truncate(l.segment.size) == nil && l.segment.check() == nil
}

// Unsynced returns how long the oldest unsynced record has waited, or 0 if there is none.
func (l *Log) Unsynced() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dirty {
		return 0
	}
	return max(0, time.Since(l.since))
}

// shrink makes a record that is over the limit fit: shorter strings, no arguments, fewer subjects.
func shrink(original, written Record, limit int) Record {
	for _, to := range []struct{ str, subjects int }{{1 << 10, 16}, {64, 8}} {
		r := original
		r.Omitted = max(0, len(r.Subjects)-to.subjects)
		r.Subjects = r.Subjects[:len(r.Subjects)-r.Omitted]
		r.redact(to.str, 0)
		r.Seq, r.Time, r.Prev, r.Hash = written.Seq, written.Time, written.Prev, ""
		written = r
		if len(r.appendBody(nil))+sealSize+1 <= limit {
			break
		}
	}
	return written
}

// rotate continues the log in a new file. The caller MUST hold l.mu.
func (l *Log) rotate() error {
	old := l.segment
	if err := errors.Join(old.check(), old.file.Sync()); err != nil {
		return l.fail(err)
	}
	err := l.openSegment(func() ([]entry, error) { return []entry{l.entry(entryClose)}, nil })
	if errors.Is(err, errManifest) {
		return l.fail(err)
	}
	if err != nil {
		return err
	}
	return errors.Join(old.file.Close(), old.unlock())
}

// entry returns a manifest entry with the current end of the log. The caller MUST hold l.mu.
func (l *Log) entry(kind string) entry {
	return entry{Kind: kind, File: l.segment.name(), Records: l.seq, Head: l.head}
}

// fail makes every later Append fail. The caller MUST hold l.mu.
func (l *Log) fail(err error) error {
	if l.err == nil {
		l.err = fmt.Errorf("audit: log %s is broken: %w", l.segment.name(), err)
	}
	return l.err
}

// anchor passes the head of the manifest to Options.Anchor after entries were written.
func (l *Log) anchor(entries []entry) {
	if l.options.Anchor != nil {
		last := entries[len(entries)-1]
		l.options.Anchor(Head{File: manifestName, Seq: last.Seq, Hash: last.Hash})
	}
}

// Close makes every record durable and records in the manifest that the log is complete. It leaves a broken log for the
// next process to seal, and returns its error. A second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	close(l.stop)
	<-l.done

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		if err := l.complete(); err != nil {
			_ = l.fail(err) // sticky: the next Append returns it
		}
	}
	if l.err != nil {
		return errors.Join(l.err, l.segment.file.Close(), l.segment.lock.Close())
	}
	if err := errors.Join(l.segment.file.Close(), l.segment.unlock()); err != nil {
		return fmt.Errorf("audit: close log %s: %w", l.segment.name(), err)
	}
	return nil
}

func (l *Log) complete() error {
	if err := errors.Join(l.segment.check(), l.segment.file.Sync()); err != nil {
		return err
	}
	entries, err := l.manifest.update(func() ([]entry, error) { return []entry{l.entry(entryClose)}, nil })
	if err == nil {
		l.anchor(entries)
	}
	return err
}
