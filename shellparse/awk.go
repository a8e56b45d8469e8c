package shellparse

import (
	"regexp"
	"strings"
)

var awkPrint = regexp.MustCompile(`\bprintf?\b[^;}\n]*>`)

// inspectAwk looks for what lets an awk program execute, write, or read other files.
func inspectAwk(_ *analysis, c *call, s *scanned) {
	programs := s.codes()
	if len(programs) == 0 && len(s.operands) > 0 {
		if _, file := s.find("-f", "--file", "-E", "--exec"); !file {
			programs = s.operands[:1]
		}
	}
	for _, w := range programs {
		text := w.text
		if !w.known || strings.Contains(text, "system") || strings.Contains(text, "getline") || strings.Contains(text, "ENVIRON") ||
			strings.Contains(text, "/inet") || strings.Contains(text, "SYMTAB") || strings.Contains(text, "PROCINFO") ||
			strings.Contains(text, "ARGV") || // assigned, it names further files
			awkStripped(text) {
			c.effect("code " + text)
		}
	}
}

// awkStripped says that a program, without its regular expressions and strings, has a pipe, an output
// redirection, an indirect call or a directive.
func awkStripped(s string) bool {
	var b strings.Builder
	last := byte('{')
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case ch == '"' || ch == '/' && strings.IndexByte("(,!~&|{};\n", last) >= 0:
			for i++; i < len(s) && s[i] != ch && s[i] != '\n'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			b.WriteString(" 0 ")
			last = '0'
			continue
		case ch == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			last = '\n'
			b.WriteByte('\n')
			continue
		case ch == '|' && i+1 < len(s) && s[i+1] == '|':
			i++
			last = '|'
			b.WriteString(" or ")
			continue
		case ch == '|' || ch == '@':
			return true
		}
		b.WriteByte(ch)
		if ch != ' ' && ch != '\t' {
			last = ch
		}
	}
	return awkPrint.MatchString(b.String())
}
