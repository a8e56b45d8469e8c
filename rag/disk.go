package rag

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"callgate/internal/durable"
)

// disk does every write to an index directory. It writes files under another name, syncs them and renames them. So a
// name always stands for a whole file or for none, even after a kill.
type disk struct {
	dir  string
	fail func(op, name string) error // in tests: makes a step fail if not nil
}

// fileSum identifies the content of a file.
type fileSum struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc"`
}

const temporary = ".tmp"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) try(op, name string) error {
	if d.fail == nil {
		return nil
	}
	return d.fail(op, name)
}

// write creates the file name with what the function write writes. After an error, the old file is unchanged.
func (d *disk) write(name string, write func(io.Writer) error) (sum fileSum, err error) {
	if err := d.try("create", name); err != nil {
		return sum, err
	}
	f, err := os.OpenFile(d.path(name+temporary), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return sum, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(d.path(name+temporary)))
		}
	}()
	w := &summing{w: f}
	err = write(w)
	if err == nil {
		err = d.try("write", name)
	}
	if err == nil {
		err = errors.Join(d.try("sync", name), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return sum, err
	}
	if err = d.try("rename", name); err == nil {
		err = durable.Rename(d.path(name+temporary), d.path(name))
	}
	return fileSum{name, w.size, w.crc}, err
}

// folder creates the folder name with what build writes into dir, and returns the sums of its files.
func (d *disk) folder(name string, build func(dir string) error) (sums []fileSum, err error) {
	if err := d.try("create", name); err != nil {
		return nil, err
	}
	made := name + temporary
	if err := errors.Join(os.RemoveAll(d.path(made)), os.RemoveAll(d.path(name))); err != nil { // of a killed writer
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", name, err), os.RemoveAll(d.path(made)))
		}
	}()
	if err := build(d.path(made)); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(d.path(made), func(path string, f fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if f.IsDir() {
			return durable.SyncFolder(path)
		}
		inside, err := filepath.Rel(d.path(made), path)
		if err != nil {
			return err
		}
		sum, err := d.adopt(filepath.Join(made, inside))
		sum.Name = name + "/" + filepath.ToSlash(inside)
		sums = append(sums, sum)
		return err
	})
	if err == nil {
		err = d.try("rename", name)
	}
	if err == nil {
		err = durable.Rename(d.path(made), d.path(name))
	}
	return sums, err
}

// adopt syncs a file that another package wrote, and returns its sum.
func (d *disk) adopt(name string) (sum fileSum, err error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR, 0o600)
	if err != nil {
		return sum, err
	}
	w := &summing{w: io.Discard}
	_, err = io.Copy(w, f)
	err = errors.Join(err, d.try("sync", name), f.Sync(), f.Close())
	return fileSum{name, w.size, w.crc}, err
}

// verify reads the file and returns errDamaged if it does not match want.
func (d *disk) verify(want fileSum) error {
	if name := filepath.FromSlash(want.Name); !filepath.IsLocal(name) || filepath.Clean(name) != name {
		return fmt.Errorf("%q: %w: not a file name", want.Name, errDamaged)
	}
	f, err := durable.Open(d.path(want.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	w := &summing{w: io.Discard}
	if _, err := io.Copy(w, f); err != nil {
		return err
	}
	if w.size != want.Size || w.crc != want.CRC {
		return fmt.Errorf("%s: %w: %d bytes with sum %08x, not %d with %08x", d.path(want.Name), errDamaged, w.size, w.crc, want.Size, want.CRC)
	}
	return nil
}

// sweep removes the files, and the folders of words, that keep does not list. On Windows, a file that another process
// has open stays until the next sweep.
func (d *disk) sweep(keep map[string]bool) error {
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range files {
		if keep[f.Name()] || f.IsDir() && !strings.Contains(f.Name(), wordsSuffix) {
			continue
		}
		name := f.Name()
		if f.IsDir() && !strings.HasSuffix(name, temporary) { // at once, for a process that is opening it
			made := name + temporary
			if err := errors.Join(os.RemoveAll(d.path(made)), durable.Rename(d.path(name), d.path(made))); err == nil {
				name = made
			}
		}
		err := os.RemoveAll(d.path(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "windows" {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// summing counts the bytes written through it and computes their checksum.
type summing struct {
	w    io.Writer
	size int64
	crc  uint32
}

func (s *summing) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.size += int64(n)
	s.crc = crc32.Update(s.crc, castagnoli, p[:n])
	return n, err
}
