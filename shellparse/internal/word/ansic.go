package word

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiC decodes the inside of $'…' as bash does. It fails if bash versions differ or the value ends early: NUL, \x{…},
// \c.
func ansiC(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		c := s[i]
		if k := strings.IndexByte(`abeEfnrtv\'"?`, c); k >= 0 {
			b = append(b, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[k])
			continue
		}
		var digits int
		base := 16
		switch {
		case c >= '0' && c <= '7':
			digits, base, i = 3, 8, i-1
		case c == 'x':
			digits = 2
		case c == 'u':
			digits = 4
		case c == 'U':
			digits = 8
		default:
			if c == 'c' {
				return "", false
			}
			b = append(b, '\\', c)
			continue
		}
		n, size, ok := ansiNumber(s[i+1:], digits, base)
		if !ok {
			return "", false
		}
		i += size
		if c == 'u' || c == 'U' {
			b = utf8.AppendRune(b, rune(n))
		} else {
			b = append(b, byte(n))
		}
	}
	return string(b), true
}

// ansiNumber reads the number of an escape, with at most the given number of digits.
func ansiNumber(s string, digits, base int) (n uint64, size int, ok bool) {
	for size < digits && size < len(s) && isDigit(s[size], base) {
		size++
	}
	if size == 0 {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(s[:size], base, 32)
	return n, size, err == nil && n != 0 && (base != 8 || n <= 0xff)
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
