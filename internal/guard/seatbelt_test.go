package guard

import (
	"strings"
	"testing"
)

// TestProfile checks the text of a profile, since no test runs it: paths are hidden, fixed folders include their
// contents, and no name can end a string literal.
func TestProfile(t *testing.T) {
	text := Profile([]string{`/Users/a/Library/call "gate"`}, []string{`/Users/a/.config/callgate`})
	for _, want := range []string{
		`(deny file-read* file-write* process-exec* network-outbound (subpath "/Users/a/Library/call \"gate\""))`,
		`(deny file-write* (subpath "/Users/a/.config/callgate"))`,
		`(deny file-write-unlink (literal "/Users/a/.config"))`,
		`(deny signal (target others))`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Count(text, "(") != strings.Count(text, ")") {
		t.Errorf("unbalanced:\n%s", text)
	}
}
