package jsonx

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MetaNames returns the places, quotes included, of the names that begin with prefix among the members of "_meta"
// objects at any depth. With is empty in each edit, for the caller to set. Text that Check refuses may end the search
// early.
func MetaNames(text []byte, prefix string) (found []Edit) {
	if !MayHold(text, prefix) {
		return nil
	}
	r := open(text, jsontext.AllowDuplicateNames(true))
	defer r.close()
	var meta []bool // for each open object or array: whether it is the value of "_meta"
	isMeta := false // whether the next value is
	for {
		kind := r.dec.PeekKind()
		depth := r.dec.StackDepth()
		container, length := r.dec.StackIndex(depth)
		if kind == '"' && container == '{' && length%2 == 0 {
			quoted, err := r.dec.ReadValue()
			if err != nil {
				return found
			}
			end := int(r.dec.InputOffset())
			name := string(unquoted(quoted))
			if meta[len(meta)-1] && strings.HasPrefix(name, prefix) {
				found = append(found, Edit{Start: end - len(quoted), End: end})
			}
			isMeta = name == "_meta"
			continue
		}
		if _, err := r.dec.ReadToken(); err != nil {
			return found
		}
		switch kind {
		case '{':
			meta = append(meta, isMeta)
		case '[':
			meta = append(meta, false)
		case '}', ']':
			meta = meta[:len(meta)-1]
		}
		isMeta = false
	}
}
