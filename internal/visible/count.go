package visible

import (
	"strconv"
)

// Count formats a number of things in English: "1 file", "2 files".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
