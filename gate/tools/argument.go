package tools

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"callgate/internal/jsonx"

	"github.com/go-json-experiment/json/jsontext"
)

// argument is one member of an object, or one element of an array, whose name is then "".
type argument struct {
	name  string
	value []byte // raw, a sub-slice of the text
}

type decoder struct {
	buf bytes.Buffer
	dec jsontext.Decoder
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// members returns the members of a raw object in order, or the elements of a raw array. ok is false when
// raw is anything else, is malformed, or names a member twice: then nothing of it may be relied on.
func members(raw []byte) (list []argument, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.buf = *bytes.NewBuffer(raw) // read in place: a copy of a large argument would cost more than its analysis
	defer func() { d.buf = bytes.Buffer{} }()
	d.dec.Reset(&d.buf)

	start, err := d.dec.ReadToken()
	if err != nil {
		return nil, false
	}
	object := start.Kind() == '{'
	if !object && start.Kind() != '[' {
		return nil, false
	}
	list = make([]argument, 0, 4)
	for {
		switch kind := d.dec.PeekKind(); {
		case kind == '}' || kind == ']':
			if _, err := d.dec.ReadToken(); err != nil {
				return nil, false
			}
			_, err := d.dec.ReadToken()
			return list, errors.Is(err, io.EOF)
		case kind == 0:
			return nil, false
		}
		var a argument
		if object {
			name, err := d.dec.ReadToken()
			if err != nil {
				return nil, false
			}
			a.name = name.String()
		}
		value, err := d.dec.ReadValue()
		if err != nil {
			return nil, false
		}
		end := d.dec.InputOffset()
		a.value = raw[end-int64(len(value)) : end : end]
		list = append(list, a)
	}
}

// text decodes a raw string, whose memory a long one shares. ok is false for any other value.
func text(raw []byte) (s string, ok bool) { return jsonx.SharedString(raw) }

// isNull reports whether an argument is there but says nothing.
func isNull(raw []byte) bool { return string(raw) == "null" }
