package rest

import (
	"bytes"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"callgate/internal/companion/wire"
	"callgate/internal/spelling"
)

// What REST requests name and callgate does not know is refused, because who misspells a member or a filter would take
// the answer for what they asked. Frames may have members of a later version.

// DecodeBody is Decode for the body of a request, without unknown members. An empty body is {}: what is missing then is
// told by its name.
func DecodeBody(data []byte, into any) *wire.Refusal {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true))
	if !errors.Is(err, json.ErrUnknownName) {
		return Decode(data, into) // in the same words
	}
	at := ""
	if shape, ok := errors.AsType[*json.SemanticError](err); ok {
		at = strings.ReplaceAll(strings.TrimPrefix(string(shape.JSONPointer), "/"), "/", ".")
	}
	if strings.Contains(at, ".") {
		return wire.Refuse(wire.CodeBadMessage, "unknown member %q", at)
	}
	return unknown("member", at, membersOf(reflect.TypeOf(into)))
}

// CheckQuery refuses the first parameter of a query that is not one of names.
func CheckQuery(query url.Values, names []string) *wire.Refusal {
	var given []string
	for name := range query {
		given = append(given, name)
	}
	slices.Sort(given)
	for _, name := range given {
		if !slices.Contains(names, name) {
			return unknown("query parameter", name, names)
		}
	}
	return nil
}

// CheckWord refuses a value of a query parameter that is not one of words; "" is none.
func CheckWord(name, value string, words []string) *wire.Refusal {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return wire.Refuse(wire.CodeBadMessage, "%s must be one of %s, not %q", name, strings.Join(words, ", "), value)
}

// unknown names what is unknown, what may be meant, and what is known.
func unknown(what, name string, names []string) *wire.Refusal {
	meant := ""
	if near := spelling.Nearest(name, names); near != "" {
		meant = "did you mean \"" + near + "\"? "
	}
	return wire.Refuse(wire.CodeBadMessage, "unknown %s %q: %sknown are %s", what, name, meant, strings.Join(names, ", "))
}

// membersOf are the names of the members that a value of the type is read from, but for those of every frame.
func membersOf(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
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
