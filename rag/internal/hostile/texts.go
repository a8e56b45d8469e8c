// Package hostile provides malicious texts for tests.
package hostile

import "strings"

// Texts returns the texts, keyed by a description.
func Texts() map[string]string {
	var stairs strings.Builder
	for i := range 3000 {
		stairs.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return map[string]string{
		"one line":      strings.Repeat("x", 1<<20),
		"brackets":      "package a\nvar x = " + strings.Repeat("(", 200_000),
		"stairs":        stairs.String(),
		"stairs of two": strings.Repeat(" a\n  b\n", 100_000),
		"tiny lines":    strings.Repeat("}\n", 300_000),
		"headings":      strings.Repeat("# h\n", 200_000),
		"fences":        strings.Repeat("```\n", 200_000),
		"bad runes":     strings.Repeat("\xff\xfe\n", 50_000),
		"zeros":         strings.Repeat("\x00", 100_000),
		"definitions":   strings.Repeat("def f():\n", 100_000),
		"pub(":          strings.Repeat("pub(", 90) + "\n",
	}
}
