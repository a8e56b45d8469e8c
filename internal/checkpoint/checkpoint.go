// Package checkpoint snapshots files before a tool call changes them, and restores them.
//
// A checkpoint is on the disk before the call is forwarded. For each path it stores what was there: the bytes and mode
// of a file, the target of a link, everything in a folder, or nothing. After the call it stores hashes of what the call
// left, so that a restore can tell whether somebody else changed a file since.
//
// It runs nothing of the workspace and follows no link: it opens files folder by folder along the path. It asks git
// only for the place of the user's own ignore file.
package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Kind is what is at a path.
type Kind string

const (
	Absent    Kind = "absent"
	File      Kind = "file"
	Directory Kind = "directory"
	Symlink   Kind = "symlink"
	LeftOut   Kind = "leftOut" // it exists and was not kept; Entry.Why has the reason
)

// Entry is what is at one path. Entries are equal if the same is there.
type Entry struct {
	Name   string `json:"name,omitempty"` // within its folder; "" for the entry of a whole path
	Kind   Kind   `json:"kind"`
	Mode   uint32 `json:"mode,omitempty"` // permission bits with setuid, setgid and sticky, as in Unix
	Size   int64  `json:"size,omitempty"` // bytes of a file
	Hash   Hash   `json:"hash,omitzero"`  // of a file's bytes, or of a folder's list of entries
	Target string `json:"target,omitempty"`
	Why    string `json:"why,omitempty"`
	Stamp  int64  `json:"stamp,omitempty"` // modification time of what was left out, in nanoseconds: reveals a change
}

// Hash is the SHA-256 of something kept. The zero Hash means nothing.
type Hash [sha256.Size]byte

func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return errors.New("a hash must have 64 hexadecimal digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Scope is how much of the content at a path belongs to a checkpoint.
type Scope string

const (
	Alone Scope = ""    // the path itself; for a folder, only that it exists
	Whole Scope = "all" // with everything beneath it
	Git   Scope = "git" // with what git tracks or would offer to add
)

// Kept is one path of a checkpoint, with what was there.
type Kept struct {
	Path  string `json:"path"` // absolute; its folder has no links
	Scope Scope  `json:"scope,omitempty"`
	Entry
	Secret bool `json:"secret,omitempty"` // the rules denied reading it: restored, never shown
}

// Checkpoint is what was kept before one call, and what became of it.
type Checkpoint struct {
	ID        string    `json:"id"`
	CallID    string    `json:"callId,omitempty"`
	Tool      string    `json:"tool,omitempty"` // qualified name
	SessionID string    `json:"sessionId,omitempty"`
	Worker    string    `json:"worker,omitempty"`
	Workspace string    `json:"workspace,omitempty"` // absolute, without links
	CreatedAt time.Time `json:"createdAt"`
	Restores  string    `json:"restores,omitempty"` // the checkpoint that was about to be restored
	Before    []Kept    `json:"before"`
	Notes     []string  `json:"notes,omitempty"` // what was left out, for people

	// The following fields are set once the call has ended. They come from later records.

	Ended    bool      `json:"-"` // what the call left is known
	Changed  []Change  `json:"-"` // by the call
	Verified bool      `json:"-"` // a later verification succeeded
	Restored time.Time `json:"-"` // when all of it was last restored
	Cleared  bool      `json:"-"`

	segment string // name of its segment
}

// Change is one path that differs from what it was.
type Change struct {
	Path   string `json:"path"`
	Before Entry  `json:"before"`
	After  Entry  `json:"after"`
	Secret bool   `json:"secret,omitempty"`
}

// What returns a word for what happened: created, changed, deleted or leftOut.
func (c *Change) What() string {
	switch {
	case c.Before.Kind == LeftOut || c.After.Kind == LeftOut:
		return "leftOut"
	case c.Before.Kind == Absent:
		return "created"
	case c.After.Kind == Absent:
		return "deleted"
	}
	return "changed"
}

// same reports whether the same is there, ignoring names.
func (e Entry) same(o Entry) bool {
	e.Name, o.Name = "", ""
	return e == o
}

// modeOf returns the bits of a mode that are kept.
func modeOf(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	for bit, unix := range unixBits {
		if m&bit != 0 {
			mode |= unix
		}
	}
	return mode
}

// fileMode is the inverse of modeOf.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode).Perm()
	for bit, unix := range unixBits {
		if mode&unix != 0 {
			m |= bit
		}
	}
	return m
}

var unixBits = map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000}

// Errors that callers distinguish.
var (
	ErrUnknown = errors.New("no such checkpoint")
	ErrChanged = errors.New("files are not as the call left them")
	ErrFailed  = errors.New("the files could not be kept as they are")
)

// Conflict is the reason why one path cannot be kept or restored.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// ConflictError lists what prevents a restore. It is an ErrChanged.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	text := ErrChanged.Error()
	for i, c := range e.Conflicts {
		if i == 5 {
			return text + fmt.Sprintf("; and %d more", len(e.Conflicts)-i)
		}
		text += fmt.Sprintf("; %s: %s", c.Path, c.Why)
	}
	return text
}

func (e *ConflictError) Is(target error) bool { return target == ErrChanged }
