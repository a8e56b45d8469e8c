package rag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"callgate/internal/durable"
)

// manifest lists what an index consists of. A change takes effect when the manifest is written. Readers follow it, and
// files that it does not name are unused.
type manifest struct {
	Format   int     `json:"format"`
	Root     string  `json:"root,omitempty"`  // of the workspace that was indexed last
	Rules    string  `json:"rules,omitempty"` // Options.Rules when every file was last checked against Denied
	Next     uint64  `json:"next"`            // number of the next segment
	Segments []entry `json:"segments"`
}

// entry is a segment in the manifest.
type entry struct {
	Name     string    `json:"name"`
	Files    []fileSum `json:"files"`
	Dead     []byte    `json:"dead,omitempty"` // roaring bitmap
	Embedder string    `json:"embedder"`
}

// wordsFolder returns the folder of the words, or "" if the files are not those of a segment.
func (e *entry) wordsFolder() string {
	if len(e.Files) < 3 {
		return ""
	}
	folder, _, _ := strings.Cut(e.Files[2].Name, "/")
	for i, f := range e.Files {
		if inside := strings.HasPrefix(f.Name, folder+"/"); inside != (i >= 2) {
			return ""
		}
	}
	if !strings.HasSuffix(folder, wordsSuffix) {
		return ""
	}
	return folder
}

const (
	manifestName = "manifest"
	previousName = "manifest.previous"
	lockName     = "lock"
	// format changes when an older program could not read what is written, or would misread it.
	format = 2
	// earlierFormat stored the words of a segment in a file of callgate's own format, beside its rows and vectors. The
	// documents of such an index are taken over.
	earlierFormat = 1
)

// write publishes the manifest. It keeps the previous one, with its segments, for readers that are using it and in case
// the new one is lost.
func (m *manifest) write(d *disk) error {
	text, err := m.text()
	if err != nil {
		return err
	}
	if err := durable.SyncFolder(d.dir); err != nil {
		return err
	}
	if old, err := durable.ReadFile(d.path(manifestName), maxManifest); err == nil {
		if _, err := d.write(previousName, func(w io.Writer) error { _, err := w.Write(old); return err }); err != nil {
			return err
		}
	}
	_, err = d.write(manifestName, func(w io.Writer) error { _, err := w.Write(text); return err })
	return errors.Join(err, durable.SyncFolder(d.dir))
}

// text returns the content of a manifest's file.
func (m *manifest) text() ([]byte, error) {
	body, err := json.Marshal(m)
	return fmt.Appendf(nil, "callgate index %08x\n%s\n", crc32.Checksum(body, castagnoli), body), err
}

// errFormat means that an earlier version of callgate wrote the index.
var errFormat = errors.New("an earlier version of callgate wrote it")

// maxManifest bounds a manifest, in bytes.
const maxManifest = 256 << 20

// readManifest reads a manifest, or returns an empty one if there is no file. It also returns one with errFormat.
func readManifest(d *disk, name string) (*manifest, error) {
	data, err := durable.ReadFile(d.path(name), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return &manifest{Format: format}, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return m, fmt.Errorf("%s: %w", d.path(name), err)
	}
	return m, nil
}

func parseManifest(data []byte) (*manifest, error) {
	head, body, _ := bytes.Cut(data, []byte("\n"))
	body = bytes.TrimSuffix(body, []byte("\n"))
	if string(head) != fmt.Sprintf("callgate index %08x", crc32.Checksum(body, castagnoli)) {
		return nil, errDamaged
	}
	m := &manifest{}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if m.Format == earlierFormat {
		return m, errFormat
	}
	if m.Format != format {
		return nil, fmt.Errorf("%w: format %d, not %d", errDamaged, m.Format, format)
	}
	return m, nil
}

// earlierDocuments returns the live documents of a segment of the earlier format.
func (d *disk) earlierDocuments(e *entry) (docs []source, err error) {
	if len(e.Files) != 3 {
		return nil, errDamaged
	}
	if err := d.verify(e.Files[1]); err != nil {
		return nil, err
	}
	p := part{segment: &segment{rows: &rows{}}}
	if p.dead, err = e.dead(); err == nil {
		err = decode(d.path(e.Files[1].Name), p.rows)
	}
	if err == nil && !p.rows.valid() {
		err = errDamaged
	}
	if err != nil {
		return nil, err
	}
	for i := range p.rows.Sources {
		if s := &p.rows.Sources[i]; s.Document && p.liveSource(s) {
			docs = append(docs, *s)
		}
	}
	return docs, nil
}

// dead returns the deleted rows.
func (e *entry) dead() (*roaring.Bitmap, error) {
	dead := roaring.New()
	if len(e.Dead) > 0 {
		if err := dead.UnmarshalBinary(e.Dead); err != nil {
			return nil, fmt.Errorf("segment %s: %w: %w", e.Name, errDamaged, err)
		}
	}
	return dead, nil
}

// files returns the names of all files, and folders of words, in the manifest.
func (m *manifest) files() []string {
	var names []string
	for _, e := range m.Segments {
		for _, f := range e.Files {
			name, _, _ := strings.Cut(f.Name, "/")
			names = append(names, name)
		}
	}
	return names
}
