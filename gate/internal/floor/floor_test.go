package floor

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEmbeddedAddresses(t *testing.T) {
	expression := regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*:[/\\]{1,4}[^\s"'<>]+`)
	check := func(t rapid.TB, text string) {
		if got, want := EmbeddedAddresses(text, 64), expression.FindAllString(text, 64); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	check(t, strings.Repeat("see http://a.example/b and 1a-b:\\\\x, ", 100))
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringMatching(`[aZ0:/\\\\ +.\-"<\né]{0,24}`).Draw(t, "text")) })
}
