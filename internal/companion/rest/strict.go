package rest

import (
	"bytes"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/internal/companion/wire"
	"callgate/internal/spelling"
)

// REST requests with unknown names are refused: whoever misspells a member or a filter would take the answer for what
// they asked. Frames may have members of a later version.

// DecodeBody is Decode for the body of a request, and refuses unknown members. It takes an empty body as {}, so that
// the error can name what is missing.
func DecodeBody(data []byte, into any) *wire.Refusal {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true))
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		return wire.Refuse(wire.CodeBadMessage, "%q is not a time: write it as 2026-12-24T18:00:00Z", strings.Trim(wrong.Value, `"`))
	}
	if !errors.Is(err, json.ErrUnknownName) {
		return Decode(data, into) // for the same wording
	}
	var at []string
	if shape, ok := errors.AsType[*json.SemanticError](err); ok {
		at = slices.Collect(shape.JSONPointer.Tokens())
	}
	return unknown("member", at, membersOf(within(reflect.TypeOf(into), at)))
}

// within returns the type of the value that holds the member at path at, or nil.
func within(t reflect.Type, at []string) reflect.Type {
	for len(at) > 1 && t != nil {
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
		case reflect.Slice, reflect.Array, reflect.Map:
			t, at = t.Elem(), at[1:]
		case reflect.Struct:
			t, at = member(t, at[0]), at[1:]
		default:
			return nil
		}
	}
	return t
}

// member returns the type of a struct's member, or nil.
func member(t reflect.Type, name string) reflect.Type {
	for f := range t.Fields() {
		if written, _, _ := strings.Cut(f.Tag.Get("json"), ","); written == name {
			return f.Type
		}
	}
	return nil
}

// CheckQuery refuses a query with a parameter that is not one of names.
func CheckQuery(query url.Values, names []string) *wire.Refusal {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(names, name) {
			return unknown("query parameter", []string{name}, names)
		}
	}
	return nil
}

// CheckWord refuses a parameter's value that is not one of words. It accepts "".
func CheckWord(name, value string, words []string) *wire.Refusal {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return wire.Refuse(wire.CodeBadMessage, "%s must be one of %s, not %q", name, strings.Join(words, ", "), value)
}

// unknown returns the refusal of an unknown name: its path, a likely alternative, and the known names.
func unknown(what string, at, names []string) *wire.Refusal {
	name := strings.Join(at, ".")
	if len(at) == 0 || len(names) == 0 {
		return wire.Refuse(wire.CodeBadMessage, "unknown %s %q", what, name)
	}
	meant := ""
	if near := spelling.Nearest(at[len(at)-1], names); near != "" {
		meant = "did you mean \"" + near + "\"? "
	}
	return wire.Refuse(wire.CodeBadMessage, "unknown %s %q: %sknown are %s", what, name, meant, strings.Join(names, ", "))
}

// membersOf returns the names of a type's JSON members, sorted, without v and type.
func membersOf(t reflect.Type) (names []string) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, membersOf(f.Type)...)
		case name != "" && name != "-" && name != "v" && name != "type":
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
