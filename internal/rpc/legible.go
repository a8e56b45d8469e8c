package rpc

import (
	"bytes"
	"iter"
	"strings"

	"callgate/internal/jsonx"
)

// answered returns the id of the request that a line seems to answer although it cannot be read as a
// message: whoever waits for that answer would wait for ever. ok is false for what does not look like an answer: a log
// line, a request, a line with two ids.
func answered(line []byte) (id []byte, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return nil, false
	}
	for g := range glances(line) {
		return g.id, g.claims && !g.asks && len(g.id) > 0
	}
	return nil, false
}

// Asked returns the ids of the requests that a line seems to make although it cannot be read as a message. There are
// several in a batch, of which the first hundred count.
func Asked(line []byte) (ids [][]byte) {
	for g := range glances(line) {
		if g.asks && len(g.id) > 0 && validID(g.id) && jsonx.Check(g.id) == nil && len(g.id) <= maxGlanced {
			ids = append(ids, g.id)
		}
		if len(ids) == 100 {
			break
		}
	}
	return ids
}

// maxGlanced bounds an id that is answered without the message having been read.
const maxGlanced = 1 << 10

// glance is what can be seen of a message that cannot be read.
type glance struct {
	id     []byte // nil when there is none, or more than one
	asks   bool   // it names a method
	claims bool   // it says that it is JSON-RPC, or answers something
}

// glances looks no further than the members of the outermost object, or of each object of the outermost array, and so
// sees the id of text that nests too deep, breaks off or says something twice.
func glances(line []byte) iter.Seq[glance] {
	members := 1 // the depth that they are at
	if len(line) > 0 && line[0] == '[' {
		members = 2
	}
	return func(yield func(glance) bool) {
		var g glance
		twice := false
		done := func() bool {
			if twice {
				g.id = nil
			}
			more := yield(g)
			g, twice = glance{}, false
			return more
		}
		depth := 0
		for i := 0; i < len(line); {
			switch line[i] {
			case '{', '[':
				depth++
			case '}', ']':
				if depth == members && line[i] == '}' && !done() {
					return
				}
				depth--
			case '"':
				start, end := i, stringEnd(line, i)
				i = end
				if depth != members {
					continue
				}
				if i = spaceEnd(line, end); i == len(line) || line[i] != ':' {
					continue
				}
				i = spaceEnd(line, i+1)
				name, _ := jsonx.String(line[start:end])
				switch strings.ToLower(name) {
				case "method":
					g.asks = true
				case "jsonrpc", "result", "error":
					g.claims = true
				case "id":
					value := scalar(line[i:])
					twice = twice || g.id != nil && !bytes.Equal(g.id, value)
					g.id = value
				}
				continue
			}
			i++
		}
		if depth >= members { // it breaks off
			done()
		}
	}
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

// spaceEnd returns the first offset from i on that holds no white space.
func spaceEnd(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
		i++
	}
	return i
}

// scalar returns the string or number that text begins with.
func scalar(text []byte) []byte {
	if len(text) > 0 && text[0] == '"' {
		return text[:stringEnd(text, 0)]
	}
	if end := bytes.IndexAny(text, ",}]{[ \t\r\""); end >= 0 {
		return text[:end]
	}
	return text
}
