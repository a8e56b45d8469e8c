package install

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// entry is one server in a host's file.
type entry struct {
	name  string
	value map[string]any // the content; nil if it is not an object
	raw   string         // the exact text
	flow  bool           // the text was between brackets, with others
	stays string         // why the text cannot be moved
	own   []member       // the members of callgate's own entry, in order; then raw is ""
}

// member is one member of callgate's own entry: a string, a list of strings, a number, a bool.
type member struct {
	name  string
	value any
}

// document is a host's file. A change of one entry keeps every other byte: comments, order, spacing and unknown
// members.
type document interface {
	// entries lists the entries at a place. A missing place has none.
	entries(place []string) ([]entry, error)
	// remove removes an entry.
	remove(place []string, name string) error
	// insert puts an entry at a place, before the entry called next, or at the end if there is none. It uses raw if
	// that fits. It rewrites an entry that moves between brackets and lines of its own. A taken name is an error.
	insert(place []string, e entry, next string) error
	bytes() []byte
	// value returns the whole content.
	value() (any, error)
}

// open parses a file's text by its format.
func open(f *File, text []byte) (document, error) {
	switch f.Format {
	case "json":
		return openJSON(text)
	case "toml":
		return openTOML(text)
	case "yaml":
		return openYAML(text, f.List)
	}
	return nil, fmt.Errorf("unknown format %q", f.Format)
}

// members returns the members to write if an entry's text does not fit.
func (e *entry) members() []member {
	if e.own != nil {
		return e.own
	}
	return members(e.value)
}

// members returns an entry's members, sorted by name.
func members(value map[string]any) (list []member) {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		list = append(list, member{name, value[name]})
	}
	return list
}

// fitting puts an entry into a text. It uses the old text if that still fits after changes elsewhere, and otherwise
// writes the entry anew.
func fitting(text *string, e *entry, put, parse func() error) error {
	before := *text
	if err := put(); err != nil || e.raw == "" || parse() == nil {
		return err
	}
	*text, e.own, e.raw = before, members(e.value), ""
	return put()
}

// taken returns the error for an insert that would hide an entry.
func taken(name string) error { return fmt.Errorf("there is already an entry %q", name) }

// missing returns the error for a remove that finds nothing.
func missing(name string) error { return fmt.Errorf("there is no entry %q", name) }

// unharmed checks that edits changed only the entries that they name. The layout of a file can hide where an entry
// ends, and other parts of the file can refer to an entry.
func unharmed(f *File, before, after []byte, edits []edit) error {
	var rest [2]any
	var stay [2][]map[string]any
	for i, text := range [2][]byte{before, after} {
		doc, err := open(f, text)
		if err != nil {
			return fmt.Errorf("its servers cannot be moved: %w", err)
		}
		if rest[i], err = doc.value(); err != nil {
			return fmt.Errorf("its servers cannot be moved: %w", err)
		}
		for _, e := range edits {
			entries, err := doc.entries(e.Place)
			if err != nil {
				return fmt.Errorf("its servers cannot be moved: %w", err)
			}
			values := map[string]any{}
			for _, x := range entries {
				if !slices.ContainsFunc(edits, func(e2 edit) bool { return e2.Name == x.name && slices.Equal(e2.Place, e.Place) }) {
					values[x.name] = x.value
				}
			}
			stay[i] = append(stay[i], values)
		}
		for _, e := range edits {
			rest[i] = without(rest[i], e.Place)
		}
	}
	if !reflect.DeepEqual(rest[0], rest[1]) || !reflect.DeepEqual(stay[0], stay[1]) {
		return fmt.Errorf("%s cannot be changed alone: write each entry on lines of its own and try again", strings.Join(edits[0].Place, "."))
	}
	return nil
}

// without removes a place from a value, and everything that this leaves empty; nil if nothing is left.
func without(value any, place []string) any {
	if len(place) == 0 {
		return nil
	}
	switch at := value.(type) {
	case map[string]any:
		return cut(at, place[0], place[1:])
	case map[any]any:
		return cut(at, any(place[0]), place[1:])
	}
	return value
}

func cut[K comparable](at map[K]any, key K, place []string) any {
	if inner := without(at[key], place); inner == nil {
		delete(at, key)
	} else {
		at[key] = inner
	}
	if len(at) == 0 {
		return nil
	}
	return at
}
