// Package jsonc parses the text of a permissions file, with its comments.
package jsonc

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// Parse parses data as hujson does. It also accepts a comment without a line break on the last line.
func Parse(data []byte) (hujson.Value, error) {
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data[:len(data):len(data)], '\n')
	}
	return hujson.Parse(data)
}

// Name returns the name of a member.
func Name(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }
