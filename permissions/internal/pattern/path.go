package pattern

import (
	"runtime"
	"strings"
)

// special lists the characters that have a meaning in patterns.
const special = `*?[]{}()!@+|\\`

// Path returns the text of a pattern as it applies to paths, which have neither "." nor empty elements. For a rule that
// tightens, a pattern that matches a folder matches everything in it, too. Patterns of arguments do not change; negated
// patterns lose only the "./" at the start.
func Path(text string, tightens bool) string {
	if ArgumentName(text) != "" {
		return text
	}
	rest, not := strings.CutPrefix(text, "!")
	for strings.HasPrefix(rest, "./") && len(rest) > 2 {
		rest = rest[2:]
	}
	if not {
		return "!" + rest
	}
	path := clean(rest)
	switch {
	case tightens && rest != "" && (path == "" || path == "." || path == "./"):
		return "{.,$WORKSPACE/**}"
	case !tightens || path == "" || strings.HasSuffix(path, "*"):
		return path
	case strings.HasSuffix(path, "/"):
		return path + "**"
	}
	return path + "/**"
}

// clean returns a path without "." and empty elements, and without ".." where the folder before it is plain text.
func clean(path string) string {
	elements := strings.Split(path, "/")
	kept := elements[:0:0]
	for i, e := range elements {
		last := len(kept) - 1
		switch {
		case i == 1 && e == "" && elements[0] == "" && runtime.GOOS == "windows": // a share: //server/folder
			kept = append(kept, e)
		case e == "." && i > 0, e == "" && i > 0 && i < len(elements)-1:
		case e == ".." && last >= 0 && plain(kept[last]):
			kept = kept[:last]
		default:
			kept = append(kept, e)
		}
	}
	return strings.Join(kept, "/")
}

// plain reports whether an element of a path is a literal folder name.
func plain(element string) bool {
	return element != "" && element != ".." && element != "~" && element[0] != '$' && !strings.ContainsAny(element, special)
}
