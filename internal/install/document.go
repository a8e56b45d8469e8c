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
	value map[string]any // what the entry says; nil when it is no object
	raw   string         // its text, from which it can be put back as it was
	flow  bool           // the text stood between brackets with others
	stays string         // why its text has to stay where it is
	own   []member       // callgate's own entry, in the order in which it is written; raw is "" then
}

// member is one member of callgate's own entry: a string, a list of strings, a number, a bool.
type member struct {
	name  string
	value any
}

// document is a host's file. Changing one entry keeps every other byte: comments, order, spacing and members that
// callgate does not know.
type document interface {
	// entries lists what is at a place, none when there is nothing.
	entries(place []string) ([]entry, error)
	// remove takes an entry out.
	remove(place []string, name string) error
	// insert puts an entry at a place, before the one that is named next; at the end when next is "" or is not there.
	// With raw its text is used as it is, where it fits: what stood between brackets and what stood on lines of its own are
	// written anew from the value in the other's place. It is an error when the name is taken.
	insert(place []string, e entry, next string) error
	bytes() []byte
	// value is all that the file says.
	value() (any, error)
}

// open reads a file's text as what it is.
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

// members are what is written of an entry whose text does not fit.
func (e *entry) members() []member {
	if e.own != nil {
		return e.own
	}
	return members(e.value)
}

// members are what an entry says, in the order of their names.
func members(value map[string]any) (list []member) {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		list = append(list, member{name, value[name]})
	}
	return list
}

// fitting puts an entry into a text, with its old text or else newly written, because the old text may no longer fit
// after changes elsewhere.
func fitting(text *string, e *entry, put, parse func() error) error {
	before := *text
	if err := put(); err != nil || e.raw == "" || parse() == nil {
		return err
	}
	*text, e.own, e.raw = before, members(e.value), ""
	return put()
}

// taken is the error of an insert that would hide an entry.
func taken(name string) error { return fmt.Errorf("there is already an entry %q", name) }

// missing is the error of a remove that finds nothing.
func missing(name string) error { return fmt.Errorf("there is no entry %q", name) }

// unharmed reports an error when edits changed more than the entries that they name: text can be laid out in ways that
// hide where an entry ends, or another part of the file can refer to it.
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

// without removes a place from a value, and everything that is then empty; nil if nothing is left.
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
