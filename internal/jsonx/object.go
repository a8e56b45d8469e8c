package jsonx

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Put returns the object with the member set: in place of the existing one, or before all others. Text that is not an
// object stays unchanged.
func Put(object []byte, name string, value []byte) []byte {
	var m [1]Member
	if Members(object, []string{name}, m[:]) != nil {
		return object
	}
	if m[0].Value != nil {
		return Splice(object, Edit{Start: m[0].Start, End: m[0].End(), With: value})
	}
	return Splice(object, Prepend(object, 0, append(append(Quote(name), ':'), value...)))
}

// Without returns the object without the named member. Text that is not an object stays unchanged.
func Without(object []byte, name string) []byte {
	var m [1]Member
	if Members(object, []string{name}, m[:]) != nil || m[0].Value == nil {
		return object
	}
	return Splice(object, Delete(object, m[0]))
}

// Prepend returns the edit that puts members before those of the first object at or after start in text.
func Prepend(text []byte, start int, members []byte) Edit {
	at := start + bytes.IndexByte(text[start:], '{') + 1
	if rest := bytes.TrimLeft(text[at:], " \t\r\n"); len(rest) > 0 && rest[0] != '}' {
		members = append(members[:len(members):len(members)], ',')
	}
	return Edit{Start: at, End: at, With: members}
}

// Others returns an object with the members of object that are not in known. Their values stay as they are. It returns
// an error for repeated names, which Check refuses too.
func Others(object []byte, known []string) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	rest := []byte{'{'}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if slices.Contains(known, text) {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, Quote(text)...), ':'), value...)
	}
	return append(rest, '}'), nil
}

// Has reports whether there is a value at the path of member names.
func Has(object []byte, path ...string) bool { return At(object, path...) != nil }

// At returns the raw value at the path of member names. It returns nil if there is none, or if an object on the path
// cannot be read.
func At(object []byte, path ...string) []byte {
	for i := range path {
		var m [1]Member
		if len(object) == 0 || Members(object, path[i:i+1], m[:]) != nil {
			return nil
		}
		object = m[0].Value
	}
	return object
}
