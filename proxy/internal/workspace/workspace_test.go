package workspace

import (
	"slices"
	"testing"
)

func TestParseRoots(t *testing.T) {
	for result, want := range map[string][]string{
		`{"roots":[{"uri":"file:///home/u/app","name":"app"},{"uri":"file:///home/u/a%20b/"}]}`:                                                     {"/home/u/app", "/home/u/a b"},
		`{"roots":[{"uri":"https://example.com/x"},{"uri":"file://server/share"},{"uri":"relative"},{"uri":"file:///x/../y"},{"uri":"file:///y"}]}`: {"/y"},
		`{"roots":[]}`:    nil,
		`{"roots":"all"}`: nil,
		`[]`:              nil,
	} {
		if got := parseRoots([]byte(result)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}
