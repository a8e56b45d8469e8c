// Package supply compares what servers' commands would run with callgate.lock: packages with their integrity, program
// files, names of variables, and tool definitions.
package supply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"callgate/internal/durable"
)

// Lock holds what people have accepted for each server. The file can be shared, because it holds no variable's value.
type Lock struct {
	Version int     `json:"version"`
	Servers []Entry `json:"servers"`
}

// Entry describes one server.
type Entry struct {
	Name      string             `json:"name"`
	From      string             `json:"from,omitempty"` // the configuring file; relative if beside or below the lock
	Command   []string           `json:"command,omitempty"`
	URL       string             `json:"url,omitempty"`
	Variables []string           `json:"variables,omitempty"` // names of variables in its environment or requests
	Package   string             `json:"package,omitempty"`
	Version   string             `json:"version,omitempty"`
	Packages  map[string]Package `json:"packages,omitempty"` // by NAME@VERSION: the package and all that it needs
	Files     map[string]string  `json:"files,omitempty"`    // by path: the digest of a program or script
	Tools     map[string]string  `json:"tools,omitempty"`    // by tool name: the digest of the definition
	At        time.Time          `json:"lockedAt,omitzero"`
}

// Package is one package of a dependency tree.
type Package struct {
	Integrity string `json:"integrity,omitempty"` // as the registry gives it
	Content   string `json:"content,omitempty"`   // digest of the files here; "" for a package with an install script
	Script    bool   `json:"script,omitempty"`    // it runs an install script
}

const (
	lockVersion = 1
	maxLock     = 64 << 20 // bytes
)

// Load reads the lock at path; nil if there is none. A file that cannot be read or parsed is an error.
func Load(path string) (*Lock, error) {
	data, err := durable.ReadFile(path, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l Lock
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return nil, fmt.Errorf("%s: %w; put it back, or remove it and run callgate servers lock", path, err)
	}
	if l.Version != lockVersion {
		return nil, fmt.Errorf("%s: it has version %d, but this callgate reads version %d", path, l.Version, lockVersion)
	}
	return &l, nil
}

// Save writes the lock, sorted by server.
func (l *Lock) Save(path string) error {
	l.Version = lockVersion
	slices.SortFunc(l.Servers, func(a, b Entry) int {
		return strings.Compare(a.Name+"\x00"+a.From, b.Name+"\x00"+b.From)
	})
	return durable.SaveJSON(path, l)
}

// Of returns the entry of a server, or nil if there is none.
func (l *Lock) Of(name, from string) *Entry {
	for i := range l.Servers {
		if e := &l.Servers[i]; e.Name == name && e.From == from {
			return e
		}
	}
	return nil
}

// Put adds the entry, and replaces an older one of the same server.
func (l *Lock) Put(e Entry) {
	if old := l.Of(e.Name, e.From); old != nil {
		*old = e
		return
	}
	l.Servers = append(l.Servers, e)
}

// Merge adds the packages that another examination of the same server found.
func (e *Entry) Merge(other *Entry) {
	for key, p := range other.Packages {
		e.mergePackage(key, p)
	}
}
