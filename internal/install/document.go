package install

import "fmt"

// entry is one server in a host's file.
type entry struct {
	name  string
	value map[string]any // what the entry says; nil when it is no object
	raw   string         // its text, from which it can be put back as it was
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
	// With raw its text is used as it is. It is an error when the name is taken.
	insert(place []string, e entry, next string) error
	bytes() []byte
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

// taken is the error of an insert that would hide an entry.
func taken(name string) error { return fmt.Errorf("there is already an entry %q", name) }

// missing is the error of a remove that finds nothing.
func missing(name string) error { return fmt.Errorf("there is no entry %q", name) }
