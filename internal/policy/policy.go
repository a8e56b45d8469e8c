// Package policy asks other policy engines about calls: Cedar policies in files, and a decision point that speaks AuthZEN.
//
// They tighten what the rules say and loosen nothing. Whatever goes wrong denies.
package policy

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate"
	"callgate/permissions"
)

// walk reads a JSON value. Nulls are left out: policies cannot hold them.
func walk(raw []byte, object func(map[string]any) any, list func([]any) any, number func(string) (any, error)) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := walkNext(d, object, list, number)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func walkNext(d *jsontext.Decoder, object func(map[string]any) any, list func([]any) any, number func(string) (any, error)) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case '[':
		var all []any
		for d.PeekKind() != ']' {
			v, err := walkNext(d, object, list, number)
			if err != nil {
				return nil, err
			}
			if v != nil {
				all = append(all, v)
			}
		}
		_, err := d.ReadToken()
		return list(all), err
	default:
		members := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			v, err := walkNext(d, object, list, number)
			if err != nil {
				return nil, err
			}
			if v != nil {
				members[key] = v
			}
		}
		_, err := d.ReadToken()
		return object(members), err
	}
}

var (
	_ gate.Advisor = (*Cedar)(nil)
	_ gate.Advisor = (*AuthZEN)(nil)
)

// valueOf is what policies see of a subject: the spelling that an allow would have to match.
func valueOf(s *permissions.Subject) string {
	if len(s.Decides) > 0 {
		return s.Decides[0]
	}
	return s.Value
}
