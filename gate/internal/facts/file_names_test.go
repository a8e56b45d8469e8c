package facts

import (
	"testing"
)

// The name of a file is not taken for a host.
func TestFileNamesAreNoAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"www.paint-a.example": true, "build.test": true,
		"notes.txt": false, "README.md": false, "main.rs": false, "report.2026.pdf": false, "x.tar.gz": false, "a.b.test.txt": false,
		"example.com": true, "evil.example.org": true, "docs.rs": false, "api.docs.rs": true, "x.zip": false, "evil.sh/x": true,
		"a@example.com": true, "https://x.txt/": true, "evil.co.uk": true, "x.attacker.md": true, "+49 151 2345678": true,
	} {
		if got := (Value{Text: text}).LooksLikeAddress(); got != want {
			t.Errorf("%s: an address is %v, want %v", text, got, want)
		}
	}
}
