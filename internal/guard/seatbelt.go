package guard

import "strings"

// Profile returns a Seatbelt profile for macOS that hides and fixes these paths and allows everything else.
func Profile(hidden, fixed []string) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n")
	for _, path := range hidden {
		b.WriteString("(deny file-read* file-write* process-exec* network-outbound (subpath " + quoted(path) + "))\n")
	}
	for _, path := range fixed {
		b.WriteString("(deny file-write* (subpath " + quoted(path) + "))\n")
	}
	// Renaming a folder above would move hidden files out of the profile's sight.
	for _, path := range append(append([]string{}, hidden...), fixed...) {
		for at := path; ; {
			i := strings.LastIndexByte(at, '/')
			if i <= 0 {
				break
			}
			at = at[:i]
			b.WriteString("(deny file-write-unlink (literal " + quoted(at) + "))\n")
		}
	}
	b.WriteString("(deny signal (target others))\n(deny process-info* (target others))\n(allow process-info* (target self))\n")
	return b.String()
}

// quoted returns s as a string literal of the profile language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
