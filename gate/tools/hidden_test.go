package tools

import (
	"testing"

	"callgate/gate/tools/definitions"
)

func TestHidden(t *testing.T) {
	for definition, want := range map[string]string{
		`{"name":"a","description":"Reads a file.\n\tTabs and lines are fine. 👩‍💻 ❤️ é ü 漢字"}`: "",
		`{"name":"a","description":"Reads\u200b a file"}`:                                      "U+200B",
		`{"name":"a","description":"\u202etxt.exe"}`:                                           "U+202E",
		`{"name":"a","inputSchema":{"properties":{"p":{"description":"\udb40\udc41"}}}}`:       "U+E0041",
		`{"name":"a","inputSchema":{"properties":{"p\u2060":{}}}}`:                             "U+2060",
		`{"name":"a","description":"\u001b[2J"}`:                                               "U+001B",
	} {
		if got := definitions.Hidden([]byte(definition)); got != want {
			t.Errorf("%s: %q, want %q", definition, got, want)
		}
	}
}
