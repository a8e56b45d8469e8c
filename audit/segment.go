package audit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const logExt = ".jsonl"

// nameTime is the layout of the time that begins a log's file name. Names sort by start. Windows allows no colon.
const nameTime = "20060102T150405.000000000Z"

func newLogName(now time.Time) string {
	var id [8]byte
	rand.Read(id[:]) // never fails
	return now.UTC().Format(nameTime) + "-" + hex.EncodeToString(id[:]) + logExt
}

func isLogName(name string) bool {
	stem, ok := strings.CutSuffix(name, logExt)
	if !ok || len(stem) != len(nameTime)+1+16 {
		return false
	}
	_, err := time.Parse(nameTime, stem[:len(nameTime)])
	return err == nil && stem[len(nameTime)] == '-' && strings.Trim(stem[len(nameTime)+1:], "0123456789abcdef") == ""
}

// segment is one file of a log. The process that writes it holds a lock on the file's name plus lockExt. A process that
// gets the lock knows that the writer is gone.
type segment struct {
	disk disk
	path string
	file file
	lock io.Closer
	size int64 // bytes written
}

func createSegment(d disk, dir string, now time.Time) (*segment, error) {
	path := filepath.Join(dir, newLogName(now))
	lock, err := d.lock(path+lockExt, 0)
	if err != nil {
		return nil, err
	}
	s := &segment{disk: d, path: path, lock: lock}
	if s.file, err = d.create(path); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	return s, nil
}

func (s *segment) name() string { return filepath.Base(s.path) }

// check returns an error if somebody else has replaced, removed or resized the file since the last write.
func (s *segment) check() error {
	ours, err := s.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(ours, there):
		return errors.New("the file was removed or replaced")
	case err != nil:
		return err
	case ours.Size() != s.size:
		return fmt.Errorf("the file has %d bytes where %d were written", ours.Size(), s.size)
	}
	return nil
}

// unlock releases and removes the lock, because nobody writes the file any more.
func (s *segment) unlock() error {
	return errors.Join(s.lock.Close(), removeLock(s.disk, s.path+lockExt))
}

// discard undoes createSegment.
func (s *segment) discard() error {
	return errors.Join(s.file.Close(), s.disk.remove(s.path), s.unlock())
}

// removeLock removes a lock file. Another process that seals the same log may have removed it already.
func removeLock(d disk, path string) error {
	if err := d.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// abandoned is a log whose process ended without closing it.
type abandoned struct {
	lock io.Closer
	path string // of the log
	seal *entry // the manifest entry for it; nil if its last line is not a record
}

// findAbandoned returns the logs in dir that nobody closed and whose lock is free. The caller MUST hold the manifest's
// lock and MUST release what it gets, also after an error.
func findAbandoned(d disk, dir string) (found []abandoned, err error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base, ok := strings.CutSuffix(name.Name(), lockExt)
		if !ok || !isLogName(base) {
			continue
		}
		path := filepath.Join(dir, base)
		lock, err := d.lock(path+lockExt, 0)
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return found, err
		}
		found = append(found, abandoned{lock: lock, path: path})
		if found[len(found)-1].seal, err = sealAsFound(path); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (a *abandoned) release(d disk, sealed bool) error {
	if !sealed {
		return a.lock.Close()
	}
	return errors.Join(a.lock.Close(), removeLock(d, a.path+lockExt))
}

// sealAsFound returns a seal entry that names the last whole record of a log, or nil if there is none. Checking the
// records before it is up to Verify.
func sealAsFound(path string) (*entry, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b := newBackward(pathReader(path), info.Size())
	line, err := b.line()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hash, ok := checkSealed(line)
	if !ok {
		return nil, nil
	}
	r, err := decode(line)
	if err != nil {
		return nil, nil
	}
	return &entry{Kind: entrySeal, File: filepath.Base(path), Records: r.Seq, Head: hash}, nil
}
