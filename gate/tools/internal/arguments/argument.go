// Package arguments reads the members of raw JSON arguments in place.
package arguments

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
)

// Argument is one member of an object, or one element of an array, whose name is then "".
type Argument struct {
	Name  string
	Value []byte // raw, a sub-slice of the text
}

type decoder struct {
	buf bytes.Buffer
	dec jsontext.Decoder
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Members returns the members of a raw object in order, or the elements of a raw array. ok is false if raw is anything
// else, is malformed, or names a member twice. Then none of it may be relied on.
func Members(raw []byte) (list []Argument, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	if list, ok = inPlace(raw); ok {
		return list, true
	}
	return read(raw)
}

// read is Members for every text.
func read(raw []byte) (list []Argument, ok bool) {
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
	list = make([]Argument, 0, 4)
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
		var a Argument
		if object {
			name, err := d.dec.ReadToken()
			if err != nil {
				return nil, false
			}
			a.Name = name.String()
		}
		value, err := d.dec.ReadValue()
		if err != nil {
			return nil, false
		}
		end := d.dec.InputOffset()
		a.Value = raw[end-int64(len(value)) : end : end]
		list = append(list, a)
	}
}

// inPlace is Members for texts that jsonx takes, which are almost all.
func inPlace(raw []byte) (list []Argument, ok bool) {
	list = make([]Argument, 0, 4)
	ok = jsonx.Parts(raw, func(name, value []byte) {
		a := Argument{Value: value}
		if name != nil {
			a.Name, _ = jsonx.String(name)
		}
		list = append(list, a)
	})
	return list, ok
}

// Text decodes a raw string; a long result shares the memory of raw. ok is false for any other value.
func Text(raw []byte) (s string, ok bool) { return jsonx.SharedString(raw) }

// IsNull reports whether an argument is null, and so says nothing.
func IsNull(raw []byte) bool { return string(raw) == "null" }
