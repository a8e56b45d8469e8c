package rag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"callgate/internal/durable"
)

// manifest says what an index consists of. Writing it is what makes a change happen: readers follow it, and
// files that it does not name are nobody's.
type manifest struct {
	Format   int     `json:"format"`
	Root     string  `json:"root,omitempty"`  // of the workspace that was indexed last
	Rules    string  `json:"rules,omitempty"` // Options.Rules when every file was last held against Denied
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

const (
	manifestName = "manifest"
	previousName = "manifest.previous"
	lockName     = "lock"
	// format changes when an older program could not read what is written, or would read it wrong.
	format = 1
)

// write publishes the manifest. The one before is kept, with its segments, for readers that are on their way
// and in case the new one is lost.
func (m *manifest) write(d *disk) error {
	body, err := json.Marshal(m)
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
	_, err = d.write(manifestName, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "callgate index %08x\n%s\n", crc32.Checksum(body, castagnoli), body)
		return err
	})
	return errors.Join(err, durable.SyncFolder(d.dir))
}

// maxManifest bounds a manifest, in bytes.
const maxManifest = 256 << 20

// readManifest returns an empty manifest when there is none.
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
		return nil, fmt.Errorf("%s: %w", d.path(name), err)
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
	if m.Format != format {
		return nil, fmt.Errorf("%w: format %d, not %d", errDamaged, m.Format, format)
	}
	return m, nil
}

// files returns the names of all files of the manifest.
func (m *manifest) files() []string {
	var names []string
	for _, e := range m.Segments {
		for _, f := range e.Files {
			names = append(names, f.Name)
		}
	}
	return names
}
