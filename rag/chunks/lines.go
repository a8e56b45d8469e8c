package chunks

import "strings"

// Lines returns the lines from first to last, counted from 1, without the last line break. It leaves out lines that
// text does not have.
func Lines(text string, first, last int) string {
	start := 0
	for range first - 1 {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			return ""
		}
		start += i + 1
	}
	end := start
	for range last - first + 1 {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return text[start:]
		}
		end += i + 1
	}
	return strings.TrimSuffix(text[start:end], "\n")
}
