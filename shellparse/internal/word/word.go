// Package word decodes words and options as far as the text itself fixes their values.
package word

import (
	"iter"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func IsNumber(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func IsLit(p syntax.WordPart) bool {
	_, ok := p.(*syntax.Lit)
	return ok
}

// JoinTexts joins the texts of words with blanks.
func JoinTexts(words []Word) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0].Text
	}
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].Text)
	}
	return b.String()
}

func AllKnown(words []Word) bool {
	for i := range words {
		if !words[i].Known {
			return false
		}
	}
	return true
}

// literal escapes the characters that path.Match would interpret.
func literal(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`*?[\`, s[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(b)
}

// HasPrefix reports whether s begins with one of the prefixes.
func HasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// Set returns the set of the blank-separated words of a list.
func Set(list string) map[string]bool {
	m := map[string]bool{}
	for s := range strings.FieldsSeq(list) {
		m[s] = true
	}
	return m
}

// All calls f for each word.
func All(f func(Word), list []Word) {
	for _, w := range list {
		f(w)
	}
}

// JoinedLines returns a script given in several words, one line each.
func JoinedLines(list []Word) Word {
	if len(list) == 1 {
		return list[0]
	}
	script := Word{Known: true}
	for i, w := range list {
		if i > 0 {
			script.Text += "\n"
		}
		script.Text += w.Text
		script.Known = script.Known && w.Known
	}
	return script
}

// Word is a decoded word, and what is known of it if its value is unknown.
type Word struct {
	Text  string // the value, or the source text if not Known
	Head  string // what the value certainly begins with, if not Known
	Known bool
	// Files means that an unknown value is names of existing files: a glob, or the items that xargs reads. Such a name
	// begins with a dash only if someone created it so.
	Files bool
	// Many means that an unknown word can become several words, or none.
	Many bool
	// Globs are path.Match patterns, one of which matches the value of an unknown word; none if it can be anything.
	Globs   []string
	numbers *[2]string // what stands before and behind the last number, when the value is known but for numbers
	split   bool       // the shell splits and globs the matches of the patterns
	loose   bool       // the shell may split it into words that begin with anything
	tracked bool       // it is one of the files that git tracks below the directory
	exists  bool       // it is the name of a file that existed, or a part of it
	names   bool       // it is the output of a command that prints no options, and nothing else
	pipe    bool       // the word is a process substitution
	// dashless means that the value begins with no dash, although a part may, once the shell has split the value.
	dashless bool
	// NoOption means that the program takes the value for none of its options, although it may begin with a dash.
	NoOption bool
	// Vanishes means that the word is a list of files, which may be empty.
	Vanishes bool
}

// Safe reports whether neither the word nor the parts that the shell splits it into can begin with a dash, so that no
// program takes it for an option.
func (w *Word) Safe() bool {
	if w.Known {
		return !strings.HasPrefix(w.Text, "-") || w.Text == "-"
	}
	return w.Head != "" && w.Head[0] != '-' && !w.loose
}

// LastNumber returns the known text before and behind the last number of a word in which nothing but numbers is not
// known. The text before lacks the other numbers. A number can be several, in lines, or none if a command fails.
func (w *Word) LastNumber() (before, behind string, ok bool) {
	if w.numbers == nil {
		return "", "", false
	}
	return w.numbers[0], w.numbers[1], true
}

// Choices returns the values that an unknown word can have, none when they are not told one by one.
func (w *Word) Choices() (values []string) {
	for _, g := range w.Globs {
		var value []byte
		for i := 0; i < len(g); i++ {
			if strings.IndexByte(`*?[`, g[i]) >= 0 {
				return nil
			}
			if g[i] == '\\' && i+1 < len(g) {
				i++
			}
			value = append(value, g[i])
		}
		values = append(values, string(value))
	}
	if w.split || w.loose {
		return nil
	}
	return values
}

// IsNumber reports whether the value is certainly a number, or empty where a command that prints numbers fails.
func (w *Word) IsNumber() bool {
	return w.Known && IsNumber(strings.TrimPrefix(w.Text, "-")) || w.isCount()
}

// isCount reports whether the value is a number.
func (w *Word) isCount() bool {
	before, behind, ok := w.LastNumber()
	return ok && strings.Trim(before+behind, "0123456789") == ""
}

// NoneOf reports whether a glob can become none of these words, whatever files exist.
func (w *Word) NoneOf(words iter.Seq[string]) bool {
	for word := range words {
		if slices.ContainsFunc(w.Globs, func(g string) bool {
			matched, err := path.Match(g, word)
			return matched || err != nil
		}) {
			return false
		}
	}
	return !w.Known && w.Files && !w.split && len(w.Globs) > 0
}

// undashed reports whether an unsplit word has patterns and each begins with a literal character other than a dash.
func (w *Word) undashed() bool {
	return !w.split && len(w.Globs) > 0 && !slices.ContainsFunc(w.Globs, func(g string) bool {
		return g == "" || strings.IndexByte(`-*?[\`, g[0]) >= 0
	})
}

// Lit returns a known word.
func Lit(s string) Word { return Word{Text: s, Known: true} }

// Plain reports whether an unquoted literal stands for itself.
func Plain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\', '*', '?', '[', '{', '~':
			return false
		}
	}
	return true
}

func Blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// IsGlob reports whether a value holds characters that a rule or a shell would read as a pattern.
func IsGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// Clean is path.Clean, but keeps an empty path empty.
func Clean(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// ReplaceToken makes each known word that contains token unknown: the program puts the value of item there.
func ReplaceToken(argv []Word, token string, item Word) {
	for i := range argv {
		w := &argv[i]
		if !w.Known || !strings.Contains(w.Text, token) {
			continue
		}
		before, after, _ := strings.Cut(w.Text, token)
		*w = Word{Text: w.Text, Head: before, Files: true, split: item.split, tracked: item.tracked && before == "", exists: item.exists && before+after == ""}
		if strings.Contains(after, token) {
			continue
		}
		for _, g := range item.Globs {
			w.Globs = append(w.Globs, literal(before)+g+literal(after))
		}
	}
}
