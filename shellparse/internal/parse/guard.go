package parse

import (
	"strings"
	"unicode/utf8"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/script"
)

// Limits on what the parser gets. They are checked on the bytes, before parsing: the parser is recursive, and a
// goroutine that exhausts its stack kills the process.
const (
	MaxText    = 32 << 10 // bytes
	MaxNesting = 100      // brackets open at one point of the text, quoted ones included
	maxOpeners = 4096     // total brackets and backquotes
)

// Guard looks for what must not reach the parser: text over a limit, and bytes that shells and parsers read
// differently. It returns nil if the text may be parsed.
func Guard(s string) *script.Problem {
	if len(s) > MaxText {
		return &script.Problem{Code: "too-long", Text: "The text is longer than 32 KiB."}
	}
	if p := guardBytes(s); p != nil {
		return p
	}
	depth, total := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '{', '[':
			total++
			if depth++; depth > MaxNesting || total > maxOpeners {
				return &script.Problem{Code: "too-deep", Text: "The text nests brackets too deeply."}
			}
		case ')', '}', ']':
			if depth > 0 {
				depth--
			}
		case '`':
			if total++; total > maxOpeners {
				return &script.Problem{Code: "too-deep", Text: "The text nests brackets too deeply."}
			}
		}
	}
	return nil
}

// guardBytes rejects control characters, invalid UTF-8, and invisible characters that some read as a line end or a
// blank.
func guardBytes(s string) *script.Problem {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			continue
		}
		if c < utf8.RuneSelf {
			return &script.Problem{Code: "control", Text: "The text contains the control character " + findings.Quote(s[i:i+1]) + "."}
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			return &script.Problem{Code: "control", Text: "The text is not valid UTF-8."}
		case r <= 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF:
			return &script.Problem{Code: "control", Text: "The text contains the invisible character " + findings.Quote(s[i:i+size]) + "."}
		case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
			return &script.Problem{Code: "control", Text: "The text contains the invisible character " + findings.Quote(s[i:i+size]) + "."}
		}
		i += size - 1
	}
	return nil
}

// joinsAlike reports whether all shells and parsers join lines in the same way between these two characters.
func joinsAlike(prev, next byte) bool {
	if next == '#' {
		return false
	}
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	switch prev {
	case '|', '&':
		return blank(next) || wordByte(next)
	case '"', '\'', ';', ')', '}', ']':
		return blank(next) || wordByte(prev)
	}
	return blank(prev) || wordByte(prev)
}

// continuations checks every backslash before a line end, except in the sorted literal spans (single quotes, quoted
// here-documents), and reports the first that the parser and bash may join differently. bash drops the pair while it
// reads characters; the parser drops it while it reads tokens, so they agree only between ordinary characters.
func continuations(s string, literal []span) *script.Problem {
	for from := 0; ; {
		i := strings.Index(s[from:], "\\\n")
		if i < 0 {
			return nil
		}
		i += from
		from = i + 2
		for len(literal) > 0 && literal[0].end <= i {
			literal = literal[1:]
		}
		if len(literal) > 0 && literal[0].start <= i {
			continue
		}
		prev, next := byte(' '), byte(' ')
		if i > 0 {
			prev = s[i-1]
		}
		if from < len(s) {
			next = s[from]
		}
		if !joinsAlike(prev, next) {
			return &script.Problem{Code: "disagreement", Text: "Shells and parsers join the lines at " + findings.Quote(Around(s, i)) + " differently."}
		}
	}
}

// span is a range of byte offsets.
type span struct{ start, end int }

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./,:=-+@%^~", c) >= 0
}

// Around returns a few characters on both sides of offset i.
func Around(s string, i int) string {
	lo, hi := max(0, i-12), min(len(s), i+12)
	for lo > 0 && !utf8.RuneStart(s[lo]) {
		lo--
	}
	for hi < len(s) && !utf8.RuneStart(s[hi]) {
		hi++
	}
	return s[lo:hi]
}
