package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"time"
)

// entry is a file in an archive: text, or the contents of the file at path.
type entry struct {
	name string
	text []byte
	path string
	mode fs.FileMode
	user int // the owner; 0 is root
}

func (e entry) open() (io.ReadCloser, int64, error) {
	if e.path == "" {
		return io.NopCloser(bytes.NewReader(e.text)), int64(len(e.text)), nil
	}
	f, err := os.Open(e.path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// writeTar writes entries, all with the same time. A folder's name ends in a slash.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	out := tar.NewWriter(w)
	for _, e := range entries {
		in, size, err := e.open()
		if err != nil {
			return err
		}
		kind := byte(tar.TypeReg)
		if e.name[len(e.name)-1] == '/' {
			kind = tar.TypeDir
		}
		err = out.WriteHeader(&tar.Header{Typeflag: kind, Name: e.name, Size: size, Mode: int64(e.mode), ModTime: at, Uid: e.user, Gid: e.user, Format: tar.FormatUSTAR})
		if err == nil {
			_, err = io.Copy(out, in)
		}
		in.Close()
		if err != nil {
			return err
		}
	}
	return out.Close()
}

func writeTarGz(w io.Writer, at time.Time, entries []entry) error {
	out, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(out, at, entries); err != nil {
		return err
	}
	return out.Close()
}

func writeZip(w io.Writer, at time.Time, entries []entry) error {
	out := zip.NewWriter(w)
	for _, e := range entries {
		in, _, err := e.open()
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		file, err := out.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(file, in)
		}
		in.Close()
		if err != nil {
			return err
		}
	}
	return out.Close()
}
