// Package spelling finds the name that a misspelled one was meant to be.
package spelling

import (
	"slices"
	"strings"
)

// longest bounds, in bytes, the text that is compared, because it may come from a model.
const longest = 100

// Nearest returns the name that text is most likely a misspelling of, or "" if none is near. A name equal to text is
// skipped.
func Nearest(text string, names []string) (best string) {
	if len(text) > longest {
		return ""
	}
	least := 1 + max(1, len(text)/4)
	for _, name := range names {
		if d := distance(strings.ToLower(text), strings.ToLower(name)); d < least && name != text {
			best, least = name, d
		}
	}
	return best
}

// Tool returns the tool of which name is most likely a misspelling: a kind, or {server}_{tool} of one of the servers.
// It returns "" if none is close, and for a kind or a tool of these servers.
func Tool(name string, kinds, servers []string) string {
	if slices.Contains(kinds, name) || slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(name, s+"_") }) {
		return ""
	}
	if kind := Nearest(name, kinds); kind != "" {
		return kind
	}
	for i := range name {
		if name[i] != '_' {
			continue
		}
		if s := Nearest(name[:i], servers); s != "" {
			return s + name[i:]
		}
	}
	return ""
}

// distance returns how many bytes have to be added, removed, replaced or swapped with their neighbour.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
