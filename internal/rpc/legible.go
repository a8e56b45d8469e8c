package rpc

import (
	"bytes"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
)

// answered returns the id of the request that an unreadable line seems to answer. Without it, the caller would wait for
// ever. ok is false for other lines, such as log lines, requests, and lines with two ids.
func answered(line []byte) (id []byte, ok bool) {
	id, asks, claims := glance(line)
	return id, claims && !asks && len(id) > 0
}

// lastID matches an id among the last members of a message.
var lastID = lazyregexp.New(`[,{]\s*"id"\s*:\s*("[^"\\]*"|[0-9]+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// endsWithID returns the id of a message that ends with tail. Many servers write it last.
func endsWithID(tail []byte) (id []byte, ok bool) {
	m := lastID.FindSubmatch(tail)
	if m == nil {
		return nil, false
	}
	return m[1], true
}

// Asked returns the id of the request that an unreadable line seems to make, or nil. The id is a part of the line.
func Asked(line []byte) []byte {
	id, asks, _ := glance(line)
	if !asks || len(id) == 0 || len(id) > maxGlanced || !validID(id) || jsonx.Check(id) != nil {
		return nil
	}
	return id
}

// maxGlanced bounds the bytes of an id from an unreadable message.
const maxGlanced = 1 << 10

// glance looks only at the members of the outermost object. So it finds the id of text that nests too deep, breaks off,
// or repeats a member. id is nil if there are two different ones. asks says that there is a method. claims says that
// the text calls itself JSON-RPC, or answers something.
func glance(line []byte) (id []byte, asks, claims bool) {
	if len(line) == 0 || line[0] != '{' {
		return nil, false, false
	}
	twice := false
	for depth, i := 0, 0; i < len(line); {
		switch line[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			start, end := i, stringEnd(line, i)
			i = end
			if depth != 1 {
				continue
			}
			if i = spaceEnd(line, end); i == len(line) || line[i] != ':' {
				continue
			}
			i = spaceEnd(line, i+1)
			name, _ := jsonx.String(line[start:end])
			switch strings.ToLower(name) {
			case "method":
				asks = true
			case "jsonrpc", "result", "error":
				claims = true
			case "id":
				value := scalar(line[i:])
				twice = twice || id != nil && !bytes.Equal(id, value)
				id = value
			}
			continue
		}
		i++
	}
	if twice {
		id = nil
	}
	return id, asks, claims
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}

// spaceEnd returns the first offset at or after i without white space.
func spaceEnd(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
		i++
	}
	return i
}

// scalar returns the string or number at the beginning of text.
func scalar(text []byte) []byte {
	if len(text) > 0 && text[0] == '"' {
		return text[:stringEnd(text, 0)]
	}
	if end := bytes.IndexAny(text, ",}]{[ \t\r\""); end >= 0 {
		return text[:end]
	}
	return text
}
