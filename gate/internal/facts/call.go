// Package facts gives the gate's checks one view of a call: its tool, its place, and its arguments. Checks read it and
// change nothing.
package facts

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"callgate/gate/tools"
	"callgate/internal/textscan"
)

// Call is a call as the checks look at it. Each of its readings is computed once.
type Call struct {
	tools.Call

	mu           sync.Mutex
	said, valued bool // whether texts and values have been computed
	texts        []Text
	values       []Value
}

// Of returns the facts of a call. The call MUST NOT change afterwards.
func Of(c tools.Call) *Call { return &Call{Call: c} }

// Said returns every string in the arguments, member names included.
func (c *Call) Said() []Text {
	if len(c.Arguments) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.said {
		c.texts, c.said = TextsOf(c.Arguments), true
	}
	return c.texts
}

// Known returns the Text of a long string of the call, or nil for any other string.
func (c *Call) Known(said string) *Text {
	if len(said) < textscan.Long {
		return nil
	}
	texts := c.Said()
	for i := range texts {
		if t := &texts[i]; t.Grams != nil && t.Said == said {
			return t
		}
	}
	return nil
}

// Values returns the texts and numbers in the arguments, each with its place.
func (c *Call) Values() []Value {
	if len(c.Arguments) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.valued {
		c.values, c.valued = argumentsOf(c.Arguments), true
	}
	return c.values
}

// WordsOf returns the set of the words of a text.
func WordsOf(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// WebSchemes holds the URL schemes, in lower case, by which data goes over the network.
var WebSchemes = WordsOf("http https ws wss ftp ftps")

// FileKind reports whether tools of the kind take file paths.
func FileKind(kind string) bool {
	switch kind {
	case "read_file", "write_file", "edit_file", "delete_file", "move_file", "glob", "grep", "resource_read":
		return true
	}
	return false
}

// Within reports whether path is folder or beneath it. It ignores case, as many file systems do. Protecting too much
// here costs nothing.
func Within(path, folder string) bool {
	folder = strings.TrimSuffix(folder, string(filepath.Separator)) // of a root
	if len(path) < len(folder) || !strings.EqualFold(path[:len(folder)], folder) {
		return false
	}
	return len(path) == len(folder) || path[len(folder)] == '/' || path[len(folder)] == filepath.Separator
}

// Template reports whether a file that is named like a credential store is an example without credentials.
func Template(store string) bool {
	return slices.ContainsFunc([]string{".example", ".sample", ".template", ".dist", ".pub"}, func(end string) bool {
		return strings.HasSuffix(store, end)
	})
}
