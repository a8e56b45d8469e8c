package translate

import (
	"slices"

	"callgate/permissions"
)

// overlap reports whether both rules may match one call. If it is unclear, it returns true.
func overlap(r, q *permissions.Rule) bool {
	return toolsOverlap(r, q) && valuesOverlap(r, q)
}

func toolsOverlap(r, q *permissions.Rule) bool {
	if r.Tool == "*" || q.Tool == "*" {
		return true
	}
	a, ownA := covers(r)
	b, ownB := covers(q)
	switch {
	case ownA && ownB:
		x, okX := permissions.Texts(r.Tool)
		y, okY := permissions.Texts(q.Tool)
		return !okX || !okY || anyMeet(x, y)
	case ownA || ownB:
		return false // a server's tool is never the program's own
	}
	return slices.ContainsFunc(a, func(kind string) bool { return slices.Contains(b, kind) })
}

func valuesOverlap(r, q *permissions.Rule) bool {
	if r.Pattern == "*" || q.Pattern == "*" {
		return true
	}
	x, okX := texts(r)
	y, okY := texts(q)
	return !okX || !okY || anyMeet(x, y)
}

func anyMeet(x, y []string) bool {
	for _, a := range tails(x) {
		if slices.ContainsFunc(tails(y), func(b string) bool { return meet(a, b) }) {
			return true
		}
	}
	return false
}

// tails adds, for each pattern that ends in " *", the text without that end, which also matches.
func tails(list []string) []string {
	all := slices.Clone(list)
	for _, text := range list {
		if n := len(text); n > 2 && text[n-2:] == " *" {
			all = append(all, text[:n-2])
		}
	}
	return all
}

// meet reports whether some text matches both patterns, in which `*` stands for any text.
func meet(a, b string) bool {
	// row[j] reports whether a[i:] and b[j:] meet.
	row := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		next := slices.Clone(row)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && a[i] == '*':
				row[j] = next[j] || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && next[j]
			default:
				row[j] = i < len(a) && j < len(b) && a[i] == b[j] && next[j+1]
			}
		}
	}
	return row[0]
}
