// Package embedded reads the programs that awk, sed, jq, yq, python and SQL clients take as words.
//
// A text is harmless only if a parser or a closed grammar recognized all of it, every construct in it only computes and
// prints, and all implementations read it alike. The package does not look for danger: a text that is not known to be
// harmless is not harmless.
package embedded

import (
	"strings"
	"unicode/utf8"
)

// maxProgram limits the texts that are read, in bytes: the parsers are recursive.
const maxProgram = 8 << 10

// readable reports whether a text is short and holds no characters that implementations could read differently.
func readable(s string) bool { return len(s) <= maxProgram && printable(s) }

// printable reports whether a text holds no characters that implementations could read differently.
func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' && s[i] != '\n' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// closedBrackets reports whether every bracket expression of a regular expression certainly ends within it, so that
// readers with and without bracket expressions see the regular expression end at the same place.
func closedBrackets(re string) bool {
	for i := 0; i < len(re); i++ {
		switch re[i] {
		case '\\':
			i++
		case '[':
			if i = bracketEnd(re, i+1); i < 0 {
				return false
			}
		}
	}
	return true
}

// bracketEnd returns the end of the bracket expression whose content begins at i, or -1 if it is not certain.
func bracketEnd(s string, i int) int {
	if i < len(s) && s[i] == '^' {
		i++
	}
	for first := i; i < len(s); i++ {
		switch s[i] {
		case '\n':
			return -1
		case ']':
			if i > first {
				return i
			}
			// Some implementations end the expression here. All end it at the next bracket, if nothing in between opens
			// another.
			end := strings.IndexByte(s[i+1:], ']')
			if end < 0 || strings.ContainsAny(s[i+1:i+1+end], "[\\\n") {
				return -1
			}
			return i + 1 + end
		case '\\':
			if i+1 >= len(s) || s[i+1] == ']' || s[i+1] == '[' {
				return -1
			}
			i++
			if i+1 < len(s) && s[i] == '\\' && s[i+1] == ']' {
				return -1 // in some implementations the second backslash escapes the bracket
			}
		case '[':
			if i = namedClass(s, i); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// namedClass returns the index of the last character of the [:class:] that may begin at the bracket at i. It returns i
// if none begins there, and -1 if that is not certain.
func namedClass(s string, i int) int {
	if i+1 >= len(s) || s[i+1] == '.' || s[i+1] == '=' {
		return -1
	}
	if s[i+1] != ':' {
		return i
	}
	end := i + 2
	for end < len(s) && s[end] >= 'a' && s[end] <= 'z' {
		end++
	}
	if end+1 >= len(s) || s[end] != ':' || s[end+1] != ']' {
		return -1
	}
	return end + 1
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// names returns the set of the words in a text.
func names(list string) map[string]bool {
	set := map[string]bool{}
	for i := 0; i < len(list); {
		for i < len(list) && list[i] <= ' ' {
			i++
		}
		start := i
		for i < len(list) && list[i] > ' ' {
			i++
		}
		if i > start {
			set[list[start:i]] = true
		}
	}
	return set
}
