package install

import (
	"errors"
	"slices"
	"strings"
)

// flow is the text between two brackets: a JSON object, YAML's flow style, or an inline table of TOML. A chunk is the
// text of a member, between the bracket or comma before it and the one after it.
type flow struct {
	open, close int // their positions
	chunks      []string
	comma       bool   // a comma follows the last member
	tail        string // after the last member
	mark        string // starts a comment that ends with the line
}

// lexis steps over the token at an index: a whole string or comment, otherwise one byte. prev is the last byte before
// it that is not a space or in a comment.
type lexis func(text string, i int, prev byte) int

// openFlow reads the text between the bracket at open and its closing bracket.
func openFlow(text string, open int, mark string, step lexis) (f flow, err error) {
	f.open, f.mark = open, mark
	depth, from, last, prev := 0, open+1, open+1, byte(0)
	for i := open; i < len(text); {
		end := step(text, i, prev)
		switch c := text[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth > 0 {
				break
			}
			if f.close = i; prev != ',' && strings.TrimSpace(text[from:last]) != "" {
				f.chunks, from = append(f.chunks, text[from:last]), last
			}
			f.comma, f.tail = prev == ',', text[from:i]
			return f, nil
		case c == ',' && depth == 1:
			f.chunks, from = append(f.chunks, text[from:i]), end
		case strings.IndexByte(" \t\r\n", c) >= 0 || c == '#' && end > i+1:
			i = end
			continue
		}
		prev, last, i = text[end-1], end, end
	}
	return f, errors.New("a bracket is not closed")
}

// note splits off a comment that belongs to earlier text on the same line.
func (f *flow) note(text string) (note, rest string) {
	line, _, found := strings.Cut(text, "\n")
	if found && strings.HasPrefix(strings.TrimLeft(line, " \t"), f.mark) {
		return line, text[len(line):]
	}
	return "", text
}

// member returns the text of a member, up to its comma.
func (f *flow) member(i int) string {
	_, rest := f.note(f.chunks[i])
	return strings.TrimLeft(rest, " \t\r\n")
}

// behind returns the text after the comma before member i: that member, or the end.
func (f *flow) behind(i int) *string {
	if i < len(f.chunks) {
		return &f.chunks[i]
	}
	return &f.tail
}

// cut removes a member.
func (f *flow) cut(i int) {
	note, _ := f.note(f.chunks[i])
	f.chunks = slices.Delete(f.chunks, i, i+1)
	*f.behind(i) = note + *f.behind(i)
}

// put inserts a member's text before another one, or at the end.
func (f *flow) put(i int, chunk string) {
	note, rest := f.note(*f.behind(i))
	if *f.behind(i) = rest; note != "" && !strings.HasPrefix(chunk, "\n") {
		chunk = "\n" + chunk
	}
	f.chunks = slices.Insert(f.chunks, i, note+chunk)
}

// in returns the whole text with the changed part between the brackets.
func (f *flow) in(text string) string {
	body := strings.Join(f.chunks, ",")
	if f.comma && len(f.chunks) > 0 {
		body += ","
	}
	return text[:f.open+1] + body + f.tail + text[f.close:]
}

// lead returns the space before a new member: as before its next neighbour, or before the last member.
func (f *flow) lead(i int) string {
	if len(f.chunks) == 0 {
		return ""
	}
	_, chunk := f.note(f.chunks[min(i, len(f.chunks)-1)])
	space := chunk[:len(chunk)-len(strings.TrimLeft(chunk, " \t\r\n"))]
	return space[max(strings.LastIndexByte(space, '\n'), 0):]
}

// quoted returns the index after the string that starts at i. The byte escape escapes the next one; 0 means none.
func quoted(text string, i int, quote string, escape byte) int {
	for k := i + len(quote); k < len(text); k++ {
		switch {
		case escape != 0 && text[k] == escape:
			k++
		case strings.HasPrefix(text[k:], quote):
			return k + len(quote)
		}
	}
	return len(text)
}

// endOfLine returns the index after the next line break.
func endOfLine(text string, i int) int {
	if n := strings.IndexAny(text[i:], "\r\n"); n >= 0 {
		if i += n; strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		return i + 1
	}
	return len(text)
}
