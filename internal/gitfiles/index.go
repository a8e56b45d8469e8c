package gitfiles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Errors of Index.
var (
	ErrIndex = errors.New("the index of the repository cannot be read")
	ErrLarge = errors.New("the index of the repository is too large")
)

// maxIndex bounds an index, in bytes.
const maxIndex = 64 << 20

// Index returns the names in the index at path, relative to the work tree. It fails if the index lists only some of the
// files: a split or a sparse one.
func Index(path string) (names []string, err error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxIndex {
		return nil, ErrLarge
	}
	for _, hash := range [...]int{20, 32} { // SHA-1, SHA-256: the index does not say which
		if names, ok := indexNames(raw, hash); ok {
			return names, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrIndex, path)
}

// indexNames returns the names in a git index of version 2 to 4 whose object names have hash bytes. ok is false if the
// index has another format, or lists only some of the files.
func indexNames(raw []byte, hash int) (names []string, ok bool) {
	if len(raw) < 12+hash || string(raw[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), int(binary.BigEndian.Uint32(raw[8:]))
	if version < 2 || version > 4 || count > len(raw)/(42+hash) {
		return nil, false
	}
	rest := raw[12 : len(raw)-hash]
	names = make([]string, 0, count)
	previous := ""
	for range count {
		name, used := indexEntry(rest, hash, version == 4, previous)
		if used == 0 {
			return nil, false
		}
		names, rest, previous = append(names, name), rest[used:], name
	}
	for len(rest) >= 8 {
		size := int(binary.BigEndian.Uint32(rest[4:]))
		if string(rest[:4]) == "link" || size > len(rest)-8 { // a split index
			return nil, false
		}
		rest = rest[8+size:]
	}
	return names, len(rest) == 0
}

// indexEntry reads an entry's name. used is its size, 0 if the entry is not a file's. With packed, the name is stored
// as a difference from the previous one.
func indexEntry(raw []byte, hash int, packed bool, previous string) (name string, used int) {
	used = 40 + hash + 2
	if len(raw) < used {
		return "", 0
	}
	if raw[used-2]&0x40 != 0 {
		used += 2
	}
	if len(raw) < used {
		return "", 0
	}
	text, prefix := raw[used:], ""
	if packed {
		strip, n := indexNumber(text)
		if n == 0 || strip > len(previous) {
			return "", 0
		}
		prefix, text, used = previous[:len(previous)-strip], text[n:], used+n
	}
	end := bytes.IndexByte(text, 0)
	if end < 0 {
		return "", 0
	}
	name = prefix + string(text[:end])
	if used += end + 1; !packed {
		used = (used + 7) &^ 7
	}
	mode := binary.BigEndian.Uint32(raw[24:])
	if name == "" || mode>>12 == 4 || used > len(raw) { // a folder of a sparse index
		return "", 0
	}
	return name, used
}

// indexNumber reads a number as index version 4 encodes it; n is its length, 0 if it is malformed.
func indexNumber(raw []byte) (value, n int) {
	for i, c := range raw {
		if i == 4 {
			break
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
