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

// Texts joins words by blanks.
func Texts(words []Word) string {
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

// literal escapes what path.Match would read as a pattern.
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

// HasPrefix says that s begins with one of the prefixes.
func HasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

func Set(list string) map[string]bool {
	m := map[string]bool{}
	for s := range strings.FieldsSeq(list) {
		m[s] = true
	}
	return m
}

func All(f func(Word), list []Word) {
	for _, w := range list {
		f(w)
	}
}

// JoinedLines is a script in several words, one line for each.
func JoinedLines(list []Word) Word {
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

// Word is a decoded word with what is known of an unknown one.
type Word struct {
	Text  string // the value, or the source text when not known
	Head  string // what the value certainly begins with, when not known
	Known bool
	// files says that an unknown value is names of files that exist: a glob, the items that xargs reads.
	// Such a name begins with a dash only where someone put it there.
	Files bool
	// many says that an unknown word can become several words, or none.
	Many bool
	// globs are patterns of path.Match, one of which matches the value of an unknown word; none when it can be
	// anything.
	Globs   []string
	split   bool // the shell splits and globs what the patterns match
	loose   bool // the shell may split it into words that begin with anything
	tracked bool // it is one of the files that git tracks below the directory
	exists  bool // it is the name of a file that was there, or a part of it
	pipe    bool // the word is a process substitution
	// dashless says that the value begins with no dash, though a part of it may, once the shell has split it.
	dashless bool
	// NoOption says that the program takes the value for none of its options, though it may begin with a dash.
	NoOption bool
}

// Safe says that neither the word nor what the shell splits it into can begin with a dash, so that no program takes it for
// an option.
func (w *Word) Safe() bool {
	if w.Known {
		return !strings.HasPrefix(w.Text, "-") || w.Text == "-"
	}
	return w.Head != "" && w.Head[0] != '-' && !w.loose
}

// NoneOf says that a glob becomes none of these words, whatever files there are.
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

// undashed says that the patterns of a word that is not split begin with something else than a dash.
func (w *Word) undashed() bool {
	return !w.split && len(w.Globs) > 0 && !slices.ContainsFunc(w.Globs, func(g string) bool {
		return g == "" || strings.IndexByte(`-*?[\`, g[0]) >= 0
	})
}

func Lit(s string) Word { return Word{Text: s, Known: true} }

// Plain says that an unquoted literal stands for itself.
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

// IsGlob says that a value holds characters that a rule or a shell would read as a pattern.
func IsGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// Clean is path.Clean that keeps an empty path empty.
func Clean(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// ReplaceToken marks the words in which a program puts the value of item.
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
