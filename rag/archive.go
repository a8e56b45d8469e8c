package rag

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/durable"
)

// ArchiveFormat changes when older programs could no longer read what Archive writes.
const ArchiveFormat = format

// maxArchive bounds how many bytes Restore unpacks.
const maxArchive = 4 << 30

// Archive writes the index to w, for Restore on another machine.
func (x *Index) Archive(ctx context.Context, w io.Writer) error {
	if x.disk == nil {
		return errors.New("rag: an index in memory has no files")
	}
	s, err := x.acquire()
	if err != nil {
		return err
	}
	return errors.Join(s.archive(ctx, x.disk, w), s.release())
}

func (s *snapshot) archive(ctx context.Context, d *disk, w io.Writer) error {
	packed := gzip.NewWriter(w)
	files := tar.NewWriter(packed)
	for i := range s.manifest.Segments {
		for _, f := range s.manifest.Segments[i].Files {
			if err := errors.Join(ctx.Err(), d.archive(files, f)); err != nil {
				return err
			}
		}
	}
	manifest, err := s.manifest.text()
	if err == nil {
		err = files.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(manifest))})
	}
	if err == nil {
		_, err = files.Write(manifest)
	}
	if err != nil {
		return err
	}
	return errors.Join(files.Close(), packed.Close())
}

// archive adds a file to an archive. It fails if another process has removed the file.
func (d *disk) archive(files *tar.Writer, of fileSum) error {
	f, err := durable.Open(d.path(of.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := files.WriteHeader(&tar.Header{Name: of.Name, Mode: 0o600, Size: of.Size}); err != nil {
		return err
	}
	_, err = io.Copy(files, f)
	return err
}

// Restore unpacks what Archive wrote into the index folder dir. It returns false if the folder already has an index.
// What it unpacks may be out of date until the next Sync. After an error, the folder has no index.
func Restore(ctx context.Context, dir string, archive io.Reader) (restored bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	unlock, err := durable.Lock(ctx, filepath.Join(dir, lockName))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := os.Lstat(filepath.Join(dir, manifestName)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	d := &disk{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.sweep(map[string]bool{lockName: true}))
		}
	}()
	manifest, err := d.unpack(ctx, archive)
	if err != nil {
		return false, err
	}
	m, err := parseManifest(manifest)
	if err != nil {
		return false, err
	}
	m.Root = "" // that of another machine, perhaps
	return true, m.write(d)
}

// unpack writes the files of an archive and returns the manifest at its end.
func (d *disk) unpack(ctx context.Context, archive io.Reader) (manifest []byte, err error) {
	packed, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folders := map[string]bool{}
	files := tar.NewReader(io.LimitReader(packed, maxArchive))
	for {
		h, err := files.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the archive has no end: %w", err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case h.Name == manifestName:
			if manifest, err = io.ReadAll(io.LimitReader(files, maxManifest)); err == nil {
				_, err = io.Copy(io.Discard, io.LimitReader(packed, maxArchive)) // up to its checksum
			}
			for folder := range folders {
				err = errors.Join(err, durable.SyncFolder(d.path(folder)))
			}
			return manifest, err
		case h.Typeflag != tar.TypeReg || !isSegmentFile(h.Name):
			return nil, fmt.Errorf("the archive has %q, which is not a file of an index", h.Name)
		}
		name := filepath.FromSlash(h.Name)
		if err := unpackFile(root, name, files); err != nil {
			return nil, err
		}
		folders[filepath.Dir(name)] = true
	}
}

// isSegmentFile reports whether a file with this name can belong to a segment.
func isSegmentFile(name string) bool {
	folder, _, inside := strings.Cut(name, "/")
	if inside {
		return strings.HasSuffix(folder, wordsSuffix) && filepath.IsLocal(filepath.FromSlash(name))
	}
	return strings.HasSuffix(name, rowsSuffix) || strings.HasSuffix(name, vectorsSuffix)
}

func unpackFile(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// Content returns a name for what the index holds, wherever it was built. Two indexes of the same files with the same
// embedder have the same name. An empty index has "".
func (x *Index) Content() (string, error) {
	s, err := x.acquire()
	if err != nil {
		return "", err
	}
	var all []string
	for i := range s.parts {
		p := &s.parts[i]
		for j := range p.rows.Sources {
			if source := &p.rows.Sources[j]; p.liveSource(source) {
				line, _ := json.Marshal([]any{source.Path, source.Document, source.Hash, p.embedder})
				all = append(all, string(line))
			}
		}
	}
	if err := s.release(); err != nil || len(all) == 0 {
		return "", err
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:]), nil
}
