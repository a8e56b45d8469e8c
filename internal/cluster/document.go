package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Document is a text that all replicas share.
type Document struct {
	c   *Cluster
	key string
}

// Document returns the document with that name, such as rules or freeze.
func (c *Cluster) Document(name string) Document { return Document{c, name} }

// Version is a version of a document, with its author and time. Text MUST NOT be changed. A change has to name the
// Revision.
type Version struct {
	Text     []byte    `json:"text"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Chance   string    `json:"chance"` // random, so that no two versions are the same
	Revision uint64    `json:"-"`      // 0 if the document does not exist
}

// ErrChanged means that somebody else changed the document first: read it again.
var ErrChanged = errors.New("it was changed in the cluster meanwhile")

// Now returns the newest version that this replica has heard of. It fails if Fresh does.
func (d Document) Now() (Version, error) {
	if err := d.c.Fresh(); err != nil {
		return Version{}, err
	}
	return d.c.bucket.version(d.key)
}

// version returns the value of a key as a Version. It decodes each value only once, because every call asks for it.
func (b *bucket) version(key string) (Version, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.seen[key]
	if known, ok := b.versions[key]; ok && known.Revision == v.rev && v.err == nil {
		return known, nil
	}
	version, err := decodeVersion(v)
	if err == nil {
		b.versions[key] = version
	}
	return version, err
}

func decodeVersion(v value) (Version, error) {
	if v.body == nil {
		return Version{}, v.err
	}
	var version Version
	if err := json.Unmarshal(v.body, &version); err != nil {
		return Version{}, err
	}
	version.Revision = v.rev
	return version, nil
}

// Read asks the cluster for the newest version.
func (d Document) Read(ctx context.Context) (Version, error) {
	_, v, err := d.c.bucket.read(ctx, d.key)
	switch {
	case errors.Is(err, errNone) && v.rev == 0 && d.c.bucket.memory.revision(d.key) == 0:
		return Version{}, nil
	case errors.Is(err, errNone):
		return Version{}, fmt.Errorf("%s: %w", d.key, errTaken)
	case err != nil:
		return Version{}, fmt.Errorf("%s: %w", d.key, err)
	}
	return decodeVersion(v)
}

// Replace writes a new version in place of the one at revision; 0 means that there must be none. It returns once this
// replica uses the new version. The error is ErrChanged if another version came first.
func (d Document) Replace(ctx context.Context, revision uint64, text []byte, by string) (uint64, error) {
	body, err := json.Marshal(Version{Text: text, By: by, At: d.c.o.now().UTC(), Chance: chance()})
	if err != nil {
		return 0, err
	}
	rev, err := d.c.bucket.write(ctx, d.key, body, revision, 0)
	switch {
	case errors.Is(err, errConflict):
		return 0, ErrChanged
	case err != nil:
		return 0, fmt.Errorf("the cluster did not take it: %w", err)
	}
	d.c.bucket.note(d.key, value{body: body, rev: rev})
	return rev, nil
}

// Watch calls f with the present version and every later one. It MUST be called before any call is decided.
func (d Document) Watch(f func(Version)) {
	b := d.c.bucket
	b.mu.Lock()
	b.watchers = append(b.watchers, watcher{d.key, func(key string, v value) {
		if version, err := decodeVersion(v); err == nil && key == d.key {
			f(version)
		}
	}})
	v := b.seen[d.key]
	b.mu.Unlock()
	if version, err := decodeVersion(v); err == nil && version.Revision > 0 {
		f(version)
	}
}
